"""A pipeline of many micro-batches, and what it holds and keeps meanwhile."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

from pyspark.sql import SparkSession

import narrows
from narrows.state.entry_position import EntryPosition

BY_QUERY, BY_READERS = "SELECT last(a) AS a FROM s GROUP BY a", "SELECT a FROM s"
"""A pipeline that has a streaming query, and one that needs none."""
IN_WINDOWS = "SELECT max(a) AS a FROM s GROUP BY tumblingwindow('ss', 1)"
"""One that keeps windows without a query."""
IN_GROUPS = "SELECT max(a) AS a FROM s GROUP BY a % 7"
"""One that keeps groups that no window ends, likewise."""
BY_KEYS = "SELECT latest(a) AS a FROM s"
"""One whose tasks remember rows."""
ONCE_EACH = "SELECT DISTINCT abs(a) AS a FROM s"
"""One whose tasks remember which rows there were."""


class LongRun:
    """Takes a file for each micro-batch."""

    def __init__(self, spark: SparkSession, folder: Path, select: str) -> None:
        self._spark = spark
        self._select = select
        self._folder = folder
        self.state = folder / "state"
        self._put = 0
        (folder / "in").mkdir()

    def session(self) -> narrows.Session:
        session = narrows.connect(self._spark, state=self.state)
        session.execute(
            f"""
            CREATE STREAM s (a BIGINT) WITH (connector = 'file', path = '{self._folder}/in',
              max_files_per_trigger = 1, eventtime = 'a', eventtime_unit = 's');
            CREATE SINK out WITH (connector = 'file', path = '{self._folder}/out');
            CREATE PIPELINE p INTO out AS {self._select};
            """
        )
        return session

    def put(self, count: int) -> None:
        for number in range(self._put, self._put + count):
            (self._folder / "in" / f"{number:06d}.json").write_text(f'{{"a": {number}}}\n')
        self._put += count

    def await_batches(self, run: narrows.Run, count: int, seconds: float = 600) -> None:
        deadline, pause = time.monotonic() + seconds, threading.Event()
        commits = self.state / "checkpoints" / "p" / "commits"
        position = EntryPosition(self.state / "entries" / "p" / "s")
        while not (commits / str(count - 1)).exists() and (position.read() or 0) < count - 1:
            run.raise_if_failed()
            assert time.monotonic() < deadline, f"it is slower than {count} batches in {seconds} s"
            pause.wait(0.05)

    def rows(self) -> list[int]:
        files = (self._folder / "out").glob("[!.]*.json")
        return sorted(json.loads(line)["a"] for f in files for line in f.read_text().splitlines())
