"""Samples: one payload each time at most, the newest of all that came since, over any restarts."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.connectors.base import Available, Part, SamplingReader, Share, SourceConnector
from narrows.connectors.entry_log import Entry, EntryLog, TakenEntries
from narrows.connectors.file.reader import FileReader
from narrows.connectors.kafka.source.messages import MessageBatch
from narrows.connectors.kafka.source.newest import newest_message
from narrows.connectors.kafka.source.offsets import OffsetRange
from narrows.connectors.kafka.source.reader import KafkaReader
from narrows.connectors.opening import open_source
from narrows.connectors.received.reader import ReceivedReader
from narrows.connectors.sampled import SampledRange, SampledReader, SampledSource
from narrows.demand import ALL, fields
from narrows.files.last_line import last_line
from narrows.files.ranges import FileRange
from narrows.plugins.sampling import sample_interval
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema
from narrows.worker.read import read_entry
from narrows.worker.read_spec import ReadSpec

# --- when a sample is taken -----------------------------------------------------------------------


@dataclass(frozen=True)
class NumberRange:
    start: int
    end: int

    @property
    def key(self) -> str:
        return f"{self.start}:{self.end}"


class Numbers(SourceConnector):
    """A source of numbers that count up; an entry is `[from, to]`."""

    there = 0

    def available(self) -> int:
        return self.there

    def admit(self, log: TakenEntries, available: int) -> Entry | None:
        last = log.last()
        taken = log.entry(last)[1] if last >= 0 else 0
        assert [entry[1] for entry in log.entries()] == sorted(entry[1] for entry in log.entries())
        return [taken, available] if available > taken else None

    def whole(self, available: int) -> Entry:
        return [0, available]

    def split(self, entry: Entry, tasks: int) -> list[Share]:
        middle = (entry[0] + entry[1]) // 2
        return [Share([NumberRange(middle, entry[1]), NumberRange(entry[0], middle)], [1, 0])]

    def size(self, entry: Entry) -> int:
        return 0

    def version(self, available: Available) -> str:
        return str(available)


class NewestNumber:
    def parts(self, read: Any) -> Iterator[Part]:
        raise AssertionError("nobody reads a whole range")

    def newest(self, ranges: Sequence[NumberRange]) -> Iterator[Part]:
        assert [read.start for read in ranges] == sorted(read.start for read in ranges)
        return iter([cast("Part", ranges[-1].end)])


MOMENTS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 700), st.booleans()), min_size=1, max_size=12
)
"""How many numbers come, how many milliseconds pass, and whether there is a restart then."""


@settings(max_examples=60)
@given(MOMENTS)
def test_samples_are_the_newest_and_as_rare_as_they_should_be(
    moments: list[tuple[int, int, bool]],
) -> None:
    interval, clock = 500, [1_000_000]

    def sampled() -> SampledSource:
        return SampledSource(numbers, interval, lambda: clock[0] / 1_000)

    with tempfile.TemporaryDirectory() as folder:
        numbers, log = Numbers(), EntryLog(folder)
        source = sampled()
        due = 0
        expected: list[int] = []
        for come, passes, restarts in moments:
            clock[0] += passes
            numbers.there += come
            if restarts:
                source, log = sampled(), EntryLog(folder)
            entry = source.admit(log, source.available())
            if entry is not None:
                log.append(entry)
            # The oracle: what is new is taken when it is due, and of it the newest is read.
            if clock[0] >= due and numbers.there > (expected[-1] if expected else 0):
                expected.append(numbers.there)
                due = clock[0] + interval
        samples: list[Any] = []
        for entry in log.entries():
            (share,) = source.split(entry, 4)
            (read,) = share.ranges
            assert isinstance(read, SampledRange)
            samples += list(SampledReader(NewestNumber()).parts(read))
    assert samples == expected


def test_a_clock_that_is_put_back_does_not_end_the_samples(tmp_path: Path) -> None:
    numbers, log = Numbers(), EntryLog(tmp_path)
    for now, there in ((9_000.0, 1), (100.0, 2), (100.1, 3)):
        numbers.there = there
        source = SampledSource(numbers, 1_000, lambda now=now: now)  # type: ignore[misc]
        entry = source.admit(log, there)
        if entry is not None:
            log.append(entry)
    assert [entry["at"] for entry in log.entries()] == [9_000_000, 100_000]


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("latest every 1 second", 1_000),
        (" LATEST  every 500ms ", 500),
        ("latest every 0 s", None),
        ("latest every", None),
        ("every 1 second", None),
        ("first every 1 second", None),
        ("latest every soon", None),
    ],
)
def test_intervals(text: str, milliseconds: int | None) -> None:
    assert sample_interval({"sample": text}) == milliseconds


# --- which payload is the newest ------------------------------------------------------------------

SCHEMA = read_schema("n BIGINT, s STRING")
LINES = st.lists(
    st.one_of(
        st.integers(0, 99).map(lambda n: json.dumps({"n": n, "s": "x" * n})),
        st.sampled_from(["", "   ", '{"n": 1, "s']),
    ),
    max_size=8,
)


def _spec(folder: str, form: str, options: dict[str, Any]) -> ReadSpec:
    projection = DecodeProjection(SCHEMA, fields({"n": ALL}))
    given = {"path": folder, "sample": "latest every 1 s", **options}
    return ReadSpec("s", "file", form, projection, ("n",), options=given, on_error="drop")


def _sampled(spec: ReadSpec) -> list[int | None]:
    source = open_source("file", spec.declared)
    entry = source.whole(source.available())
    batches = list(read_entry(spec, entry, 0, 0, 1))
    return [value for batch in batches for value in batch.column(0).to_pylist()]


@given(
    st.lists(LINES, min_size=1, max_size=3),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
)
def test_of_files_it_is_the_last_line_that_is_not_blank(
    files: list[list[str]], line_end: str, ends: bool, compressed: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number, lines in enumerate(files):
            data = (line_end.join(lines) + (line_end if ends and lines else "")).encode()
            name = f"{folder}/{number}.json"
            if compressed:
                Path(name + ".gz").write_bytes(gzip.compress(data))
            else:
                Path(name).write_bytes(data)
        payloads = [line for lines in files for line in lines if line.strip()]
        try:
            expected = [json.loads(payloads[-1])["n"]] if payloads else []
        except ValueError:
            expected = []
        assert _sampled(_spec(folder, "json", {})) == expected


def test_of_files_only_the_end_is_looked_at(tmp_path: Path) -> None:
    """A line that is longer than what is looked at first, behind another and before blank ones."""
    data = b'{"n": 1}\n' + b'{"n": 2, "s": "' + b"x" * 5_000 + b'"}\n' + b"\n" * 700
    (tmp_path / "a.json").write_bytes(data)
    for look_at in (1, 10, 100, 10_000):
        whole = FileRange(str(tmp_path / "a.json"), 0, len(data))
        block = last_line(whole, look_at=look_at)
        assert block is not None
        assert block.payloads[-1].startswith(b'{"n": 2')
        assert block.offset(len(block.payloads) - 1) == 9


@pytest.mark.parametrize(
    ("form", "options", "files", "expected"),
    [
        ("csv", {"header": True}, {"a": "s,n\nx,1\ny,2\n", "b": "s,n\n"}, [2]),
        ("csv", {}, {"a": "1,x\n2,y\n"}, [2]),
        ("json", {"multiline": True}, {"a": '[{"n": 1}, {"n":\n 2}]', "b": "[]"}, [2]),
    ],
)
def test_of_other_formats(
    tmp_path: Path, form: str, options: dict[str, Any], files: dict[str, str], expected: list[int]
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert _sampled(_spec(str(tmp_path), form, {"delimiter": ",", **options})) == expected


def test_of_parquet_it_is_the_last_row(tmp_path: Path) -> None:
    table = pa.table({"n": list(range(10)), "s": ["x"] * 10})
    pa.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=4)
    pa.parquet.write_table(table.slice(0, 0), tmp_path / "b.parquet")
    assert _sampled(_spec(str(tmp_path), "parquet", {})) == [9]


# --- of topics ------------------------------------------------------------------------------------


@dataclass
class FakeBatch:
    """Messages at offsets, each with a time."""

    messages: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.messages)

    def offset(self, number: int) -> int:
        return self.messages[number][0]

    def timestamps(self) -> pa.Array:
        return pa.array([time for _, time in self.messages], pa.timestamp("us"))


@given(
    st.lists(st.sets(st.integers(0, 99)), min_size=1, max_size=4),
    st.integers(1, 40),
    st.randoms(use_true_random=False),
)
def test_of_topics_it_is_the_latest_of_all_partitions_over_gaps(
    partitions: list[set[int]], cut: int, random: Any
) -> None:
    times = {(p, o): random.randint(0, 10**9) + o for p, has in enumerate(partitions) for o in has}
    looked_at: list[tuple[int, int]] = []

    def fetch(read: OffsetRange) -> Iterator[MessageBatch]:
        found = sorted(o for o in partitions[read.partition] if read.start <= o < read.end)
        looked_at.extend((read.partition, offset) for offset in found)
        for at in range(0, len(found), 3):
            messages = [(offset, times[read.partition, offset]) for offset in found[at : at + 3]]
            yield cast("MessageBatch", FakeBatch(messages))

    ranges = [
        OffsetRange("t", partition, start, min(100, start + cut))
        for partition in range(len(partitions))
        for start in range(0, 100, cut)
    ]
    found = newest_message(ranges, fetch)
    last = {(p, max(has)) for p, has in enumerate(partitions) if has}
    if not last:
        assert found is None
        return
    assert found is not None
    assert found.end == found.start + 1
    assert (found.partition, found.start) == max(last, key=lambda place: times[place])


def test_readers_of_connectors_that_sample_can_find_the_newest() -> None:
    for reader in (FileReader, KafkaReader, ReceivedReader):
        assert issubclass(reader, SamplingReader)
