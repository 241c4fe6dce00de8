"""Pipelines of low latency on Spark: tasks that last, what kills them, and how they come and go.

What they write is what micro-batches write: `test_pipelines.py` runs both ways, and
`tests/property/test_continuous_machine.py` plays all that can be played without Spark.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.errors import Code
from support.processes import tree
from support.waiting import DEADLINE, await_that

LOW = "WITH (latency = 'low')"


class Folder:
    """Files that come, and files that pipelines make of them."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self._spark = spark
        self.path = path
        self.rows = 0
        (path / "in").mkdir()

    def connect(self, options: str = LOW, select: str = "a, b->c AS c") -> narrows.Session:
        session = narrows.connect(self._spark, state=self.path / "state")
        session.execute(
            f"""
            CREATE STREAM s (a BIGINT, b STRUCT<c: BIGINT>)
              WITH (connector = 'file', path = '{self.path}/in', max_files_per_trigger = 2);
            CREATE SINK out WITH (connector = 'file', path = '{self.path}/out');
            CREATE PIPELINE p INTO out {options} AS SELECT {select} FROM s;
            CREATE PIPELINE q INTO out {options} AS SELECT {select} FROM s;
            """
        )
        return session

    def put(self, files: int = 1) -> None:
        for _ in range(files):
            hidden = self.path / "in" / f".{self.rows:06d}.json"
            hidden.write_text(json.dumps({"a": self.rows, "b": {"c": self.rows * 10}}) + "\n")
            hidden.rename(hidden.with_name(hidden.name[1:]))
            self.rows += 1

    def found(self, pipeline: str = "p") -> list[int]:
        files = sorted((self.path / "out").glob(f"{pipeline}-*.json"))
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        assert all(row.get("c", row["a"] * 10) == row["a"] * 10 for row in rows)
        return sorted(row["a"] for row in rows)

    def await_all(self, pipeline: str = "p") -> None:
        wanted = list(range(self.rows))
        await_that(lambda: self.found(pipeline) == wanted, f"{pipeline} has every row, once")

    def numbers(self) -> list[int]:
        """The numbers of the batches, in order, each once."""
        found = {int(path.name.split("-")[1]) for path in (self.path / "out").glob("p-*.json")}
        return sorted(found)


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Folder:
    return Folder(spark, tmp_path)


def test_a_pipeline_may_change_between_low_latency_and_micro_batches(folder: Folder) -> None:
    """It goes on from the same entry, and batches go on counting, in whatever order."""
    computed = "a, CAST(round(b->c * 1.0) AS BIGINT) AS c"  # by Spark
    ways = [("", "a, b->c AS c"), (LOW, "a"), (LOW, "a, a * 10 AS c"), ("", computed), (LOW, "a")]
    for options, select in [*ways, ("", "a")]:
        folder.put(3)
        with folder.connect(options, select) as session:
            session.start("p", once=True).await_done(timeout=DEADLINE)
        assert folder.found() == list(range(folder.rows))
    assert folder.numbers() == list(range(2 * 6)), "two files at a time, of three"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it looks at /proc")
def test_a_worker_that_is_killed_is_replaced(folder: Folder) -> None:
    folder.put(2)
    with folder.connect() as session:
        run = session.start("p")
        folder.await_all()
        for worker in tree(os.getpid()).workers:
            worker.kill()
        folder.put(2)
        folder.await_all()
        assert run.progress["p"]["restarts"] >= 1
        assert run.status == {"p": "running"}
        run.stop()
        assert run.status == {"p": "stopped"}


def test_cores_are_counted_and_given_back(folder: Folder) -> None:
    """There are two: one for a task that lasts, and one for everything else."""
    folder.put()
    with folder.connect() as session:
        run = session.start("p")
        folder.await_all()
        with pytest.raises(narrows.NarrowsError, match="one must be left") as refused:
            session.start("q")
        assert refused.value.problems[0].code is Code.NO_FREE_CORE
        assert session.query("SELECT count(*) AS n FROM s").collect()[0]["n"] == 1
        run.stop()
        other = session.start("q")
        folder.await_all("q")
        other.stop()
    with (
        folder.connect("WITH (latency = 'low', tasks = 2)") as session,
        pytest.raises(narrows.NarrowsError, match="would occupy 2 cores"),
    ):
        session.start("p")


def test_a_failure_of_a_task_is_told(folder: Folder) -> None:
    with folder.connect() as session:
        run = session.start("p", restart="never")
        folder.put()
        folder.await_all()
        (folder.path / "out").rename(folder.path / "elsewhere")
        (folder.path / "out").write_text("no folder")
        folder.put()
        with pytest.raises(narrows.NarrowsError, match="sink `out`"):
            run.await_done(timeout=DEADLINE)
        assert run.status == {"p": "failed"}
        (folder.path / "out").unlink()
        (folder.path / "elsewhere").rename(folder.path / "out")
        run = session.start("p")
        folder.await_all()
        run.stop()


def test_progress_is_told(folder: Folder) -> None:
    with folder.connect() as session:
        folder.put(5)
        run = session.start("p")
        folder.await_all()
        await_that(lambda: run.progress["p"]["lag"]["s"].get("units") == 0, "nothing is left")
        progress = run.progress["p"]
        assert progress["read"]["s"]["payloads"] == 5
        assert (progress["status"], progress["error"], progress["restarts"]) == ("running", None, 0)
        (pipeline,) = run.pipelines
        # It is counted when it is published, so a moment after it can be seen.
        await_that(lambda: pipeline.written.rows == 5, "all rows are counted")
        session.close(finish=60)
        assert run.status == {"p": "stopped"}
