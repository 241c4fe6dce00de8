"""Pipelines of every kind over one folder of files that grows, and the rows that they owe.

    folder/in/*.json ──► copied, computed, quick      no state; the last one has low latency
                         windowed, counted            windows of event time, and such as rows cut
                         tallied                      groups that no window ends: updates
                         kept                         windows whose rows tasks keep
                         remembered                   acc_sum, lag
                         distinct, once_each          rows that come again: as groups; remembered
                         joined, united               two streams
                         together, filtered, summed   of a shared stream: two in one job, one alone
                         prompt                       of the shared stream, with low latency
                         filled ──► passed            a topic in memory between two of them

What is owed is computed from the number of rows alone, in plain Python.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]

KEYS, LONG, SEVERAL = 3, 100, 7
"""Keys; rows of a window of time; rows of a window that rows cut."""
ROWS_PER_FILE = 20
_LITTLE_DATA = "spark.sql.codegen.wholeStage=false"
_SHORT_LIFE = "-XX:TieredStopAtLevel=1"
"""Compiling would be most of what there is to do."""
_PATIENCE = 1_200.0
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)

_SQL = """
CREATE STREAM s ({columns}) WITH ({files}, max_files_per_trigger = {most});
CREATE STREAM e ({columns}) WITH ({files}, max_files_per_trigger = {most}, {time});
CREATE STREAM f ({columns}) WITH ({files}, max_files_per_trigger = {most}, {time});
CREATE STREAM t ({columns}) WITH ({files}, max_files_per_trigger = {most}, shared = true);
CREATE SINK topic WITH (connector = 'memory', topic = 'between');
CREATE STREAM u (a BIGINT, c BIGINT) WITH (connector = 'memory', topic = 'between');
"""
_COLUMNS = "a BIGINT, k BIGINT, at TIMESTAMP, b STRUCT<c: BIGINT, d: STRING>"
_SELECTS = {
    "copied": "SELECT a, b->c AS c FROM s",
    "quick": "SELECT a, b->c AS c FROM s",
    "computed": "SELECT a, abs(a) * 10 AS c FROM s WHERE b->d = 'x'",
    "windowed": "SELECT k, min(a) AS a, count(*) AS n, sum(b->c) AS total FROM e"
    " GROUP BY k, tumblingwindow('ss', 10)",
    "kept": "SELECT k, min(a) AS a, count(DISTINCT b->c) AS n, sum(b->c) AS total FROM e"
    " GROUP BY k, tumblingwindow('ss', 10)",
    "counted": f"SELECT k, min(a) AS a, count(*) AS n FROM s GROUP BY k, countwindow({SEVERAL})",
    "tallied": "SELECT k, count(*) AS n, sum(a) AS total FROM s GROUP BY k",
    "remembered": "SELECT a, acc_sum(a) OVER (PARTITION BY k) AS total,"
    " lag(a) OVER (PARTITION BY k) AS before FROM s",
    "distinct": "SELECT DISTINCT k, CASE WHEN b->d = 'y' THEN a ELSE -1 END AS a FROM s",
    "once_each": f"SELECT DISTINCT abs(a) DIV {SEVERAL} AS a FROM s",
    "joined": "SELECT e.a, f.b->c AS c FROM e JOIN f ON e.a = f.a"
    " AND f.at BETWEEN e.at AND e.at + INTERVAL '10' SECOND",
    "united": "SELECT a, b->c AS c FROM s WHERE a % 2 = 0"
    " UNION ALL SELECT a, b->c FROM f WHERE a % 2 = 1",
    "together": "SELECT a, b->c AS c FROM t",
    "filtered": "SELECT a, abs(a) * 10 AS c FROM t WHERE b->d = 'x'",
    "prompt": "SELECT a, b->c AS c FROM t",
    "summed": "SELECT a, acc_sum(a) OVER (PARTITION BY k) AS total FROM t",
    "filled": "SELECT a, b->c AS c FROM s",
    "passed": "SELECT a, c FROM u",
}
_LOW = "WITH (latency = 'low')"
_OPTIONS = {"quick": _LOW, "prompt": _LOW}
_INTO = {"filled": "filled_out, topic"}
PIPELINES = tuple(_SELECTS)
_DOWNSTREAM = ("passed",)
"""They read what others of them write."""
SHARED = ("together", "prompt", "filtered", "summed")
"""Rows that come while only others of them run are not for those that do not."""


class AllKinds:
    """Pipelines in a folder; the state folder is `state`, what processes say is in `log`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.rows = 0
        (folder / "in").mkdir(parents=True)

    def put(self) -> None:
        """One more file, which is there all at once."""
        rows = range(self.rows, self.rows + ROWS_PER_FILE)
        hidden = self.folder / "in" / f".{self.rows:09d}.json"
        hidden.write_text("".join(json.dumps(_row(i)) + "\n" for i in rows), "utf-8")
        hidden.rename(hidden.with_name(hidden.name[1:]))
        self.rows += ROWS_PER_FILE

    def run(self, *arguments: str, most: int = 4) -> subprocess.Popen[bytes]:
        """`narrows run` with these arguments, in a process group of its own. A micro-batch takes
        `most` files."""
        sql = self.folder / "pipelines.sql"
        sql.write_text(self._statements(most), "utf-8")
        command = [sys.executable, "-m", "narrows", "run", str(sql), *arguments]
        settings = ["--state", str(self.state), "--master", "local[5]", "--conf", _LITTLE_DATA]
        environment = {**os.environ, "JAVA_TOOL_OPTIONS": _SHORT_LIFE}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [*command, *settings],
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    def run_once(self) -> int:
        """Has all of them read what is left, in few large batches; the exit code. Those that read
        what others write come last: a run that ends does not wait for rows."""
        first = [name for name in PIPELINES if name not in _DOWNSTREAM]
        return self._run_once(first) or self._run_once(_DOWNSTREAM)

    def _run_once(self, pipelines: Sequence[str]) -> int:
        process = self.run(*pipelines, "--once", most=1_000)
        try:
            return process.wait(timeout=_PATIENCE)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _statements(self, most: int) -> str:
        text = _SQL.format(
            columns=_COLUMNS,
            files=f"connector = 'file', path = '{self.folder}/in'",
            time="eventtime = 'at', watermark = '5 seconds'",
            most=most,
        )
        for name, select in _SELECTS.items():
            path = f"{self.folder}/out/{name}"
            text += f"CREATE SINK {name}_out WITH (connector = 'file', path = '{path}');\n"
            options, into = _OPTIONS.get(name, ""), _INTO.get(name, f"{name}_out")
            text += f"CREATE PIPELINE {name} INTO {into} {options} AS {select};\n"
        return text

    def published(self, pipeline: str) -> int:
        """How many files a pipeline has published."""
        return len(list((self.folder / "out" / pipeline).glob("[!.]*.json")))

    def found(self, pipeline: str) -> Rows:
        files = (self.folder / "out" / pipeline).glob("[!.]*.json")
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def wrong(self, pipeline: str) -> str | None:
        """What is lost or there too often in the end, if anything is."""
        rows = self.found(pipeline)
        rows = _come_to(rows) if pipeline == "tallied" else rows
        owed = Counter(json.dumps(row) for row in _OWED[pipeline](self.rows))
        found = Counter(json.dumps(row) for row in rows)
        lost, more = owed - found, found - owed
        if not lost and not more:
            return None
        examples = f"like {min(lost, default='-')} and {min(more, default='-')}"
        return f"{pipeline}: {lost.total()} rows lost, {more.total()} too many, {examples}"


