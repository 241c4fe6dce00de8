"""Reads ranges of files: lines that are payloads, or containers that have rows.

Memory is bounded by the block of lines that is being decoded, whatever the size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from narrows.connectors.base import Decoding, LostRangeError, Part, Position
from narrows.files.faults import DamagedFileError, LostFileError, shown
from narrows.files.lines import BLOCK_BYTES, FileLines, read_blocks
from narrows.files.ranges import FileRange, compression_of
from narrows.files.remains import remains_of
from narrows.formats.decoder import LineDecoder, RangeDecoder
from narrows.formats.headers import decoder_for_file
from narrows.plugins.declared import Lines

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
    def __init__(self, decoding: Decoding) -> None:
        self._decoding = decoding
        self._framing = decoding.format.framing

    def parts(self, read: FileRange) -> Iterator[Part]:
        """The rows of a range. One that is lost, or damaged, ends with an error that says so."""
        has_lines = isinstance(self._framing, Lines) and compression_of(read.path) is None
        metadata = [pa.scalar(shown(read.path)) for _ in self._decoding.metadata]
        done = 0
        try:
            there, lost = remains_of(read, has_lines=has_lines)
            try:
                for part in self._read(there):
                    yield part._replace(metadata=metadata) if metadata else part
                    done += part.size
            except DamagedFileError as damage:
                raise (lost or damage) from damage  # it is damaged because the end of it is lost
            if lost is not None:
                raise lost
        except DamagedFileError as damage:
            position = _position(read.path, done)
            raise LostRangeError(read.key, position, damage.reason, damaged=True) from damage
        except LostFileError as lost_file:
            # One letter for a lost file, however many of its ranges find it so: all of them write
            # the same, under the name of the file's empty range, which nobody reads. Not only one
            # of them may, for the file may have gone when others had been read already.
            whole, position = FileRange(read.path, 0, 0), _position(read.path, lost_file.kept)
            counted = read.start <= lost_file.kept < read.end
            raise LostRangeError(
                whole.key, position, lost_file.reason, damaged=False, counted=counted
            ) from lost_file

    def _read(self, read: FileRange) -> Iterator[Part]:
        if isinstance(self._framing, Lines):
            return self._lines(read, self._framing)
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


def _position(path: str, offset: int) -> Position:
    return {"file": shown(path), "offset": offset}


def _block_bytes(columns: int) -> int:
    """Lines are decoded while they are in the cache, unless there are so many columns that making
    the arrays of a block costs more than that saves."""
    if columns <= _NARROW:
        return _CACHED_BYTES
    return BLOCK_BYTES if columns < _WIDE else _LARGE_BYTES
