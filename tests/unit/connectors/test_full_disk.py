"""A sink's disk is full, or cannot be written: one line, nothing half written, and it goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from narrows.connectors.entry_log import EntryLog
from narrows.connectors.target import RowPart, SinkTarget, WriteSpec
from narrows.demand import ALL
from narrows.errors import NarrowsError
from narrows.files.ranges import FileRange
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema
from narrows.state.folder import StateFolder
from narrows.worker.dead_letters import read_dead_letters
from narrows.worker.read_spec import ReadSpec
from narrows.worker.write import publish, write_task
from support.reading import read_ranges
from support.small_disk import SmallDisk, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", "64k") as made:
        yield made


def spec(place: Path, letters: Path) -> WriteSpec:
    parts = (RowPart("o0", "id"), RowPart("o1", "t"))
    return WriteSpec((SinkTarget("p", "out", "file", "json", (), parts, str(place), str(letters)),))


def rows(count: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(range(count), pa.int64()), pa.array(["x" * 100] * count)], names=["o0", "o1"]
    )


@pytest.mark.parametrize("count", [700, 100_000])
def test_a_full_sink(disk: SmallDisk, tmp_path: Path, count: int) -> None:
    sink = spec(disk.path / "out", tmp_path / "dead")
    publish(sink, 0, [write_task(sink, iter([rows(10)]))])
    before = {path.name: path.read_bytes() for path in (disk.path / "out").iterdir()}
    with pytest.raises(NarrowsError, match="No space left on device") as raised:
        write_task(sink, iter([rows(count)]), 1)
    assert "sink `out`" in str(raised.value)
    assert str(disk.path / "out") in str(raised.value)
    assert "make room" in str(raised.value)
    assert {path.name: path.read_bytes() for path in (disk.path / "out").iterdir()} == before
    disk.resize("32m")
    publish(sink, 1, [write_task(sink, iter([rows(count)]), 1)])
    lines = [
        json.loads(line)
        for path in sorted((disk.path / "out").iterdir())
        for line in path.read_text().splitlines()
    ]
    assert [line["id"] for line in lines] == [*range(10), *range(count)]


def test_a_sink_that_cannot_be_written(disk: SmallDisk, tmp_path: Path) -> None:
    sink = spec(disk.path / "out", tmp_path / "dead")
    written = write_task(sink, iter([rows(10)]))
    disk.read_only()
    with pytest.raises(NarrowsError, match="Read-only file system") as raised:
        publish(sink, 0, [written])
    assert "sink `out`" in str(raised.value)
    with pytest.raises(NarrowsError, match="Read-only file system"):
        write_task(sink, iter([rows(10)]))
    disk.resize("64k")
    publish(sink, 0, [written])
    assert len(list((disk.path / "out").iterdir())) == 1


def test_letters_of_a_full_state_folder(disk: SmallDisk, tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text("".join(f"bad {number} {'x' * 100}\n" for number in range(2_000)))
    letters = StateFolder(disk.path / "state").dead_letters("s")
    read = ReadSpec(
        source="s",
        connector="file",
        format="json",
        projection=DecodeProjection(read_schema("a INT"), ALL),
        names=("a",),
        options={"path": str(path)},
        dead_letters=str(letters),
    )
    ranges = [FileRange(str(path), 0, path.stat().st_size)]
    with pytest.raises(NarrowsError, match="No space left on device") as raised:
        list(read_ranges(read, ranges))
    assert str(letters) in str(raised.value)
    assert list(letters.iterdir()) == [], "what takes up room is gone"
    disk.resize("8m")
    list(read_ranges(read, ranges))
    assert len(list(read_dead_letters(letters))) == 2_000


def test_a_log_on_a_full_disk(disk: SmallDisk) -> None:
    log = EntryLog(disk.path / "log")
    log.append(["a"])
    (disk.path / "ballast").write_bytes(b"x" * 4096)
    with pytest.raises(OSError, match="No space left on device"):
        log.append(["b" * 200_000])
    disk.resize("8m")
    assert log.append(["c"]) == 1
    assert list(EntryLog(disk.path / "log").entries()) == [["a"], ["c"]]
