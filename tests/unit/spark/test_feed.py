"""Feeding a query, without Spark: what is given, when, and what a damaged state folder is told."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import narrows
from narrows.connectors.entry_log import Entry
from narrows.connectors.file.source import FileSource
from narrows.demand import NOTHING
from narrows.projection.columns import DecodeProjection
from narrows.schema import BIGINT, Field, Struct
from narrows.spark.streaming.checkpoint import check_markers
from narrows.spark.streaming.feed import Feed
from narrows.worker.read_spec import ReadSpec
from support.fake_checkpoint import FakeQuery
from support.file_log import FileLog


@pytest.fixture
def spec(tmp_path: Path) -> ReadSpec:
    (tmp_path / "in").mkdir()
    return ReadSpec(
        source="s",
        connector="file",
        format="json",
        projection=DecodeProjection(Struct((Field("a", BIGINT),)), NOTHING),
        names=(),
        options={"path": str(tmp_path / "in")},
        entry_log=str(tmp_path / "files" / "p" / "0"),
    )


def _feed(spec: ReadSpec, tmp_path: Path) -> Feed:
    return Feed(spec, tmp_path / "checkpoint")


def _query(spec: ReadSpec, tmp_path: Path) -> FakeQuery:
    return FakeQuery(tmp_path / "checkpoint", Path(str(spec.entry_log)) / "markers")


def _put(tmp_path: Path, number: int) -> None:
    (tmp_path / "in" / f"{number:04d}.json").write_text("{}\n")


def _markers(spec: ReadSpec) -> list[int]:
    return sorted(
        int(path.stem) for path in (Path(str(spec.entry_log)) / "markers").glob("*.marker")
    )


def _read(query: FakeQuery) -> list[int]:
    """Reads everything that waits."""
    read = []
    while (batch := query.begin_batch()) is not None:
        read += query.entries(batch)
        query.commit(batch)
    return read


def test_a_slow_first_batch_loses_nothing(spec: ReadSpec, tmp_path: Path) -> None:
    feed = _feed(spec, tmp_path)
    for number in range(300):
        _put(tmp_path, number)
        feed.keep_ahead()  # nothing has been read yet
    assert _markers(spec) == [0, 1], "one to be read, one that waits; all others come together"
    query = _query(spec, tmp_path)
    assert _read(query) == [0, 1]
    feed.keep_ahead()
    assert _read(query) == [2]
    assert len(FileLog(Path(str(spec.entry_log))).entries(after=-1, upto=2)) == 300


def test_a_marker_stays_until_its_batch_is_committed(spec: ReadSpec, tmp_path: Path) -> None:
    feed, query = _feed(spec, tmp_path), _query(spec, tmp_path)
    for number in range(3):
        _put(tmp_path, number)
        feed.take_all()
    batch = query.begin_batch()
    assert batch == 0
    feed.keep_ahead()
    _feed(spec, tmp_path)  # stopped before the batch ended, and started again
    assert _markers(spec) == [0, 1, 2]
    query.commit(batch)
    feed.keep_ahead()
    assert _markers(spec) == [1, 2]


def test_a_damaged_marker_is_written_again(spec: ReadSpec, tmp_path: Path) -> None:
    feed = _feed(spec, tmp_path)
    for number in range(2):
        _put(tmp_path, number)
        feed.take_all()
    marker = Path(str(spec.entry_log)) / "markers" / "000000000000.marker"
    marker.write_text("")
    _feed(spec, tmp_path)
    assert marker.read_text() == "0 0 1 0\n"
    assert _read(_query(spec, tmp_path)) == [0, 1]


def test_state_that_does_not_fit_is_refused(spec: ReadSpec, tmp_path: Path) -> None:
    feed, query = _feed(spec, tmp_path), _query(spec, tmp_path)
    for number in range(4):
        _put(tmp_path, number)
        feed.take_all()
        _read(query)
        feed.keep_ahead()
    newest = Path(str(spec.entry_log)) / "000000000003-000000000003.entries"
    newest.rename(tmp_path / "newest")
    with pytest.raises(narrows.NarrowsError, match=r"ends at entry 2, but .* come to entry 3"):
        _feed(spec, tmp_path)
    (tmp_path / "newest").rename(newest)
    (tmp_path / "checkpoint" / "commits" / "3").unlink()
    _feed(spec, tmp_path)  # as a crash leaves it: the batch is run again
    assert _markers(spec) == [3]
    (tmp_path / "checkpoint" / "commits" / "2").unlink()
    with pytest.raises(narrows.NarrowsError, match="says whether entry 2 was read"):
        _feed(spec, tmp_path)


def test_a_query_that_passes_over_a_marker_is_stopped(spec: ReadSpec, tmp_path: Path) -> None:
    feed, query = _feed(spec, tmp_path), _query(spec, tmp_path)
    for number in range(2):
        _put(tmp_path, number)
        feed.take_all()
    markers = Path(str(spec.entry_log)) / "markers"
    (markers / "000000000000.marker").unlink()
    batch = query.begin_batch()
    assert batch is not None
    with pytest.raises(narrows.NarrowsError, match="batch 0 reads entry 1 in place of 0"):
        check_markers(tmp_path / "checkpoint", markers, batch)


@pytest.mark.parametrize("damage", ["", "v1\n", "v1\n{}\nnonsense", "v1\n{}\n[]", "\0\1\2"])
def test_a_damaged_checkpoint_is_said_so(spec: ReadSpec, tmp_path: Path, damage: str) -> None:
    feed = _feed(spec, tmp_path)
    _put(tmp_path, 0)
    feed.take_all()
    _read(_query(spec, tmp_path))
    (tmp_path / "checkpoint" / "offsets" / "0").write_text(damage)
    with pytest.raises(narrows.NarrowsError, match="is damaged"):
        _feed(spec, tmp_path)


def test_whoever_asks_for_the_lag_is_in_nobodys_way(spec: ReadSpec, tmp_path: Path) -> None:
    feed = _feed(spec, tmp_path)
    ended, lags = threading.Event(), []

    def look() -> None:
        while not ended.is_set():
            lags.append(feed.intake.lag().units)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for number in range(150):
            _put(tmp_path, number)
            feed.take_all()
    finally:
        ended.set()
        looking.join()
    assert lags
    paths = [file.path for file in FileLog(Path(str(spec.entry_log))).entries(after=-1, upto=149)]
    assert len(paths) == len(set(paths)) == 150
    assert feed.intake.lag().units == 0


def test_a_source_hears_of_what_is_published_at_least_once(
    spec: ReadSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Entry] = []
    monkeypatch.setattr(FileSource, "committed", lambda self, entry: heard.append(entry))
    feed = _feed(spec, tmp_path)
    _put(tmp_path, 0)
    feed.take_all()
    _read(_query(spec, tmp_path))  # and then the process was killed, before anybody was told
    assert heard == []
    again = _feed(spec, tmp_path)
    for _ in range(2):
        again.settle()
    assert [Path(path).name for entry in heard for path, _, _ in entry] == ["0000.json"]
