"""The lines of a range of a file, in blocks, in bounded memory.

A line belongs to the range in which its first byte lies, so each line is read once however a file
is cut. A range reads on beyond its end to finish its last line, and skips the rest of a line that
began before it: for that it looks at the byte before its start, which tells whether a line begins
right there.

Lines end with LF or CR LF. A lone CR is no line end, other than in Spark: it may stand between the
tokens of a JSON text. Blank lines are no payloads, and neither is a UTF-8 BOM at the file's start.
A file that grew after it was listed is read as far as it was then; one that shrank is an error
(see `remains.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import accumulate, chain
from typing import NamedTuple, Protocol

import numpy as np

from narrows.files.chunks import BOM, CHUNK, Read, opened, up_to
from narrows.files.faults import unreadable
from narrows.files.ranges import FileRange, compression_of

BLOCK_BYTES = 4 << 20
BLOCK_PAYLOADS = 16_384

_LONG = 512  # from this mean length on, looking for each line end in C beats `split`

Piece = tuple[bytes, int, int]
"""Some bytes, and from where to where whole lines stand in them, each with its LF."""


class FileLines(Protocol):
    """Where payloads of a file stood; positions count payloads."""

    def payload(self, position: int) -> bytes: ...

    def offset(self, position: int) -> int:
        """Where in the (uncompressed) file the payload at this position begins."""
        ...


class Block:
    """Some payloads of a file, one after the other.

    They are in `pieces` of what was read, for a decoder that finds the lines by itself. Payloads as
    such, and where each began, are worked out when somebody asks.
    """

    __slots__ = ("_keep_blank", "_lines", "_offsets", "_payloads", "_start", "pieces", "size")

    def __init__(self, pieces: list[Piece], lines: int, start: int, keep_blank: bool) -> None:
        self.pieces = pieces
        self.size = _size(pieces)
        """How many bytes of the (uncompressed) file these lines are, line ends included."""
        self._lines = lines
        self._start = start
        self._keep_blank = keep_blank
        self._payloads: list[bytes] | None = None
        self._offsets: list[int] | None = None

    @property
    def payloads(self) -> list[bytes]:
        if self._payloads is None:
            payloads = self._whole_lines()
            if any(data.find(b"\r", start, end) >= 0 for data, start, end in self.pieces):
                payloads = [line[:-1] if line.endswith(b"\r") else line for line in payloads]
            if not self._keep_blank and min(payloads) < b"!":
                # Some line is empty or begins with a space, which is rare: only now look closely.
                payloads = [line for line in payloads if not _is_blank(line)]
            self._payloads = payloads
        return self._payloads

    def payload(self, position: int) -> bytes:
        return self.payloads[position]

    def offset(self, position: int) -> int:
        """Where in the (uncompressed) file the payload at this position begins."""
        if self._offsets is None:
            lines = self._whole_lines()
            starts = accumulate((len(line) + 1 for line in lines), initial=self._start)
            self._offsets = [
                start
                for start, line in zip(starts, lines, strict=False)  # one start more than lines
                if self._keep_blank or not _is_blank(line)
            ]
        return self._offsets[position]

    @property
    def end(self) -> int:
        """Where in the (uncompressed) file the line after these begins."""
        return self._start + self.size

    @property
    def is_blank(self) -> bool:
        """Is there no payload?"""
        return not self._keep_blank and all(
            data[start] <= ord(" ") and _is_blank(data[start:end])
            for data, start, end in self.pieces
        )

    def _whole_lines(self) -> list[bytes]:
        long = self.size >= _LONG * self._lines
        return list(chain.from_iterable(_lines_of(piece, long) for piece in self.pieces))


class Header(NamedTuple):
    """The first line of a file that is not blank, and where the line after it begins."""

    line: bytes
    end: int


def read_blocks(
    file_range: FileRange,
    *,
    skip_before: int = 0,
    keep_blank: bool = False,
    block_bytes: int = BLOCK_BYTES,
    block_payloads: int = BLOCK_PAYLOADS,
) -> Iterator[Block]:
    """The payloads of a range in blocks of about so many bytes and at most so many payloads.

    Lines that begin before the offset `skip_before`, which is the start of a line, are left out:
    that is how a header is (see `header_of`). A line longer than a block makes a longer block.
    """
    pieces: list[Piece] = []
    start, lines = 0, 0
    for place, piece in _pieces(file_range, skip_before, min(CHUNK, block_bytes)):
        start = start if pieces else place
        pieces.append(piece)
        lines += _count(piece)
        while lines >= block_payloads:
            full, pieces = _cut(pieces, block_payloads)
            block = Block(full, block_payloads, start, keep_blank)
            start, lines = block.end, lines - block_payloads
            if not block.is_blank:
                yield block
        if lines and _size(pieces) >= block_bytes:
            block = Block(pieces, lines, start, keep_blank)
            pieces, lines = [], 0
            if not block.is_blank:
                yield block
    if lines:
        block = Block(pieces, lines, start, keep_blank)
        if not block.is_blank:
            yield block


def header_of(path: str) -> Header | None:
    """The header of a file; None when it has not a single line that is not blank."""
    whole = FileRange(path, 0, _size_of(path))
    for block in read_blocks(whole, block_bytes=64 << 10, block_payloads=1):
        return Header(block.payloads[0], block.end)
    return None


def _is_blank(line: bytes) -> bool:
    return not line or line.isspace()


def _size(pieces: list[Piece]) -> int:
    return sum(end - start for _, start, end in pieces)


def _count(piece: Piece) -> int:
    """How many lines a piece has. `bytes.count` takes as long as decoding the lines does."""
    data, start, end = piece
    return int(np.count_nonzero(np.frombuffer(data, np.uint8, end - start, start) == ord("\n")))


def _cut(pieces: list[Piece], lines: int) -> tuple[list[Piece], list[Piece]]:
    """The first few lines of some pieces, and the others."""
    for number, (data, start, end) in enumerate(pieces):
        held = _count((data, start, end))
        if held > lines:
            place = start
            for _ in range(lines):
                place = data.find(b"\n", place) + 1
            first = [(data, start, place)] if lines else []
            return [*pieces[:number], *first], [(data, place, end), *pieces[number + 1 :]]
        lines -= held
    return pieces, []


def _lines_of(piece: Piece, long: bool) -> list[bytes]:
    """The lines of a piece without LF. When they are long, looking for each line end in C beats
    `split`, which looks at every byte."""
    data, start, end = piece
    if not long:
        return data[start : end - 1].split(b"\n")
    lines = []
    find = data.find
    while start < end:
        at = find(b"\n", start)
        lines.append(data[start:at])
        start = at + 1
    return lines


# --- from bytes to lines --------------------------------------------------------------------------


def _pieces(file_range: FileRange, skip_before: int, chunk: int) -> Iterator[tuple[int, Piece]]:
    """Whole lines, with where in the file each piece of them begins; a BOM is left out."""
    for place, (data, start, end) in _with_bom(file_range, skip_before, chunk):
        bom = len(BOM) if place == 0 and data.startswith(BOM, start) else 0
        yield place + bom, (data, start + bom, end)


def _with_bom(file_range: FileRange, skip_before: int, chunk: int) -> Iterator[tuple[int, Piece]]:
    path, start, end = file_range.path, file_range.start, file_range.end
    if compression_of(path) is not None:
        with opened(path, 0) as read:
            discarded = 0
            while discarded < skip_before and (data := read(min(chunk, skip_before - discarded))):
                discarded += len(data)
            yield from _split(iter(lambda: read(chunk), b""), read, skip_before)
        return
    start = max(start, skip_before)
    if start >= end:
        return
    with opened(path, max(start - 1, 0)) as read:
        chunks = up_to(path, read, max(start - 1, 0), end, chunk)
        if start > 0:
            start, first = _next_line(chunks, start - 1)
            chunks = _prefixed(first, chunks)
        yield from _split(chunks, read, start)


def _next_line(chunks: Iterator[bytes], position: int) -> tuple[int, bytes]:
    """Skips the line that is under way; where the next begins, and what was read of it and on."""
    for chunk in chunks:
        after = chunk.find(b"\n") + 1
        if after:
            return position + after, chunk[after:]
        position += len(chunk)
    return position, b""


def _prefixed(first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from chunks


def _split(chunks: Iterator[bytes], read: Read, start: int) -> Iterator[tuple[int, Piece]]:
    """Pieces of the chunks, the first of which begins at the offset `start`.

    A line that the chunks leave open is read to its end. An open line is kept in parts and joined
    once, so that a line of 100 MB costs no more than its bytes do; all other bytes stay where they
    were read. The last line gets an LF if it has none.
    """
    open_line: list[bytes] = []
    for chunk in chunks:
        last = chunk.rfind(b"\n") + 1
        if not last:
            open_line.append(chunk)
            continue
        begin = 0
        if open_line:
            begin = chunk.find(b"\n") + 1
            line = b"".join((*open_line, chunk[:begin]))
            yield start, (line, 0, len(line))
            start += len(line)
            open_line = []
        if begin < last:
            yield start, (chunk, begin, last)
            start += last - begin
        if last < len(chunk):
            open_line.append(chunk[last:])
    if not open_line:
        return
    while data := read(CHUNK if len(open_line) > 1 else 64 << 10):
        at = data.find(b"\n")
        open_line.append(data if at < 0 else data[:at])
        if at >= 0:
            break
    line = b"".join((*open_line, b"\n"))
    yield start, (line, 0, len(line))


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError as error:
        raise unreadable(path, error) from error
