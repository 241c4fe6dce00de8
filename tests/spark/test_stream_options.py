"""Streams of which not everything is read, or not at once: samples, recordings; and rows
that are sorted batch by batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import narrows
from support.waiting import await_that

TIMEOUT = 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


def _put(folder: Path, values: Sequence[int]) -> None:
    number = len(list((folder / "in").iterdir()))
    lines = [json.dumps({"a": value, "b": {"c": value // 10, "d": "x"}}) for value in values]
    (folder / "in" / f"{number}.json").write_text("\n".join(lines) + "\n", "utf-8")


def _connect(spark: SparkSession, folder: Path, *streams: tuple[str, str]) -> narrows.Session:
    session = narrows.connect(spark, state=folder / "state")
    for name, options in streams:
        session.execute(
            f"""
            CREATE STREAM {name} (a BIGINT, b STRUCT<c: BIGINT, d: STRING>)
              WITH (connector = 'file', path = '{folder}/in', {options});
            CREATE SINK {name}_out WITH (connector = 'memory');
            CREATE PIPELINE {name}_p INTO {name}_out AS SELECT a, b->c * 2 AS twice FROM {name};
            """
        )
    return session


def test_samples_of_a_stream_and_of_a_shared_one(spark: SparkSession, folder: Path) -> None:
    sample = "sample = 'latest every 1 ms'"
    streams = ("s", sample), ("shared", f"{sample}, shared = true, start_at = 'earliest'")
    for values, pipelines in (([10, 11, 12], ["s_p"]), ([20, 21], ["s_p", "shared_p"])):
        _put(folder, values)
        with _connect(spark, folder, *streams) as session:
            run = session.start(*pipelines, once=True).await_done(timeout=TIMEOUT)
            assert [pipeline.error for pipeline in run.pipelines] == [None] * len(pipelines)
            found = {name: session.rows(f"{name}_out") for name, _ in streams}
            assert [row.a for row in session.query("SELECT a FROM s").collect()] == values[-1:]
    first, second = {"a": 12, "twice": 2}, {"a": 21, "twice": 4}
    assert sorted(found["s"], key=lambda row: row["a"]) == [first, second]
    assert found["shared"] == [second]


def test_a_recording_comes_by_its_times_and_goes_on_where_it_was(
    spark: SparkSession, folder: Path
) -> None:
    """Two rows a century apart: while a pipeline runs the second does not come."""
    _put(folder, [1_000, 1_001, 4_000_000_000_000])
    _put(folder, [1_001, 5_000_000_000_000])
    stream = "drive", "replay = 'a', speed = 0.5"
    with _connect(spark, folder, stream) as session:
        run = session.start("drive_p", trigger="200 ms")
        await_that(lambda: len(session.rows("drive_out")) == 3, "what is due has come")
        run.stop()
        assert [pipeline.error for pipeline in run.pipelines] == [None]
    with _connect(spark, folder, stream) as session:
        run = session.start("drive_p", trigger="200 ms")
        await_that(lambda: run.pipelines[0].status == "running", "it runs")
        run.stop()
        assert len(session.rows("drive_out")) == 3
        session.start("drive_p", once=True).await_done(timeout=TIMEOUT)
        rows = sorted(row["a"] for row in session.rows("drive_out"))
        assert rows == [1_000, 1_001, 1_001, 4_000_000_000_000, 5_000_000_000_000]


@pytest.mark.parametrize("shared", ["false", "true"])
def test_a_batch_is_sorted_by_itself(spark: SparkSession, folder: Path, shared: str) -> None:
    stream = "s", f"shared = {shared}, max_files_per_trigger = 2"
    if shared == "true":
        stream = "s", f"{stream[1]}, start_at = 'earliest'"
    for values in ([5, 12, 31], [7, 29], [6, 1, 8]):
        _put(folder, values)
    queries = {
        "by_value": "SELECT a, b->d AS d FROM s ORDER BY b->c DESC, a PER BATCH",
        "counted": "SELECT b->c AS c, count(*) AS n FROM s GROUP BY 1 ORDER BY n DESC, c PER BATCH",
    }
    with _connect(spark, folder, stream) as session:
        for name, query in queries.items():
            session.execute(
                f"CREATE SINK {name} WITH (connector = 'file', path = '{folder}/{name}');"
                f"CREATE PIPELINE {name}_p INTO {name} AS {query}"
            )
        names = [f"{name}_p" for name in queries]
        run = session.start(*names, once=True).await_done(timeout=TIMEOUT)
        assert [pipeline.error for pipeline in run.pipelines] == [None, None]
        rows = session.query("SELECT a FROM s ORDER BY a PER BATCH").collect()
        assert [row.a for row in rows] == [1, 5, 6, 7, 8, 12, 29, 31]
    by_value = _batches(folder / "by_value")
    assert all(b == sorted(b, key=lambda row: (-(row["a"] // 10), row["a"])) for b in by_value)
    assert sorted(row["a"] for b in by_value for row in b) == [1, 5, 6, 7, 8, 12, 29, 31]
    counted = _batches(folder / "counted")
    assert all(b == sorted(b, key=lambda row: (-row["n"], row["c"])) for b in counted)
    last = {row["c"]: row["n"] for b in counted for row in b}
    assert last == {0: 5, 1: 1, 2: 1, 3: 1}
    if shared == "false":  # else pipelines may take two entries at once
        assert [len(b) for b in by_value] == [5, 3]
        assert [len(b) for b in counted] == [4, 1]


def _batches(folder: Path) -> list[list[dict[str, Any]]]:
    """The rows of each batch: one task has written all of them."""
    files = sorted(folder.glob("*.json"))
    assert all(file.stem.endswith("-00000") for file in files)
    return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]
