"""A source that is away for a while ends no run: of a feed, and by itself."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest

from narrows.connectors import Entry, Share, SourceUnavailableError
from narrows.demand import NOTHING
from narrows.plugins.registry import CONNECTORS
from narrows.projection.columns import DecodeProjection
from narrows.schema import BIGINT, Field, Struct
from narrows.shared.log import SharedEntry, SharedLog
from narrows.shared.registry import ConsumerRegistry
from narrows.spark.running.failures import Attempts
from narrows.spark.running.patience import Patience
from narrows.spark.shared.ingest import Ingest
from narrows.spark.streaming.feed import Feed
from narrows.worker.read_spec import ReadSpec
from support import toy_connector
from support.fake_checkpoint import FakeQuery
from support.toy_connector import SqliteSource


class Away(SqliteSource):
    """A toy source whose broker can be switched off."""

    asks = "nothing"
    raises: Exception = SourceUnavailableError("the broker is away")
    heard: ClassVar[list[Entry]] = []

    def available(self) -> int:
        self._unless("available")
        return super().available()

    def split(self, entry: Entry, tasks: int) -> list[Share]:
        self._unless("split")
        return super().split(entry, tasks)

    def committed(self, entry: Entry) -> None:
        self._unless("committed")
        self.heard.append(entry)

    def _unless(self, what: str) -> None:
        if self.asks == what:
            raise self.raises


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReadSpec:
    monkeypatch.setattr(Away, "heard", [])
    monkeypatch.setattr(Away, "asks", "nothing")
    away = toy_connector.CONNECTOR.__class__(
        **{**vars(toy_connector.CONNECTOR), "name": "away", "source": Away}
    )
    found = CONNECTORS.find
    monkeypatch.setattr(
        type(CONNECTORS), "find", lambda self, name: away if name == "away" else found(name)
    )
    return ReadSpec(
        source="s",
        connector="away",
        format="json",
        projection=DecodeProjection(Struct((Field("a", BIGINT),)), NOTHING),
        names=(),
        options={"path": str(tmp_path / "in.db")},
        entry_log=str(tmp_path / "entries"),
    )


def _insert(spec: ReadSpec) -> None:
    with closing(sqlite3.connect(str(spec.options["path"]))) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS payloads (id INTEGER PRIMARY KEY, payload)")
        database.execute("INSERT INTO payloads (payload) VALUES ('{}')")


def _markers(spec: ReadSpec) -> list[int]:
    return sorted(int(p.stem) for p in (Path(str(spec.entry_log)) / "markers").glob("*.marker"))


def _patient(spec: ReadSpec, tmp_path: Path) -> Feed:
    feed = Feed(spec, tmp_path / "checkpoint")
    feed.intake._patience = Patience("s", Attempts("always", None, first_pause=0.0))
    return feed


@pytest.mark.parametrize("asked", ["available", "split"])
def test_a_feed_waits_for_its_source(
    spec: ReadSpec, tmp_path: Path, caplog: pytest.LogCaptureFixture, asked: str
) -> None:
    feed = _patient(spec, tmp_path)
    _insert(spec)
    Away.asks = asked
    for _ in range(50):
        feed.keep_ahead()
    assert str(feed.intake.problem) == "the broker is away (source_unavailable)"
    assert _markers(spec) == []
    assert len(caplog.records) == 1, "it is said once"
    Away.asks = "nothing"
    feed.keep_ahead()
    assert not feed.intake.problem
    assert _markers(spec) == [0]
    _insert(spec)
    feed.keep_ahead()
    assert _markers(spec) == [0, 1], "what was taken before the source went is not passed over"


def test_every_other_error_is_for_whoever_restarts_it(
    spec: ReadSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = _patient(spec, tmp_path)
    monkeypatch.setattr(Away, "raises", ValueError("no such topic"))
    Away.asks = "available"
    with pytest.raises(ValueError, match="no such topic"):
        feed.keep_ahead()


def test_a_source_that_cannot_be_told_is_told_later(
    spec: ReadSpec,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    feed = _patient(spec, tmp_path)
    query = FakeQuery(tmp_path / "checkpoint", Path(str(spec.entry_log)) / "markers")
    monkeypatch.setattr(Away, "raises", OSError("no route to host"))
    Away.asks = "committed"
    for number in range(4):
        if number == 3:
            Away.asks = "nothing"
        _insert(spec)
        feed.keep_ahead()
        batch = query.begin_batch()
        assert batch == number
        query.commit(batch)
        feed.settle()
    assert Away.heard == [{"after": 3, "upto": 4}]
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert ["no route to host" in record.getMessage() for record in warnings] == [True]


def test_who_looks_at_the_lag_asks_no_source(spec: ReadSpec, tmp_path: Path) -> None:
    feed = _patient(spec, tmp_path)
    assert feed.intake.lag().payloads is None, "nobody knows yet"
    _insert(spec)
    feed.take_all()
    Away.asks = "available"
    assert feed.intake.lag().payloads == 0


def test_pauses_between_questions_grow() -> None:
    now, asked = 0.0, []

    def question() -> None:
        asked.append(now)
        raise SourceUnavailableError("away")

    patience = Patience("s", Attempts("always", None, 1.0, 8.0, clock=lambda: now))
    while now < 40:
        assert patience.ask(question) is None
        now += 0.5
    assert asked == [0, 1, 3, 7, 15, 23, 31, 39]
    assert patience.ask(lambda: 7) is None, "not yet"
    now += 10
    assert patience.ask(lambda: 7) == 7
    assert patience.problem is None


class NoSpark:
    """What an ingest needs of Spark when somebody else decodes."""

    def newSession(self) -> NoSpark:  # noqa: N802
        return self

    def interruptAll(self) -> None:  # noqa: N802
        pass


def _await(condition: Callable[[], object]) -> None:
    deadline, pause = time.monotonic() + 60, threading.Event()
    while not condition():
        assert time.monotonic() < deadline
        pause.wait(0.01)


def test_an_ingest_waits_for_its_source(
    spec: ReadSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, ended = tmp_path / "shared", threading.Event()
    spark: Any = NoSpark()
    ConsumerRegistry(folder).register({"p": NOTHING})
    ingest = Ingest(spark, spec, folder, on_end=ended.set)
    ingest._patience = Patience("s", Attempts("always", None, first_pause=0.0))

    def decode(number: int) -> None:
        SharedLog(folder).publish(SharedEntry(number, 1, NOTHING, ()))
        ingest._tell(ingest._log.entry(number))

    monkeypatch.setattr(ingest, "_decode", decode)
    _insert(spec)
    Away.asks = "available"
    ingest.start(0.01)
    _await(lambda: ingest.problem)
    assert ingest.isActive
    assert SharedLog(folder).last() == -1
    Away.asks = "nothing"
    _await(lambda: SharedLog(folder).last() == 0)
    assert ingest.problem is None
    Away.asks = "committed"
    _insert(spec)
    _await(lambda: SharedLog(folder).last() == 1)
    assert ingest.isActive, "not being heard stops nobody"
    monkeypatch.setattr(Away, "raises", ValueError("no such topic"))
    Away.asks = "available"
    assert ended.wait(60)
    _await(lambda: not ingest.isActive)
    assert str(ingest.exception()) == "no such topic"
    ingest.stop()