def _row(i: int) -> dict[str, Any]:
    at = (_BEGAN + timedelta(milliseconds=100 * i)).isoformat()
    return {"a": i, "k": i % KEYS, "at": at, "b": {"c": i * 10, "d": "y" if i % 5 == 0 else "x"}}


def _plain(rows: int) -> Rows:
    return [{"a": i, "c": i * 10} for i in range(rows)]


def _passing(rows: int) -> Rows:
    return [row for row in _plain(rows) if row["a"] % 5]


def _by_time(rows: int) -> Rows:
    made = []
    for start in range(0, rows, LONG):
        for k in range(KEYS):
            members = [i for i in range(start, min(start + LONG, rows)) if i % KEYS == k]
            made.append({"k": k, "a": members[0], "n": len(members), "total": 10 * sum(members)})
    return made


def _by_count(rows: int) -> Rows:
    made = []
    for k in range(KEYS):
        members = list(range(k, rows, KEYS))
        for start in range(0, len(members), SEVERAL):
            window = members[start : start + SEVERAL]
            made.append({"k": k, "a": window[0], "n": len(window)})
    return made


def _sums(rows: int) -> Iterator[tuple[int, int]]:
    sums = [0] * KEYS
    for i in range(rows):
        sums[i % KEYS] += i
        yield i, sums[i % KEYS]


def _running(rows: int) -> Rows:
    return [
        {"a": i, "total": total, "before": i - KEYS if i >= KEYS else None}
        for i, total in _sums(rows)
    ]


def _summed(rows: int) -> Rows:
    return [{"a": i, "total": total} for i, total in _sums(rows)]


def _distinct(rows: int) -> Rows:
    found = dict.fromkeys((i % KEYS, -1 if i % 5 else i) for i in range(rows))
    return [{"k": k, "a": a} for k, a in found]


def _once_each(rows: int) -> Rows:
    return [{"a": several} for several in dict.fromkeys(i // SEVERAL for i in range(rows))]


def _tallies(rows: int) -> Rows:
    return [
        {"k": k, "n": len(range(k, rows, KEYS)), "total": sum(range(k, rows, KEYS))}
        for k in range(KEYS)
    ]


def _come_to(updates: Rows) -> Rows:
    """What updates come to is the last row of each key. Beside these there are those that are
    wrong: they were right after no file, or are there once more."""
    last = {row["k"]: row for row in sorted(updates, key=lambda row: row["n"])}
    seen, wrong = set[tuple[int, int]](), Rows()
    for row in updates:
        k, n = row["k"], row["n"]
        if (k, n) in seen or row["total"] != sum(range(k, k + n * KEYS, KEYS)):
            wrong.append(row)
        seen.add((k, n))
    return [*last.values(), *wrong]


_OWED: dict[str, Callable[[int], Rows]] = {
    "copied": _plain,
    "quick": _plain,
    "computed": _passing,
    "windowed": _by_time,
    "kept": _by_time,
    "counted": _by_count,
    "tallied": _tallies,
    "remembered": _running,
    "distinct": _distinct,
    "once_each": _once_each,
    "joined": _plain,
    "united": _plain,
    "together": _plain,
    "prompt": _plain,
    "filtered": _passing,
    "summed": _summed,
    "filled": _plain,
    "passed": _plain,
}
