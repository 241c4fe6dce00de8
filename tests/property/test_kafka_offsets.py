"""What entries take of topics, and how they are cut, for any topics: no broker is needed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narrows.connectors.base import Share
from narrows.connectors.kafka.client.topics import Extent, Partition, Topics
from narrows.connectors.kafka.source.offsets import (
    OffsetRange,
    Taken,
    behind,
    ends,
    entry_bytes,
    in_proportion,
    next_entry,
    split,
    whole_entry,
)

PARTITIONS = [Partition(topic, number) for topic in ("a", "b") for number in range(3)]
SIZES = st.sampled_from([1, 100, 1_000_000, 100_000_000])
LIMITS = st.none() | st.integers(1, 50)


@st.composite
def lives(draw: st.DrawFn) -> list[Topics]:
    """What a topic has, at one moment after the other: ends grow, heads go, partitions come."""
    moments = []
    extents: dict[Partition, Extent] = {}
    for _ in range(draw(st.integers(1, 5))):
        for place in draw(st.lists(st.sampled_from(PARTITIONS), unique=True)):
            first, end = extents.get(place, Extent(0, 0))
            end += draw(st.integers(0, 60))
            extents[place] = Extent(draw(st.integers(first, end)), end)
        moments.append(Topics(dict(extents), {"a": "id"}))
    return moments


def offsets_of(entry: object, what: str = "offsets") -> list[tuple[Partition, int]]:
    return [
        (Partition(topic, int(number)), offset)
        for topic, partitions in json.loads(json.dumps(entry)).get(what, {}).items()
        for number, (start, end) in partitions.items()
        for offset in range(start, end)
    ]


def ranges_of(shares: Sequence[Share]) -> list[OffsetRange]:
    ranges = [read for share in shares for read in share.ranges]
    assert all(isinstance(read, OffsetRange) for read in ranges)
    return cast("list[OffsetRange]", ranges)


@given(lives(), LIMITS)
def test_every_offset_is_taken_once_or_lost_once(life: list[Topics], most: int | None) -> None:
    taken = Taken()
    seen: Counter[tuple[Partition, int]] = Counter()
    first_seen: dict[Partition, int] = {}
    for there in life:
        entry = next_entry(taken, there, "earliest", most, 100)
        while entry is not None:
            assert next_entry(taken, there, "earliest", most, 100) == entry
            assert most is None or 0 <= len(offsets_of(entry)) <= most
            seen.update(offsets_of(entry))
            seen.update(offsets_of(entry, "lost"))
            for topic, partitions in entry["offsets"].items():
                for number, (start, _) in partitions.items():
                    first_seen.setdefault(Partition(topic, int(number)), start)
            taken.add(json.loads(json.dumps(entry)))
            entry = next_entry(taken, there, "earliest", most, 100)
        assert not any(behind(taken, there, "earliest").values())
    last = life[-1].extents
    expected = {
        (place, offset)
        for place, start in first_seen.items()
        for offset in range(start, max(last[place].end, start))
    }
    assert set(seen) == expected
    assert max(seen.values(), default=1) == 1


@given(lives(), LIMITS, st.sampled_from(["latest", "earliest", "offsets"]))
def test_where_it_begins_is_said_by_the_first_entry(
    life: list[Topics], most: int | None, kind: str
) -> None:
    there = life[0]
    start = dict.fromkeys(PARTITIONS, 5) if kind == "offsets" else kind
    taken = Taken()
    entry = next_entry(taken, there, start, most, 100)
    if entry is None:
        assert kind == "earliest" or not there.extents
        return
    taken.add(entry)
    later = Topics({p: Extent(e.first, e.end + 7) for p, e in there.extents.items()}, there.ids)
    for place, extent in there.extents.items():
        left = behind(taken, later, start)[place]
        begins = {"latest": extent.end, "earliest": extent.first}.get(kind, max(5, extent.first))
        got = ends(entry).get(place, begins) - begins
        assert left == max(0, extent.end + 7 - begins - got)


@given(st.dictionaries(st.sampled_from(PARTITIONS), st.integers(0, 1_000)), st.integers(1, 500))
def test_a_limit_is_shared_out_in_proportion(backlog: dict[Partition, int], most: int) -> None:
    chosen = in_proportion(backlog, most)
    total = sum(backlog.values())
    assert sum(chosen.values()) == min(most, total)
    for place, count in backlog.items():
        assert 0 <= chosen[place] <= count
        if total > most:
            assert abs(chosen[place] - count * most / total) < 1


@given(lives(), st.integers(1, 9), SIZES)
def test_ranges_are_the_entry_and_shares_are_even(
    life: list[Topics], tasks: int, size: int
) -> None:
    entry = whole_entry(life[-1], "earliest", size)
    shares = split(entry, tasks)
    ranges = ranges_of(shares)
    read = [
        (Partition(each.topic, each.partition), offset)
        for each in ranges
        for offset in range(each.start, each.end)
    ]
    assert read == offsets_of(entry)
    assert [place for share in shares for place in share.places] == list(range(len(ranges)))
    assert len({each.key for each in ranges}) == len(ranges)
    assert len(shares) <= tasks
    assert all(share.ranges for share in shares)
    assert split(json.loads(json.dumps(entry)), tasks) == shares
    assert ranges_of(split(entry, 1)) == ranges
    assert entry_bytes(entry) == len(read) * size


def test_large_partitions_are_shared_out() -> None:
    there = Topics({Partition("t", 0): Extent(0, 1_000_000), Partition("t", 1): Extent(0, 1_000)})
    shares = split(whole_entry(there, "earliest", 1_000), 4)
    loads = [sum(read.end - read.start for read in ranges_of([share])) for share in shares]
    assert len(loads) == 4
    assert max(loads) < 1.3 * min(loads)


def test_a_topic_that_was_made_anew_begins_anew() -> None:
    place = Partition("t", 0)
    old = Topics({place: Extent(0, 10)}, {"t": "one"})
    taken = Taken([next_entry(Taken(), old, "earliest", 4, 100)])
    new = Topics({place: Extent(0, 3)}, {"t": "two"})
    entry = next_entry(taken, new, "latest", None, 100)
    assert entry is not None
    assert entry["offsets"] == {"t": {"0": [0, 3]}}
    assert entry["lost"] == {"t": {"0": [4, None]}}
    lost, read = ranges_of(split(entry, 1))
    assert (lost.start, lost.lost) == (4, "the topic was made anew")
    assert (read.start, read.end, read.lost) == (0, 3, None)
    taken.add(entry)
    assert next_entry(taken, new, "latest", None, 100) is None


@pytest.mark.parametrize("ids", [{"t": ""}, {}])
def test_a_broker_that_tells_no_ids_is_believed(ids: dict[str, str]) -> None:
    place = Partition("t", 0)
    there = Topics({place: Extent(0, 10)}, ids)
    taken = Taken([next_entry(Taken(), there, "earliest", None, 100)])
    shorter = Topics({place: Extent(0, 3)}, {"t": "id"})
    assert next_entry(taken, shorter, "earliest", None, 100) is None
