"""A real `narrows serve`, in a process of its own, that is killed and started again.

`killed_again_and_again` is the whole story: statements come in and rows too while it is killed at
random moments; in the end everything is there that was answered, and every row once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import narrows
from narrows.errors import NarrowsError
from narrows.service.client import Client

PATIENCE = 300.0
ROWS_PER_FILE = 20

DECLARED = """
CREATE STREAM s (a BIGINT, b STRUCT<c: BIGINT, d: STRING>)
  WITH (connector = 'file', path = '{folder}/in', max_files_per_trigger = 2);
CREATE STREAM t (a BIGINT, b STRUCT<c: BIGINT, d: STRING>)
  WITH (connector = 'file', path = '{folder}/in', max_files_per_trigger = 2, shared = true,
        start_at = 'earliest');
CREATE SINK own WITH (connector = 'file', path = '{folder}/own');
CREATE SINK shared WITH (connector = 'file', path = '{folder}/shared');
CREATE SINK watched WITH (connector = 'memory');
CREATE PIPELINE p INTO own AS SELECT a, b->c AS c FROM s;
CREATE PIPELINE q INTO shared, watched AS SELECT a, abs(a) * 10 AS c FROM t WHERE a >= 0;
"""


class ServiceProcess:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.client: Client = narrows.connect(server=f"http://127.0.0.1:{self.port}")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def start(self) -> None:
        command = [sys.executable, "-m", "narrows", "serve", "--port", str(self.port)]
        settings = ["--state", str(self.folder / "state"), "--trigger", "200 ms", "--master"]
        with (self.folder / "service.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *settings, "local[2]"],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.until(self._answers)

    def _answers(self) -> bool:
        try:
            self.client.status()
            return True
        except NarrowsError as error:
            if error.code != "not_ready":
                raise
            return False

    def kill(self) -> None:
        """The service, its JVM and its workers, at once."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def terminate(self) -> int:
        """Ends it cleanly; how it ended."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(PATIENCE)

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert self._process is not None
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.1)

    def log(self) -> str:
        return (self.folder / "service.log").read_text("utf-8", "replace")[-5000:]


def put_file(folder: Path, first: int) -> int:
    """One more file of rows; where the next one begins."""
    (folder / "in").mkdir(exist_ok=True)
    rows = range(first, first + ROWS_PER_FILE)
    text = "".join(json.dumps({"a": a, "b": {"c": a * 10, "d": "x"}}) + "\n" for a in rows)
    hidden = folder / "in" / f".{first}.writing"
    hidden.write_text(text, "utf-8")
    hidden.rename(folder / "in" / f"{first:09d}.json")
    return first + ROWS_PER_FILE


def published(folder: Path, sink: str) -> list[tuple[int, int]]:
    files = sorted((folder / sink).glob("[!.]*.json"))
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return sorted((row["a"], row["c"]) for row in rows)


def killed_again_and_again(folder: Path, kills: int, chance: random.Random) -> None:
    service, rows, answered = ServiceProcess(folder), 0, {"own", "shared", "watched"}
    try:
        service.start()
        service.client.execute(DECLARED.replace("{folder}", str(folder)))
        service.client.execute("START PIPELINE p, q")
        for kill in range(kills + 1):
            before = len(published(folder, "own"))
            rows = put_file(folder, put_file(folder, rows))
            name = f"sink_{kill}"
            service.client.execute(f"CREATE SINK {name} WITH (connector = 'memory')")
            answered.add(name)
            if kill == kills:
                break
            if kill % 2:  # while it runs; else it may not even have started everything
                service.until(lambda seen=before: len(published(folder, "own")) > seen)  # type: ignore[misc]
            time.sleep(chance.uniform(0, 2))
            if kill % 3 == 1:  # in the midst of micro-batches, too
                assert service.terminate() == 0, service.log()
            else:
                service.kill()
            service.start()
            found = service.client.execute("SHOW SINKS")[0]["rows"]
            assert {row["name"] for row in found} == answered, "what was answered is there"
            wanted = {name: each["desired"] for name, each in service.client.status().items()}
            assert wanted == {"p": "running", "q": "running"}
        expected = [(a, a * 10) for a in range(rows)]
        service.until(lambda: len(published(folder, "own")) >= rows)
        service.until(lambda: len(published(folder, "shared")) >= rows)
        assert published(folder, "own") == expected, "every row once"
        assert published(folder, "shared") == expected, "every row once"
        assert service.terminate() == 0
    finally:
        service.kill()
