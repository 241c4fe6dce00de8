"""Reads ranges of files: payloads that are lines or longer, or containers that have rows.

Memory is bounded by the block of payloads that is being decoded, whatever the size of the file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Self

import pyarrow as pa

from narrows.connectors.base import Decoding, LostRangeError, Part, Position, SourceDeclaration
from narrows.files.chunks import whole_file
from narrows.files.faults import DamagedFileError, LostFileError, damaged, shown
from narrows.files.last_line import ends_of, last_line
from narrows.files.lines import BLOCK_BYTES, Block, FileLines, read_blocks
from narrows.files.ranges import FileRange, compression_of
from narrows.files.remains import remains_of
from narrows.formats.decoder import (
    FoundDocuments,
    LineDecoder,
    RangeDecoder,
    UnfinishedError,
)
from narrows.formats.headers import decoder_for_file
from narrows.plugins.declared import Container, Documents, Lines

_BLOCK_PAYLOADS = 8_192
_CACHED_BYTES = 512 << 10
_NARROW = 24
_LARGE_BYTES = 16 << 20
_WIDE = 1_000


class FilePayloads:
    """Lines of a file that were decoded together."""

    def __init__(self, path: str, lines: FileLines) -> None:
        self._path = path
        self._lines = lines

    def payload(self, number: int) -> bytes:
        return self._lines.payload(number)

    def position(self, number: int) -> Position:
        return _position(self._path, self._lines.offset(number))


class FileReader:
    def __init__(self, declared: SourceDeclaration, decoding: Decoding) -> None:
        self._decoding = decoding
        self._framing = decoding.format.framing_with(declared.options)

    def parts(self, read: FileRange) -> Iterator[Part]:
        """The rows of a range. One that is lost, or damaged, ends with an error that says so."""
        has_lines = isinstance(self._framing, Lines) and compression_of(read.path) is None
        metadata = self._metadata(read.path)
        with _Losses(read) as losses:
            there, lost = remains_of(read, has_lines=has_lines)
            if lost is not None and isinstance(self._framing, Documents):
                there = replace(there, end=min(there.end, lost.kept))
            try:
                for part in self._read(there):
                    yield part._replace(metadata=metadata) if metadata else part
                    losses.done += part.size
            except DamagedFileError as damage:
                raise (lost or damage) from damage  # it is damaged because the end of it is lost
            if lost is not None:
                raise lost

    def newest(self, ranges: Sequence[FileRange]) -> Iterator[Part]:
        """The last payload of the last file that has one."""
        files = {read.path: read.file_size for read in ranges}
        for path, size in reversed(files.items()):
            whole = FileRange(path, 0, size, size)
            with _Losses(whole):
                _, lost = remains_of(whole, has_lines=False)
                if lost is not None:
                    raise lost
                part = self._newest(whole)
            if part is not None:
                yield part._replace(metadata=self._metadata(path))
                return

    def _metadata(self, path: str) -> list[pa.Scalar]:
        return [pa.scalar(shown(path)) for _ in self._decoding.metadata]

    def _newest(self, whole: FileRange) -> Part | None:
        decoding = self._decoding
        if isinstance(self._framing, Container):
            ends = ends_of(whole, self._framing.range_bytes)
            return next(filter(None, map(self._last_row, ends)), None)
        decoder = decoding.decoder()
        found: Block | FoundDocuments | None
        if isinstance(self._framing, Lines):
            decoder, skip_before = decoder_for_file(decoder, whole.path)
            keep_blank = self._framing.keep_blank
            found = last_line(whole, skip_before=skip_before, keep_blank=keep_blank)
        else:
            found = next(iter(deque(self._found(whole), maxlen=1)), None)
        if found is None:
            return None
        at = len(found.payloads) - 1
        payload = found.payload(at)
        decoded = decoder.decode_with_projection([payload], decoding.projection)
        one = FoundDocuments([payload], [found.offset(at)], len(payload))
        return Part(decoded, one.size, FilePayloads(whole.path, one))

    def _last_row(self, read: FileRange) -> Part | None:
        """The last row that a container has in a range."""
        parts = self._decoding.container().read(read, self._decoding.projection, None)
        for part in deque((p for p in parts if p.decoded.batch.num_rows), maxlen=1):
            last = part.decoded.batch.slice(part.decoded.batch.num_rows - 1)
            return Part(replace(part.decoded, batch=last), part.size)
        return None

    def _read(self, read: FileRange) -> Iterator[Part]:
        if isinstance(self._framing, Lines):
            return self._lines(read, self._framing)
        if isinstance(self._framing, Documents):
            return self._documents(read)
        container, decoding = self._decoding.container(), self._decoding
        found = container.read(read, decoding.projection, decoding.skipping)
        return (Part(part.decoded, part.size) for part in found)

    def _lines(self, read: FileRange, framing: Lines) -> Iterator[Part]:
        kept, projection = self._decoding.decoder(), self._decoding.projection
        if isinstance(kept, RangeDecoder) and compression_of(read.path) is None:
            # It decodes what is in the cache, however large a block is. But text that is copied
            # into the sink's files is worth keeping there, and new memory costs as much as copying
            # does.
            block_bytes = BLOCK_BYTES if self._decoding.encodes else _LARGE_BYTES
            for found in kept.decode_range(
                read, projection, block_bytes=block_bytes, block_payloads=_BLOCK_PAYLOADS
            ):
                assert found.lines is not None, "it was read from lines"
                yield Part(found.decoded, found.size, FilePayloads(read.path, found.lines))
            return
        decoder, skip_before = decoder_for_file(kept, read.path)
        blocks = read_blocks(
            read,
            skip_before=skip_before,
            keep_blank=framing.keep_blank,
            block_bytes=_block_bytes(len(projection.columns)),
        )
        finds_lines = decoder if isinstance(decoder, LineDecoder) else None
        for block in blocks:
            if finds_lines is not None:
                decoded = finds_lines.decode_lines(block.pieces, projection)
            else:
                decoded = decoder.decode_with_projection(block.payloads, projection)
            yield Part(decoded, block.size, FilePayloads(read.path, block))

    def _documents(self, read: FileRange) -> Iterator[Part]:
        decoder, projection = self._decoding.decoder(), self._decoding.projection
        for found in self._found(read):
            decoded = decoder.decode_with_projection(found.payloads, projection)
            yield Part(decoded, found.size, FilePayloads(read.path, found))

    def _found(self, read: FileRange) -> Iterator[FoundDocuments]:
        try:
            yield from self._decoding.format.documents(whole_file(read))
        except UnfinishedError as unfinished:
            raise damaged(read.path, str(unfinished)) from unfinished


class _Losses:
    """Says of a file that is lost or damaged while it is read what is lost."""

    def __init__(self, read: FileRange) -> None:
        self._read = read
        self.done = 0
        """How much of it was read."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        read = self._read
        if isinstance(error, DamagedFileError):
            position = _position(read.path, self.done)
            raise LostRangeError(read.key, position, error.reason, damaged=True) from error
        if isinstance(error, LostFileError):
            # One letter for a lost file, however many of its ranges find it so: all of them write
            # the same, under the name of the file's empty range, which nobody reads. Not only one
            # of them may, for the file may have gone when others had been read already.
            whole, position = FileRange(read.path, 0, 0), _position(read.path, error.kept)
            counted = read.start <= error.kept < read.end
            raise LostRangeError(
                whole.key, position, error.reason, damaged=False, counted=counted
            ) from error


def _position(path: str, offset: int) -> Position:
    return {"file": shown(path), "offset": offset}


def _block_bytes(columns: int) -> int:
    """Lines are decoded while they are in the cache, unless there are so many columns that making
    the arrays of a block costs more than that saves."""
    if columns <= _NARROW:
        return _CACHED_BYTES
    return BLOCK_BYTES if columns < _WIDE else _LARGE_BYTES
