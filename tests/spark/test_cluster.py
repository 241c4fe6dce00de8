"""Pipelines on a real cluster: a master and two workers, of which one dies.

A process has one Spark, and that of the other tests is embedded: so these run the command.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.cluster import Cluster, quick_java
from support.processes import tree
from support.waiting import DEADLINE, await_that

PIPELINES = {
    "quick": ("WITH (latency = 'low', tasks = 2)", "SELECT a, b FROM s"),
    "copied": ("", "SELECT a, b FROM s"),
    "computed": ("", "SELECT a, CAST(round(b * 1.0) AS BIGINT) AS b FROM s"),
}
ROWS_IN_A_FILE = 2
_LARGE = 20_000_000
"""Bytes of a row that is worth a task of its own."""
_CONF = {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": quick_java(),
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "2",
}
_CORES = {
    "run": {"spark.cores.max": "4", "spark.executor.cores": "2"},  # or it would take all there are
    "query": {"spark.cores.max": "1"},
}

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it looks at /proc")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.stop()


class Folder:
    def __init__(self, cluster: Cluster, path: Path) -> None:
        self._cluster = cluster
        self.path = path
        self.rows = 0
        (path / "in").mkdir()
        files = "connector = 'file', path"
        statements = [f"CREATE STREAM s (a BIGINT, b BIGINT) WITH ({files} = '{path}/in')"]
        for name, (options, select) in PIPELINES.items():
            statements += [
                f"CREATE SINK {name}_out WITH ({files} = '{path}/{name}')",
                f"CREATE PIPELINE {name} INTO {name}_out {options} AS {select}",
            ]
        (path / "p.sql").write_text(";\n".join(statements))

    def command(self, verb: str, *more: str, state: str = "state") -> Sequence[str]:
        settings = {**_CONF, **_CORES[verb]}
        conf = [part for item in settings.items() for part in ("--conf", "=".join(item))]
        where = ["--master", self._cluster.master, "--state", str(self.path / state), *conf]
        python = [sys.executable, "-X", "faulthandler"]
        return [*python, "-m", "narrows", verb, str(self.path / "p.sql"), *more, *where]

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        with (self.path / "log").open("wb") as log:
            run = self.command("run", "--trigger", "0 seconds")
            process = subprocess.Popen(run, stdout=log, stderr=log)
        try:
            yield process
        finally:
            # Not Ctrl-C: what a shell has started in the background (`&`) ignores it, and what that
            # starts, too. Where the tests were started so, this would wait in vain.
            process.terminate()
            self._await_end(process)

    def _await_end(self, process: subprocess.Popen[bytes]) -> None:
        """One that does not end says what its threads wait for."""
        try:
            process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            process.wait()
            log = (self.path / "log").read_text("utf-8", "replace")
            pytest.fail(f"the run has not ended in {DEADLINE:.0f} seconds:\n{log}")

    def put(self, files: int, *, large: bool = False) -> None:
        more = "x" * (_LARGE if large else 0)
        for _ in range(files):
            numbers = range(self.rows, self.rows + ROWS_IN_A_FILE)
            rows = [{"a": number, "b": 10 * number, "more": more} for number in numbers]
            hidden = self.path / "in" / f".{self.rows:06d}"
            hidden.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
            hidden.rename(hidden.with_name(f"{self.rows:06d}.json"))
            self.rows += ROWS_IN_A_FILE

    def found(self, pipeline: str) -> list[int]:
        files = (self.path / pipeline).glob("[!.]*.json")
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        assert all(row["b"] == 10 * row["a"] for row in rows)
        return sorted(row["a"] for row in rows)

    def await_all(self) -> None:
        for name in PIPELINES:
            await_that(lambda: self.found(name) == list(range(self.rows)), f"{name} has all, once")  # noqa: B023

    def is_shared(self) -> bool:
        """Has every pipeline had two tasks read a file? Tasks that last come when they have a core:
        what is there before them is for those that there are."""
        self.put(1, large=True)
        self.await_all()
        written = [[file.stem for file in (self.path / name).iterdir()] for name in PIPELINES]
        return all(any(stem.endswith("-00001") for stem in stems) for stems in written)

    def count(self) -> int:
        """What a query says, of another application."""
        text = "SELECT count(*) AS n FROM s"
        query = self.command("query", text, "--json", state="other")
        answer = subprocess.run(query, check=True, capture_output=True, text=True, timeout=DEADLINE)
        return int(json.loads(answer.stdout)["n"])


def test_a_worker_of_a_cluster_that_dies_loses_and_doubles_nothing(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = Folder(cluster, tmp_path)
    folder.put(3)
    with folder.running() as run:
        with ThreadPoolExecutor(1) as beside:  # Spark takes its time to start, twice
            counted = beside.submit(folder.count)
            folder.await_all()
        assert counted.result() == folder.rows
        await_that(folder.is_shared, "two tasks of each pipeline have a share of a file")
        for executor in tree(cluster.workers[0].pid).all:
            executor.kill()
        cluster.workers[0].wait()
        folder.put(3)
        folder.await_all()
        assert run.poll() is None
    assert run.returncode == 0
    for name in PIPELINES:
        assert folder.found(name) == list(range(folder.rows))
