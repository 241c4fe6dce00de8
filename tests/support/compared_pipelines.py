"""Runs random pipelines on Spark, pruned and unpruned: they must give the same."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import NamedTuple

from pyspark.sql import SparkSession

import narrows
from support.random_pipelines import declarations, make_pipelines, make_rows

TIMEOUT = 300


class Compared(NamedTuple):
    same: int
    refused: int
    """When they are compiled: rows of a join have no order, say."""


def compare(spark: SparkSession, folder: Path, seed: int, count: int, *, run: int = 0) -> Compared:
    """Compares so many queries; of those that can be run, the first few also as pipelines."""
    random = Random(seed)
    for name, rows in make_rows(random).items():
        (folder / name).mkdir(parents=True)
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / name / "rows.json").write_text(lines, "utf-8")
    with _session(spark, folder, True) as pruned, _session(spark, folder, False) as unpruned:
        made = make_pipelines(random, pruned.catalog, count).pipelines
        same: list[str] = []
        for sql in made:
            try:
                answers = [_answer(session, sql) for session in (pruned, unpruned)]
            except Exception as error:
                error.add_note(f"seed {seed}: {sql}")
                raise
            assert answers[0] == answers[1], f"seed {seed}: {sql}"
            if answers[0] is not None:
                same.append(sql)
        for number, sql in enumerate(same[:run]):
            pruned.execute(
                f"CREATE SINK out{number} WITH (connector = 'memory');"
                f"CREATE PIPELINE p{number} INTO out{number} AS {sql}"
            )
        names = [f"p{number}" for number in range(min(run, len(same)))]
        if names:
            pruned.start(*names, once=True).await_done(timeout=TIMEOUT)
        for number, sql in enumerate(same[:run]):
            written = sorted(json.dumps(row, sort_keys=True) for row in pruned.rows(f"out{number}"))
            assert len(written) == len(_answer(pruned, sql) or []), f"seed {seed}: {sql}"
    return Compared(len(same), len(made) - len(same))


def _session(spark: SparkSession, folder: Path, pruning: bool) -> narrows.Session:
    state = folder / ("pruned" if pruning else "unpruned")
    session = narrows.connect(spark, state=state, pruning=pruning)
    session.execute(declarations(str(folder)))
    return session


def _answer(session: narrows.Session, sql: str) -> list[str] | None:
    """The rows; None where it is refused."""
    try:
        return sorted(repr(tuple(row)) for row in session.query(sql).collect())
    except narrows.NarrowsError as error:
        if error.code != "not_supported":
            raise
        return None
