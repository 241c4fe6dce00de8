"""Finds the newest message of some ranges, of which no other is decoded.

The last offsets of a partition may be gaps - a transaction ends with one -, so we look at the last,
then at the eight before it, and so on. Of the last messages of all partitions that with the latest
timestamp is the newest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from narrows.connectors.kafka.source.messages import MessageBatch
from narrows.connectors.kafka.source.offsets import OffsetRange

_FURTHER = 8
"""How many times as many offsets are looked at next."""

Fetch = Callable[[OffsetRange], Iterator[MessageBatch]]
"""The messages of a range; each batch is released when the next is asked for."""


def newest_message(ranges: Sequence[OffsetRange], fetch: Fetch) -> OffsetRange | None:
    """The range that holds the newest message and no other; None if there is no message."""
    whole: dict[tuple[str, int], OffsetRange] = {}
    for read in ranges:
        if read.lost is None:
            first = whole.setdefault((read.topic, read.partition), read)
            whole[read.topic, read.partition] = replace(first, end=read.end)
    last = [found for read in whole.values() if (found := _last(read, fetch)) is not None]
    return max(last, key=lambda found: found[0])[1] if last else None


def _last(read: OffsetRange, fetch: Fetch) -> tuple[int, OffsetRange] | None:
    """The last message of a partition, and its time."""
    found, end, offsets = None, read.end, 1
    while found is None and end > read.start:
        start = max(read.start, end - offsets)
        for batch in fetch(replace(read, start=start, end=end)):
            at = len(batch) - 1
            time, offset = batch.timestamps()[at], batch.offset(at)
            time_of_it = time.value if time.is_valid else 0
            found = time_of_it, replace(read, start=offset, end=offset + 1)
        end, offsets = start, offsets * _FURTHER
    return found
