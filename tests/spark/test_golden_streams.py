"""Golden streams on Spark; `support/golden_streams.py` says how they are written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.spark.run.pipeline_run import PipelineRun
from narrows.spark.write.json_lines import json_lines
from support.golden import REWRITE
from support.golden_streams import Case, GoldenStream, as_lines, golden_streams, read_stream

AT_ONCE = 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


def _connect(spark: SparkSession, golden: GoldenStream, folder: Path) -> narrows.Session:
    session = narrows.connect(spark, state=folder / "state")
    session.execute(
        f"CREATE STREAM s ({golden.columns}) WITH"
        f" (connector = 'file', path = '{folder}/in', max_files_per_trigger = 1, {golden.options})"
    )
    for case in golden.cases:
        if case.streams:
            session.execute(
                f"CREATE SINK {case.name}_out WITH (connector = 'memory');"
                f"CREATE PIPELINE {case.name} INTO {case.name}_out AS {case.sql}"
            )
    return session


def _run(
    session: narrows.Session, golden: GoldenStream, *, close_windows: bool
) -> Iterator[PipelineRun]:
    """Runs the pipelines, some at a time: on a few rows they mostly wait, each for itself."""
    names = [case.name for case in golden.cases if case.streams]
    for first in range(0, len(names), AT_ONCE):
        together = names[first : first + AT_ONCE]
        run = session.start(*together, once=True, close_windows=close_windows)
        yield from run.await_done(timeout=300).pipelines


def _queried(session: narrows.Session, case: Case) -> list[str]:
    lines = json_lines(session.query(case.sql), session.timezone)
    return as_lines([json.loads(line) for line in lines])


def _streamed(session: narrows.Session, case: Case) -> list[str]:
    return as_lines(session.rows(f"{case.name}_out"))


@pytest.mark.parametrize("path", golden_streams(), ids=lambda path: path.stem)
def test_stream(small_data: SparkSession, path: Path, folder: Path) -> None:
    golden = read_stream(path)
    late = dict.fromkeys((case.name for case in golden.cases), 0)
    first, *rest = golden.files
    (folder / "in" / "0.json").write_text(first, "utf-8")
    if any(case.streams for case in golden.cases):
        with _connect(small_data, golden, folder) as session:
            for pipeline in _run(session, golden, close_windows=False):
                late[pipeline.name] += pipeline.late_rows
    for number, text in enumerate(rest, start=1):
        (folder / "in" / f"{number}.json").write_text(text, "utf-8")
    with _connect(small_data, golden, folder) as session:
        if any(case.streams for case in golden.cases):
            for pipeline in _run(session, golden, close_windows=True):
                late[pipeline.name] += pipeline.late_rows
        got = {
            case.name: _queried(session, case) if case.late is None else _streamed(session, case)
            for case in golden.cases
        }
        if REWRITE:
            path.write_text(golden.rewritten(got), "utf-8")
        for case in golden.cases:
            assert REWRITE or got[case.name] == case.rows, case.sql
            assert late[case.name] == (case.late or 0), case.sql
            if case.streams:
                assert _streamed(session, case) == got[case.name], case.sql
