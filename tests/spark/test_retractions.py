"""Pipelines that take back what they have written of a group: what is left is what a query over all
rows answers, after each run and over restarts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

import narrows

SITES = (
    "SELECT k, count(*) AS n, sum(a) AS total, avg(x) AS mean, max(at) AS last FROM s GROUP BY k"
)
FEW = "SELECT upper(k) AS k, sum(a) AS total FROM s WHERE a <> 3 GROUP BY k HAVING sum(a) % 2 = 0"
ALL = "SELECT count(*) AS n, min(x) AS low FROM s"
QUERIES = {"sites": SITES, "few": FEW, "all_rows": ALL}


def _connect(spark: SparkSession, folder: Path) -> narrows.Session:
    session = narrows.connect(spark, state=folder / "state")
    session.execute(
        "CREATE STREAM s (k STRING, a BIGINT, x DOUBLE, at TIMESTAMP)"
        f" WITH (connector = 'file', path = '{folder}/in', max_files_per_trigger = 1)"
    )
    for name, query in QUERIES.items():
        session.execute(
            f"CREATE SINK {name}_out WITH (connector = 'file', path = '{folder}/{name}',"
            f" mode = 'retract'); CREATE PIPELINE {name} INTO {name}_out AS {query}"
        )
    return session


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """What is written, micro-batch by micro-batch."""
    files = sorted((folder / name).glob("[!.]*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_what_is_left_is_what_the_query_answers(spark: SparkSession, tmp_path: Path) -> None:
    random = Random(3)
    (tmp_path / "in").mkdir()
    for run in range(2):
        for number in range(3):
            rows = [
                {
                    "k": random.choice(["a", "b", None]),
                    "a": random.choice([1, 2, 3, None]),
                    "x": random.choice([0.1, 0.7, -2.5]),
                    "at": f"2026-01-0{random.randint(1, 9)}T00:00:00.000Z",
                }
                for _ in range(6)
            ]
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (tmp_path / "in" / f"{run}{number}.json").write_text(text, "utf-8")
        with _connect(spark, tmp_path) as session:
            session.start(*QUERIES, once=True).await_done(timeout=300)
            for name, query in QUERIES.items():
                answer = Counter(
                    json.dumps(row.asDict(), default=lambda at: at.strftime("%Y-%m-%dT%H:%M:%S"))
                    for row in session.query(query).collect()
                )
                left: Counter[str] = Counter()
                for row in _rows(tmp_path, name):
                    operation = row.pop("op")
                    if "last" in row:
                        row["last"] = row["last"].removesuffix("Z").removesuffix(".000")
                    shown = json.dumps(row)
                    left[shown] += 1 if operation == "insert" else -1
                    assert left[shown] in (0, 1), "no row is taken back that was not there"
                assert +left == answer
    changed = [row["op"] for row in _rows(tmp_path, "all_rows")]
    assert changed == ["insert", *["retract", "insert"] * 5]
