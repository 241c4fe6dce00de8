"""Runs random pipelines on Spark in several ways: all of them must give the same rows.

    a query, pruned            what the others are compared with
    a query, unpruned          every column is decoded
    Spark's own SQL            over tables of the same rows, where that can be said
    pipelines                  in two runs, each of which has its share of the files

Pipelines run pruned, unpruned and over shared streams, in turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from pyspark.sql import Row, SparkSession

import narrows
from support.pipeline_writer import STREAMS
from support.random_pipelines import SCHEMA, Pipeline, declarations, make_pipelines, make_rows
from support.random_pipelines import plain_views as views_in_sparks_words

TIMEOUT = 300
_DISORDER = "3 seconds"
"""How much later than the newest row a row may come, in what `make_rows` makes."""
_WAYS = ("pruned", "unpruned", "shared")
_TOLD = 4_000
Rows = list[str]


class Compared(NamedTuple):
    same: int
    refused: int
    """When they are compiled: rows of a join have no order, say."""
    plain: int
    """How many were also compared with Spark's own SQL."""


def compare(spark: SparkSession, folder: Path, seed: int, count: int, *, run: int = 0) -> Compared:
    """Compares so many queries; of those that can be run, the first few also as pipelines."""
    random = Random(seed)
    _write(folder, make_rows(random), random)
    watermark = random.choice(["1 hour", _DISORDER])
    with ExitStack() as stack:
        sessions = {
            way: stack.enter_context(_session(spark, folder, way, watermark)) for way in _WAYS
        }
        made = make_pipelines(random, sessions["pruned"].catalog, count).pipelines
        whole: list[tuple[Pipeline, Rows]] = []
        names = [f"p{number}" for number in range(run)]
        running: list[Pipeline] = []
        for pipeline in made:
            # Pairs of rows may be late where the watermark follows closely.
            late = watermark == _DISORDER and pipeline.joins_streams
            comparable = not late and not pipeline.waits
            if len(running) < run and comparable and _can_run(sessions["pruned"], pipeline):
                running.append(pipeline)
        way = _WAYS[seed % len(_WAYS)]
        names = names[: len(running)]
        _run(sessions[way], names, running, close=False)
        for name in STREAMS:
            for path in (folder / f"{name}-later").glob("*"):
                path.rename(folder / name / path.name)
        plain = _plain_views(spark, folder)
        for pipeline in made:
            note = f"seed {seed}: {pipeline.sql}"
            try:
                answer = _answer(sessions["pruned"], pipeline.sql)
                if answer is None:
                    continue
                whole.append((pipeline, answer))
                assert _answer(sessions["unpruned"], pipeline.sql) == answer
                if pipeline.plain is not None:
                    note += f"\nin Spark's words: {pipeline.plain}"
                    assert _sorted(spark.sql(pipeline.plain).collect()) == answer
            except Exception as error:
                error.add_note(note)
                raise
        for view in plain:
            spark.catalog.dropTempView(view)
        _run(sessions[way], names, (), close=True)
        answers = {pipeline.sql: answer for pipeline, answer in whole}
        for name, pipeline in zip(names, running, strict=True):
            written = _sorted(sessions[way].rows(f"out_{name}"))
            assert written == answers[pipeline.sql], f"seed {seed}, {way}: {pipeline.sql}"
    compared = sum(pipeline.plain is not None for pipeline, _ in whole)
    return Compared(len(whole), len(made) - len(whole), compared)


# --- files ----------------------------------------------------------------------------------------


def _write(folder: Path, rows: dict[str, list[dict[str, Any]]], random: Random) -> None:
    """Files of each source; those of streams that are to come later wait in another folder."""
    for name, of_source in rows.items():
        now = random.randint(0, len(of_source)) if name in STREAMS else len(of_source)
        cut = random.randint(0, now)
        parts = [(name, of_source[:cut]), (name, of_source[cut:now])]
        parts.append((f"{name}-later", of_source[now:]))
        for number, (place, part) in enumerate(parts):
            (folder / place).mkdir(parents=True, exist_ok=True)
            if part:
                lines = "".join(f"{json.dumps(row)}\n" for row in part)
                (folder / place / f"{number}.json").write_text(lines, "utf-8")


def _session(spark: SparkSession, folder: Path, way: str, watermark: str) -> narrows.Session:
    session = narrows.connect(spark, state=folder / way, pruning=way != "unpruned")
    session.execute(declarations(str(folder), watermark=watermark, shared=way == "shared"))
    return session


def _plain_views(spark: SparkSession, folder: Path) -> list[str]:
    views = views_in_sparks_words()
    for name, text in views.items():
        rows = spark.read.schema(SCHEMA).json(str(folder / name))
        rows.createOrReplaceTempView(f"{name}_rows")
        spark.sql(text).createOrReplaceTempView(name)
    return [*views, *(f"{name}_rows" for name in views)]


# --- rows -----------------------------------------------------------------------------------------


def _can_run(session: narrows.Session, pipeline: Pipeline) -> bool:
    return _answer(session, pipeline.sql) is not None


def _run(
    session: narrows.Session, names: Sequence[str], begin: Iterable[Pipeline], *, close: bool
) -> None:
    for name, pipeline in zip(names, begin, strict=False):
        session.execute(
            f"CREATE SINK out_{name} WITH (connector = 'memory');"
            f"CREATE PIPELINE {name} INTO out_{name} AS {pipeline.sql}"
        )
    if names:
        try:
            session.start(*names, once=True, close_windows=close).await_done(timeout=TIMEOUT)
        except Exception as error:
            for path in session.state.path.glob("failures/*"):
                error.add_note(path.read_text("utf-8")[:_TOLD])
            raise


def _answer(session: narrows.Session, sql: str) -> Rows | None:
    """The rows; None where it is refused."""
    try:
        return _sorted(session.query(sql).collect())
    except narrows.NarrowsError as error:
        if error.code != "not_supported":
            raise
        return None


def _sorted(rows: Iterable[Row | dict[str, Any]]) -> Rows:
    return sorted(repr(_plain(row)) for row in rows)


def _plain(value: object) -> object:
    """A value as it is whichever way it has come: names of columns stay, those of fields do not."""
    match value:
        case Row():
            return [_plain(each) for each in value]
        case dict():
            return [_plain(each) for each in value.values()]
        case list():
            return [_plain(each) for each in value]
        case datetime():
            return value.astimezone(UTC).isoformat()
        case str() if value[:2] == "20" and value[4:5] == "-":
            return datetime.fromisoformat(value).astimezone(UTC).isoformat()
        case _:
            return value
