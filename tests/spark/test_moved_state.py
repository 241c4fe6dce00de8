"""A state folder that is moved goes on elsewhere; one that is removed under a pipeline says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows

SELECTS = {
    "p": "SELECT a FROM s",
    "j": "SELECT s.a FROM s JOIN t ON t.a = 0",
    "l": "SELECT a FROM s",
    "w": "SELECT max(a) AS a FROM e GROUP BY tumblingwindow('ss', 1)",
    "c": "SELECT max(a) AS a FROM e GROUP BY countwindow(1)",
    "u": "SELECT a, lag(a) OVER () AS b FROM s",
}


def _connect(spark: SparkSession, folder: Path, state: str) -> narrows.Session:
    session = narrows.connect(spark, state=folder / state)
    files = "connector = 'file', path"
    session.execute(
        f"""
        CREATE TABLE t (a BIGINT) WITH ({files} = '{folder}/in/0.json');
        CREATE STREAM s (a BIGINT) WITH ({files} = '{folder}/in');
        CREATE STREAM e (a BIGINT) WITH ({files} = '{folder}/in',
          eventtime = 'a', eventtime_unit = 's');
        CREATE SINK out WITH ({files} = '{folder}/out');
        """
    )
    for name, select in SELECTS.items():
        options = "WITH (latency = 'low')" if name == "l" else ""
        session.execute(f"CREATE PIPELINE {name} INTO out {options} AS {select}")
    return session


def _put(folder: Path, number: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{number}.json").write_text(json.dumps({"a": number}) + "\n")


def _output(folder: Path) -> list[int]:
    files = (folder / "out").glob("[!.]*.json")
    return sorted(json.loads(line)["a"] for f in files for line in f.read_text().splitlines())


@pytest.mark.parametrize(
    ("pipeline", "in_flight"), [("j", True), *((name, False) for name in SELECTS)]
)
def test_a_moved_state_folder_goes_on(
    pipeline: str, in_flight: bool, small_data: SparkSession, tmp_path: Path
) -> None:
    for number, state in enumerate(["state", "é [of] {all}", "100% other"]):
        _put(tmp_path, number)
        with _connect(small_data, tmp_path, state) as session:
            session.start(pipeline, once=True, close_windows=False).await_done(timeout=180)
        if in_flight:
            commits = tmp_path / state / "checkpoints" / pipeline / "commits"
            for name in (str(number), f".{number}.crc"):
                (commits / name).unlink(missing_ok=True)
        (tmp_path / state).rename(tmp_path / ["é [of] {all}", "100% other", "last"][number])
    _put(tmp_path, 3)
    with _connect(small_data, tmp_path, "last") as session:
        session.start(pipeline, once=True).await_done(timeout=180)
    assert _output(tmp_path) == [0, 1, 2, 3]


@pytest.mark.parametrize("pipeline", ["p", "l"])
def test_a_state_folder_that_is_removed_is_said_in_one_line(
    pipeline: str, small_data: SparkSession, tmp_path: Path
) -> None:
    _put(tmp_path, 0)
    with _connect(small_data, tmp_path, "state") as session:
        run = session.start(pipeline, trigger="100 milliseconds")
        (tmp_path / "state").rename(tmp_path / "elsewhere")
        with pytest.raises(narrows.NarrowsError, match="is gone: somebody has removed or moved"):
            run.await_done(timeout=120)
