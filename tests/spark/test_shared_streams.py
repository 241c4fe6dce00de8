"""Shared streams: one decode for whoever is running, and nobody notices the others."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import narrows

SCHEMA = (
    "a BIGINT, c STRING, d DOUBLE, b STRUCT<k: BIGINT, items: ARRAY<STRUCT<x: BIGINT, y: STRING>>>"
)
FAST = "100 milliseconds"


def document(i: int) -> dict[str, Any]:
    items = [{"x": i * 10 + k, "y": f"y{k}"} for k in range(i % 5)]
    return {"a": i, "c": f"c{i}", "d": i / 2, "b": {"k": -i, "items": items} if i % 7 else None}


class Bench:
    """A shared stream in a folder of its own, and pipelines that write to files."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        (folder / "in").mkdir()
        self.session = self.connect()
        self.written = 0

    def connect(self, options: str = "") -> narrows.Session:
        session = narrows.connect(self.spark, state=self.folder / "state")
        session.execute(
            f"CREATE STREAM s ({SCHEMA}) WITH (connector = 'file', path = '{self.folder}/in',"
            f" shared = true{options})"
        )
        return session

    def pipeline(self, name: str, sql: str) -> str:
        self.session.execute(
            f"CREATE SINK {name}_out WITH (connector = 'file', path = '{self.folder}/{name}');"
            f"CREATE PIPELINE {name} INTO {name}_out AS {sql};"
        )
        return name

    def put(self, count: int) -> None:
        """One more file with so many documents."""
        rows = range(self.written, self.written + count)
        lines = "".join(json.dumps(document(i)) + "\n" for i in rows)
        hidden = self.folder / "in" / f".{self.written:09d}.json"
        hidden.write_text(lines, "utf-8")
        hidden.rename(hidden.with_name(hidden.name[1:]))
        self.written += count

    def output(self, name: str) -> list[dict[str, Any]]:
        files = sorted((self.folder / name).glob("[!.]*.json"))
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return sorted(rows, key=json.dumps)

    def once(self, *names: str, **options: Any) -> narrows.Run:
        return self.session.start(*names, once=True, **options).await_done(timeout=120)


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(spark, tmp_path)
    yield made
    made.session.close()


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    pause, deadline = threading.Event(), time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        pause.wait(0.05)


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=json.dumps)


def test_two_pipelines_with_disjoint_columns(bench: Bench) -> None:
    bench.pipeline("p", "SELECT a FROM s")
    bench.pipeline("q", "SELECT c, b->items[1]->y AS y FROM s WHERE d < 10")
    bench.put(30)
    run = bench.once("p", "q")
    assert bench.output("p") == ordered([{"a": i} for i in range(30)])
    documents = [document(i) for i in range(20)]
    ys = [(d["b"] or {"items": []})["items"][1:2] for d in documents]
    expected = [
        {"c": d["c"], "y": y[0]["y"] if y else None} for d, y in zip(documents, ys, strict=True)
    ]
    assert bench.output("q") == ordered(expected)
    counts = run.progress["p"]["shared"]["s"]
    assert (counts["payloads"], counts["rows_decoded"], counts["lag"]) == (30, 30, 0)
