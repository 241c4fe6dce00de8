"""What is kept of a shared stream: damaged, missing, or no room for it."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from narrows.demand import ALL, NOTHING, Demand, fields
from narrows.errors import Code, NarrowsError
from narrows.projection.columns import DecodeProjection
from narrows.shared.ingest_task import IngestUnion, entry_of
from narrows.shared.log import EMPTY, SharedEntry, SharedLog
from narrows.shared.registry import EARLIEST, ConsumerRegistry
from narrows.shared.segments import Segment, SegmentWriter, read_segment
from narrows.sql.parser.types import read_schema

SCHEMA = read_schema("a BIGINT, b BIGINT")
A, B = fields({"a": ALL}), fields({"b": ALL})


def write_segment(folder: Path, rows: int = 3) -> Segment:
    with SegmentWriter(folder) as writer:
        values = pa.array(range(rows), pa.int64())
        writer.write(pa.RecordBatch.from_arrays([values, values], names=["a", "b"]))
        segment = writer.finish()
    assert segment is not None
    return segment


def publish(log: SharedLog, number: int, demand: Demand = ALL, rows: int = 3) -> SharedEntry:
    entry = SharedEntry(number, 1, demand, (write_segment(log.segments, rows),), {"payloads": rows})
    log.publish(entry)
    return entry


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file can grow beyond this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def read(folder: Path, segment: Segment, demand: Demand = A) -> list[list[int]]:
    union = DecodeProjection(SCHEMA, ALL)
    found = read_segment(folder, segment, union, DecodeProjection(SCHEMA, demand))
    return [array.to_pylist() for columns, _ in found for array in columns]


def test_only_what_is_wanted_is_read(tmp_path: Path) -> None:
    segment = write_segment(tmp_path)
    assert read(tmp_path, segment, A) == [[0, 1, 2]]
    assert read(tmp_path, segment, NOTHING) == []


def test_a_segment_that_is_missing(tmp_path: Path) -> None:
    segment = write_segment(tmp_path)
    (tmp_path / segment.name).unlink()
    with pytest.raises(NarrowsError, match="it is missing") as caught:
        read(tmp_path, segment)
    assert caught.value.code is Code.UNREADABLE_FILE


def test_a_segment_that_was_cut_short(tmp_path: Path) -> None:
    segment = write_segment(tmp_path)
    path = tmp_path / segment.name
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(NarrowsError, match="bytes, and had"):
        read(tmp_path, segment)


def test_a_segment_that_was_overwritten(tmp_path: Path) -> None:
    segment = write_segment(tmp_path)
    (tmp_path / segment.name).write_bytes(b"x" * segment.size)
    with pytest.raises(NarrowsError, match="cannot be read"):
        read(tmp_path, segment)


def test_no_room_for_a_segment(tmp_path: Path) -> None:
    with full_disk(4096), pytest.raises(OSError, match="File too large"):
        write_segment(tmp_path, rows=10_000)
    assert list(tmp_path.iterdir()) == []


def test_entries_are_published_once_and_counted(tmp_path: Path) -> None:
    log = SharedLog(tmp_path)
    assert (log.last(), log.numbers()) == (EMPTY, [])
    first = publish(log, 0)
    publish(log, 0)  # run again after a crash: what is there stays
    publish(log, 1, rows=4)
    assert log.entry(0).segments == first.segments
    assert log.entry(1).totals["payloads"] == 7
    assert log.entry(1).totals["entries"] == 2
    log.sweep()
    assert len(list(log.segments.iterdir())) == 2


def test_the_newest_entry_stays(tmp_path: Path) -> None:
    log = SharedLog(tmp_path)
    for number in range(4):
        publish(log, number)
    log.retain(1)
    assert log.numbers() == [2, 3]
    log.retain(3)
    assert log.numbers() == [3]
    assert len(list(log.segments.iterdir())) == 1


def test_a_damaged_entry(tmp_path: Path) -> None:
    publish(SharedLog(tmp_path), 0)
    path = tmp_path / "log" / f"{0:012d}.entry"
    path.write_bytes(path.read_bytes().replace(b'"rows": 3', b'"rows": 4'))
    with pytest.raises(NarrowsError, match="it is not what was written"):
        SharedLog(tmp_path).entry(0)


def test_a_damaged_registry(tmp_path: Path) -> None:
    registry = ConsumerRegistry(tmp_path)
    registry.register({"p": A})
    (tmp_path / "registry").write_bytes(b"nonsense")
    with pytest.raises(NarrowsError, match="registry of a shared stream is damaged"):
        registry.snapshot()


def test_no_room_for_the_registry(tmp_path: Path) -> None:
    registry = ConsumerRegistry(tmp_path)
    registry.register({"p": A})
    with full_disk(64), pytest.raises(OSError, match="File too large"):
        registry.register({"q": B})
    assert list(registry.snapshot().consumers) == ["p"]
    assert registry.apply().demand == A


def test_versions_count_what_changes(tmp_path: Path) -> None:
    registry = ConsumerRegistry(tmp_path)
    registry.register({"p": A})
    assert registry.apply().version == 1
    registry.register({"q": A})
    assert registry.apply().version == 1
    registry.register({"r": B})
    assert registry.snapshot().applied.demand == A  # nobody has applied it yet
    assert registry.apply().version == 2
    registry.unregister("r")
    assert registry.apply().demand == A


def test_what_is_taken_for_the_next_entry_is_not_in_the_one_that_is_under_way(
    tmp_path: Path,
) -> None:
    log, registry = SharedLog(tmp_path), ConsumerRegistry(tmp_path)
    registry.begin("it")
    registry.register({"p": A})
    registry.apply(0)  # entry 0 is under way, and has `a`
    assert registry.register({"q": B})["q"].position == 0
    registry.apply()
    assert registry.register({"r": B})["r"].position == 0, "entry 0 is not for it, either"
    assert registry.register({"s": A})["s"].position == EMPTY
    publish(log, 0, A)
    assert registry.register({"t": B}, EARLIEST)["t"].position == 0
    assert registry.apply(1).demand == A | B


def test_earliest_begins_with_the_oldest_entries_that_cover_it(tmp_path: Path) -> None:
    log, registry = SharedLog(tmp_path), ConsumerRegistry(tmp_path)
    registry.begin("it")
    for number, demand in enumerate((B, A, ALL, A | B)):
        publish(log, number, demand)
    found = registry.register({"p": A, "q": B, "r": ALL}, EARLIEST)
    assert {name: r.position for name, r in found.items()} == {"p": 0, "q": 1, "r": 3}


def test_who_comes_back_is_told_what_it_missed(tmp_path: Path) -> None:
    log, registry = SharedLog(tmp_path), ConsumerRegistry(tmp_path)
    registry.begin("it")
    registry.register({"p": A})
    publish(log, 0, A)
    registry.advance({"p": 0})
    registry.unregister("p")
    publish(log, 1, A)
    assert registry.register({"p": A})["p"].missed == 0
    registry.unregister("p")
    publish(log, 2, B)
    found = registry.register({"p": A})["p"]
    assert (found.position, found.missed) == (2, 2)


def test_a_dead_process_is_forgotten_when_its_lease_is_over(tmp_path: Path) -> None:
    now = [0.0]
    dead = ConsumerRegistry(tmp_path, clock=lambda: now[0], lease=60, owner="elsewhere:1")
    dead.register({"p": A})
    alive = ConsumerRegistry(tmp_path, clock=lambda: now[0], lease=60)
    alive.register({"q": B})
    assert alive.apply().demand == A | B
    now[0] = 50.0
    dead.renew("p")
    now[0] = 100.0
    assert alive.apply().demand == A | B
    now[0] = 200.0  # longer than a lease for both, but one of them is this process
    assert alive.apply().demand == B
    assert dead.snapshot().positions == {"p": EMPTY, "q": EMPTY}


def test_who_failed_has_the_time_of_a_lease_to_come_back(tmp_path: Path) -> None:
    now = [0.0]
    log = SharedLog(tmp_path)
    registry = ConsumerRegistry(tmp_path, clock=lambda: now[0], lease=60)
    registry.begin("it")
    registry.register({"p": A, "q": A})
    registry.abandon("p")
    for number in range(3):
        publish(log, number, registry.apply(number).demand)
    registry.advance({"q": 2})
    now[0] = 59.0
    registry.retain()
    assert log.numbers() == [0, 1, 2]
    now[0] = 61.0
    registry.retain()
    assert log.numbers() == [2]
    assert list(registry.snapshot().consumers) == ["q"]


def test_another_definition_is_refused(tmp_path: Path) -> None:
    registry = ConsumerRegistry(tmp_path)
    registry.begin("one")
    registry.begin("two")  # nothing has been decoded yet
    publish(SharedLog(tmp_path), 0)
    with pytest.raises(NarrowsError, match="was another one before") as caught:
        registry.begin("three")
    assert caught.value.code is Code.CHECKPOINT_MISMATCH


def test_a_micro_batch_without_tasks_is_an_entry_all_the_same(tmp_path: Path) -> None:
    """Readers count on it that entries have no gaps."""
    log = SharedLog(tmp_path)
    log.publish(entry_of(IngestUnion(0, 1, A), []))
    assert (log.entry(0).rows, log.entry(0).demand) == (0, A)
