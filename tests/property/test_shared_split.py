"""Who reads what of a shared stream: everything once, in the order of the stream."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from narrows.connectors.base import Range, SourceDeclaration
from narrows.demand import ALL
from narrows.shared.log import SharedEntry, SharedLog
from narrows.shared.segments import Segment
from narrows.shared.source import CONSUMER, FOLDER, SegmentRange, SharedLogSource

SIZES = st.lists(st.lists(st.sampled_from([0, 1, 10, 1000]), max_size=4), min_size=1, max_size=5)


@given(SIZES, st.integers(1, 6))
def test_segments_are_shared_out_in_order(sizes: list[list[int]], tasks: int) -> None:
    with TemporaryDirectory() as folder:
        log, names = SharedLog(Path(folder)), []
        for number, each in enumerate(sizes):
            segments = tuple(Segment(f"{number}-{n}", 1, size) for n, size in enumerate(each))
            log.publish(SharedEntry(number, 1, ALL, segments))
            names += [segment.name for segment in segments]
        options = {FOLDER: folder, CONSUMER: "p"}
        source = SharedLogSource(SourceDeclaration("s", "json", options, bounded=False))
        shares = source.split({"after": -1, "upto": len(sizes) - 1}, tasks)
    given_out = [[_segment(read) for read in share.ranges] for share in shares]
    assert [segment.name for share in given_out for segment in share] == names
    assert len(shares) <= tasks
    total, largest = sum(map(sum, sizes)), max((s for each in sizes for s in each), default=0)
    for share in given_out:
        assert sum(segment.size for segment in share) <= total / tasks + largest


def _segment(read: Range) -> Segment:
    assert isinstance(read, SegmentRange)
    return read.segment
