"""Topics in memory: what one pipeline writes another one reads, row by row, over restarts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.connectors.memory.topic import Topic
from narrows.spark.shared.streams import SharedStreams
from support.waiting import await_that

TIMEOUT = 300
COLUMNS = (
    "k BIGINT, d DECIMAL(9, 2), f DOUBLE, s STRING, x BINARY, at TIMESTAMP, day DATE, ok BOOLEAN,"
    " items ARRAY<STRUCT<x: BIGINT, y: STRING>>, tags MAP<STRING, STRUCT<v: INT>>,"
    " b STRUCT<c: BIGINT, e: STRUCT<g: STRING>>"
)
ROWS: list[dict[str, Any]] = [
    {
        "k": 1,
        "d": 12.5,
        "f": 0.25,
        "s": 'ä\n"',
        "x": "AQI=",
        "at": "2024-05-01T00:00:00.123456Z",
        "day": "2024-05-01",
        "ok": True,
        "items": [{"x": 1, "y": "one"}, None, {"x": None, "y": None}],
        "tags": {"a": {"v": 1}, "b": None},
        "b": {"c": 7, "e": {"g": "deep"}},
    },
    {"k": 2, "items": [], "tags": {}, "b": {"e": None}},
    {"k": 3},
]
WHOLE = "SELECT k, d, f, s, x, at, day, ok, items, tags, b FROM"
PARTS = (
    "SELECT k + 1 AS k, items[0]->y AS y, size(items) AS n, tags['a']->v AS v, b->e->g AS g FROM"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


def _put(folder: Path, rows: list[dict[str, Any]]) -> None:
    number = len(list((folder / "in").iterdir()))
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "in" / f"{number}.json").write_text(text, "utf-8")


def _connect(spark: SparkSession, folder: Path) -> narrows.Session:
    """Each query over files, and over a topic that a pipeline of the files fills."""
    session = narrows.connect(spark, state=folder / "state")
    session.execute(
        f"""
        CREATE STREAM files ({COLUMNS}) WITH (connector = 'file', path = '{folder}/in');
        CREATE SINK written WITH (connector = 'memory', topic = 'all of it');
        CREATE SINK seen WITH (connector = 'memory');
        CREATE PIPELINE fill INTO written, seen AS {WHOLE} files WHERE k > 0;
        CREATE STREAM topic ({COLUMNS}) WITH (connector = 'memory', topic = 'all of it');
        CREATE STREAM some (b STRUCT<c: BIGINT, e: STRUCT<g: STRING>>, K BIGINT)
          WITH (connector = 'memory', topic = 'all of it', shared = true, start_at = 'earliest');
        """
    )
    queries = {"whole": f"{WHOLE} topic", "parts": f"{PARTS} topic", "shared": "SELECT * FROM some"}
    for name, query in queries.items():
        session.execute(
            f"CREATE SINK {name}_out WITH (connector = 'memory');"
            f"CREATE PIPELINE {name} INTO {name}_out AS {query}"
        )
    return session


def _run(session: narrows.Session, *pipelines: str) -> None:
    run = session.start(*pipelines, once=True).await_done(timeout=TIMEOUT)
    assert [pipeline.error for pipeline in run.pipelines] == [None] * len(pipelines)


def _rows(session: narrows.Session, sink: str) -> list[dict[str, Any]]:
    return sorted(session.rows(sink), key=lambda row: int(row.get("k") or row.get("K") or 0))


def test_rows_reach_the_other_pipelines_as_they_are(spark: SparkSession, folder: Path) -> None:
    for rows in (ROWS[:2], ROWS[2:]):
        _put(folder, rows)
        with _connect(spark, folder) as session:
            _run(session, "fill")
    with _connect(spark, folder) as session:
        _run(session, "whole", "parts", "shared")
        assert _rows(session, "whole_out") == _rows(session, "seen")
        assert len(_rows(session, "seen")) == len(ROWS)
        assert _rows(session, "parts_out") == [
            {"k": 2, "y": "one", "n": 3, "v": 1, "g": "deep"},
            {"k": 3, "y": None, "n": 0, "v": None, "g": None},
            {"k": 4, "y": None, "n": -1, "v": None, "g": None},
        ]
        assert [(row["K"], row["b"] and row["b"]["c"]) for row in _rows(session, "shared_out")] == [
            (1, 7),
            (2, None),
            (3, None),
        ]
        # All have read everything, so nothing is kept.
        assert session.query("SELECT k FROM topic").collect() == []
        assert list((folder / "state").rglob("*.topic/rows/*")) == []
        with pytest.raises(narrows.NarrowsError, match="are for streams"):
            session.rows("written")


def test_who_starts_last_finds_what_the_first_has_read(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pipelines that are started together read what is there when the first of them begins."""
    start = SharedStreams.start

    def start_and_read(streams: SharedStreams, *args: Any, **options: Any) -> None:
        start(streams, *args, **options)
        topic = Topic(str(folder / "state" / "received" / "memory"), "all of it")
        batches = topic.kept().stop
        await_that(
            lambda: batches in topic.consumers.positions().values(), "the stream has read it"
        )
        topic.retain()

    _put(folder, ROWS)
    with _connect(spark, folder) as session:
        _run(session, "fill")
        monkeypatch.setattr(SharedStreams, "start", start_and_read)
        _run(session, "shared", "whole")
        assert len(_rows(session, "shared_out")) == len(ROWS)
        assert _rows(session, "whole_out") == _rows(session, "seen")


def test_pipelines_that_run_together(spark: SparkSession, folder: Path) -> None:
    """While both run, rows of one come out of the other; who begins late finds what is kept."""
    with _connect(spark, folder) as session:
        run = session.start("fill", "parts", trigger="200 ms")
        for number in range(3):
            _put(folder, [{"k": 10 * number + 1}, {"k": 0}])
            await_that(
                lambda: len(session.rows("parts_out")) == number + 1,  # noqa: B023
                "the row has come through",
            )
        run.stop()
        assert [row["k"] for row in _rows(session, "parts_out")] == [2, 12, 22]
