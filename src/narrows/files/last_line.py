"""The last line of a file, found from its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from narrows.files.lines import Block, read_blocks
from narrows.files.ranges import FileRange, compression_of

_LOOK_AT = 64 << 10
_FURTHER = 8
"""How many times as many bytes are looked at next."""


def ends_of(whole: FileRange, look_at: int) -> Iterator[FileRange]:
    """Longer and longer ends of a file, up to the whole of it."""
    start = whole.end if compression_of(whole.path) is None else 0
    while True:
        start = max(0, start - look_at)
        yield FileRange(whole.path, start, whole.end, whole.listed_size)
        if start == 0:
            return
        look_at *= _FURTHER


def last_line(
    whole: FileRange, *, skip_before: int = 0, keep_blank: bool = False, look_at: int = _LOOK_AT
) -> Block | None:
    """A block whose last payload is the last of a file; None when the file has none. Only the end
    of a file is read for it, unless it is compressed."""
    for end in ends_of(whole, look_at):
        found = deque(read_blocks(end, skip_before=skip_before, keep_blank=keep_blank), maxlen=1)
        if found:
            return found[0]
    return None
