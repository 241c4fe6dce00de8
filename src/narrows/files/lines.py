"""The lines of a range of a file, in blocks, in bounded memory.

A line belongs to the range in which its first byte lies, so each line is read once however a file
is cut. A range reads on beyond its end to finish its last line, and skips the rest of a line that
began before it: for that it looks at the byte before its start, which tells whether a line begins
right there.

Lines end with LF or CR LF. A lone CR is no line end, other than in Spark: it may stand between the
tokens of a JSON text. Blank lines are no payloads, and neither is a UTF-8 BOM at the file's start.
A file that grew after it was listed is read as far as it was then; one that shrank is an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import NamedTuple

import pyarrow as pa

from narrows.errors import Code, NarrowsError, fail
from narrows.files.ranges import FileRange, compression_of

BLOCK_BYTES = 4 << 20
BLOCK_PAYLOADS = 16_384

_CHUNK = 1 << 20  # more than that does not stay in the cache until it has been split
_LONG = 512  # from this mean length on, looking for each line end in C beats `split`
_BOM = b"\xef\xbb\xbf"

Read = Callable[[int], bytes]


class Block:
    """Some payloads of a file, one after the other.

    Where each began is worked out when somebody asks, that is, for bad payloads only.
    """

    __slots__ = ("_lines", "_offsets", "_start", "payloads", "size")

    def __init__(self, payloads: list[bytes], lines: list[bytes], start: int, size: int) -> None:
        self.payloads = payloads
        self.size = size
        """How many bytes of the (uncompressed) file these lines are, line ends included."""
        self._lines = lines
        self._start = start
        self._offsets: list[int] | None = None

    def offset(self, position: int) -> int:
        """Where in the (uncompressed) file the payload at this position begins."""
        if self._offsets is None:
            starts = accumulate((len(line) + 1 for line in self._lines), initial=self._start)
            pairs = zip(starts, self._lines, strict=False)  # there is one start more than lines
            if len(self._lines) == len(self.payloads):
                self._offsets = [start + _bom_before(start, line) for start, line in pairs]
            else:
                self._offsets = [
                    start + _bom_before(start, line)
                    for start, line in pairs
                    if not _is_blank(line[_bom_before(start, line) :])
                ]
        return self._offsets[position]


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
    lines: list[bytes] = []
    start, has_cr = 0, False
    for run in _runs(file_range, skip_before, min(_CHUNK, block_bytes)):
        if lines:
            lines += run.lines
            has_cr = has_cr or run.has_cr
        else:
            lines, start, has_cr = run.lines, run.start, run.has_cr
        while len(lines) >= block_payloads:
            full, lines = lines[:block_payloads], lines[block_payloads:]
            block = _block(full, start, has_cr, keep_blank)
            start += block.size
            if block.payloads:
                yield block
        if lines and run.end - start >= block_bytes:
            block = _block(lines, start, has_cr, keep_blank)
            lines = []
            if block.payloads:
                yield block
    if lines:
        block = _block(lines, start, has_cr, keep_blank)
        if block.payloads:
            yield block


def header_of(path: str) -> Header | None:
    """The header of a file; None when it has not a single line that is not blank."""
    whole = FileRange(path, 0, _size_of(path))
    for block in read_blocks(whole, block_bytes=64 << 10, block_payloads=1):
        return Header(block.payloads[0], block._start + block.size)
    return None


def _block(lines: list[bytes], start: int, has_cr: bool, keep_blank: bool) -> Block:
    size = sum(map(len, lines)) + len(lines)
    payloads = lines
    if bom := _bom_before(start, lines[0]):
        payloads = [lines[0][bom:], *lines[1:]]
    if has_cr:
        payloads = [line[:-1] if line.endswith(b"\r") else line for line in payloads]
    if not keep_blank and min(payloads) < b"!":
        # Some line is empty or begins with a space, which is rare: only now look closely.
        payloads = [line for line in payloads if not _is_blank(line)]
    return Block(payloads, lines, start, size)


def _is_blank(line: bytes) -> bool:
    return not line or line.isspace()


def _bom_before(start: int, line: bytes) -> int:
    """How long the BOM is that a line begins with."""
    return len(_BOM) if start == 0 and line.startswith(_BOM) else 0


# --- from bytes to lines --------------------------------------------------------------------------


class _Run(NamedTuple):
    """Complete lines, without LF, from the byte at `start` up to `end`."""

    lines: list[bytes]
    start: int
    end: int
    has_cr: bool


def _runs(file_range: FileRange, skip_before: int, chunk: int) -> Iterator[_Run]:
    path, start, end = file_range.path, file_range.start, file_range.end
    if compression_of(path) is not None:
        with _opened(path, 0) as read:
            discarded = 0
            while discarded < skip_before and (data := read(min(chunk, skip_before - discarded))):
                discarded += len(data)
            yield from _split(iter(lambda: read(chunk), b""), read, skip_before)
        return
    start = max(start, skip_before)
    if start >= end:
        return
    with _opened(path, max(start - 1, 0)) as read:
        chunks = _up_to(path, read, max(start - 1, 0), end, chunk)
        if start > 0:
            start, first = _next_line(chunks, start - 1)
            chunks = _prefixed(first, chunks)
        yield from _split(chunks, read, start)


def _up_to(path: str, read: Read, position: int, end: int, chunk: int) -> Iterator[bytes]:
    while position < end:
        data = read(min(chunk, end - position))
        if not data:
            message = f"file `{path}` is shorter than it was when it was listed"
            raise fail(Code.UNREADABLE_FILE, message, None, "write files once, then rename them")
        position += len(data)
        yield data


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


def _split(chunks: Iterator[bytes], read: Read, start: int) -> Iterator[_Run]:
    """Lines of the chunks, the first of which begins at the offset `start`.

    A line that the chunks leave open is read to its end. An open line is kept in pieces and joined
    once, so that a line of 100 MB costs no more than its bytes do.
    """
    pieces: list[bytes] = []
    has_cr = False
    mean = 0
    end = start
    for chunk in chunks:
        has_cr = has_cr or b"\r" in chunk
        lines = _lines_of(chunk) if mean >= _LONG else chunk.split(b"\n")
        mean = len(chunk) // len(lines)
        rest = lines.pop()
        if lines:
            closed = end + len(chunk) - len(rest)
            if pieces:
                lines[0] = b"".join((*pieces, lines[0]))
                pieces = []
            yield _Run(lines, start, closed, has_cr)
            start, has_cr = closed, b"\r" in rest
        end += len(chunk)
        if rest:
            pieces.append(rest)
    if not pieces:
        return
    while data := read(_CHUNK if len(pieces) > 1 else 64 << 10):
        at = data.find(b"\n")
        pieces.append(data if at < 0 else data[:at])
        if at >= 0:
            break
    line = b"".join(pieces)
    yield _Run([line], start, start + len(line) + 1, has_cr=line.endswith(b"\r"))


def _lines_of(chunk: bytes) -> list[bytes]:
    """What `chunk.split(b"\\n")` gives, twice as fast when lines are long."""
    lines = []
    find = chunk.find
    start, end = 0, find(b"\n")
    while end >= 0:
        lines.append(chunk[start:end])
        start = end + 1
        end = find(b"\n", start)
    lines.append(chunk[start:])
    return lines


@contextmanager
def _opened(path: str, position: int) -> Iterator[Read]:
    """A function that reads the next bytes, at most so many; no bytes mean the end."""
    codec = compression_of(path)
    try:
        if codec is None:
            with open(path, "rb", buffering=0) as file:
                file.seek(position)
                yield file.read
        else:
            with pa.CompressedInputStream(pa.OSFile(path, "rb"), codec) as stream:
                yield stream.read
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: str, error: Exception) -> NarrowsError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return fail(Code.UNREADABLE_FILE, f"cannot read file `{path}`: {reason}")
