"""A standalone cluster of Spark's on this machine, from the wheel that `pip` has installed.

A master, and workers that start an executor each for every application: processes of their own,
with folders of their own, which reach each other over the loopback.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyspark

from narrows.spark.run.class_archive import archive_path
from support.waiting import await_that

_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
_MASTER, _WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
_URL = re.compile(r"Starting Spark master at (spark://\S+)")
_PATIENCE = 60.0
_SMALL = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}


def quick_java() -> str:
    """What a JVM of a cluster is told, which does not live long: to start with the classes that are
    kept for the driver, if they are, and to compile no more than it must."""
    archive = archive_path()
    kept = [f"-XX:SharedArchiveFile={archive}"] if archive is not None and archive.exists() else []
    return " ".join(["-XX:TieredStopAtLevel=1", *kept])


class Cluster:
    """Ready as soon as it is made. Cores are threads: they may be more than the machine's own."""

    def __init__(self, folder: Path, workers: int = 2, cores: int = 4) -> None:
        self._folder = folder
        self._all: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self._start("master", [_MASTER, "--port", "0"])
        self.master = self._await_line("master", _URL)
        names = [f"worker-{number}" for number in range(workers)]
        for name in names:
            size = ["--cores", str(cores), "--memory", "2g"]
            place = ["--work-dir", str(folder / name)]
            self.workers.append(self._start(name, [_WORKER, *size, *place, self.master]))
        for name in names:
            self._await_line(name, re.compile("(Successfully registered) with master"))

    def stop(self) -> None:
        """An executor ends when its worker does."""
        for process in reversed(self._all):
            process.terminate()
        for process in self._all:
            process.wait(_PATIENCE)

    def _start(self, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        here = ["--host", "127.0.0.1", "--webui-port", "0"]
        java = {"SPARK_DAEMON_JAVA_OPTS": f"{quick_java()} -XX:+UseSerialGC"}
        environment = {**os.environ, **_SMALL, **java, "PYSPARK_PYTHON": sys.executable}
        with self._log(name).open("wb") as log:
            process = subprocess.Popen(
                [_CLASS, command[0], *here, *command[1:]],
                stdout=log,
                stderr=log,
                env=environment,
            )
        self._all.append(process)
        return process

    def _await_line(self, name: str, line: re.Pattern[str]) -> str:
        def found() -> re.Match[str] | None:
            return line.search(self._log(name).read_text("utf-8", "replace"))

        await_that(lambda: found() is not None, f"{name} of the cluster has started")
        match = found()
        assert match is not None
        return match[1]

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"
