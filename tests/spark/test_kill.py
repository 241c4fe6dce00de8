"""Pipelines that are killed hard at random moments write every row exactly once all the same.

One on a stream of its own, three on a shared one: two that run in one job, one with its own query.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

KILLS = 10
ROWS_PER_FILE = 20
FILES_PER_ROUND = 4

SQL = """
CREATE STREAM s (a BIGINT, b STRUCT<c: BIGINT, d: STRING>)
  WITH (connector = 'file', path = '{folder}/in', max_files_per_trigger = 1);
CREATE SINK out WITH (connector = 'file', path = '{folder}/out');
CREATE PIPELINE p INTO out AS SELECT a, b->c AS c FROM s;

CREATE STREAM t (a BIGINT, b STRUCT<c: BIGINT, d: STRING>)
  WITH (connector = 'file', path = '{folder}/in', max_files_per_trigger = 1, shared = true);
CREATE TABLE names (d STRING, c BIGINT) WITH (connector = 'file', path = '{folder}/names');
CREATE SINK plain WITH (connector = 'file', path = '{folder}/plain');
CREATE SINK filtered WITH (connector = 'file', path = '{folder}/filtered');
CREATE SINK joined WITH (connector = 'file', path = '{folder}/joined');
CREATE PIPELINE q INTO plain AS SELECT a, b->c AS c FROM t;
CREATE PIPELINE r INTO filtered AS SELECT a, a * 10 AS c, b->d FROM t WHERE a >= 0 AND b->d = 'x';
CREATE PIPELINE u INTO joined AS SELECT t.a, t.a * n.c AS c FROM t JOIN names n ON t.b->d = n.d;
"""
SINKS = ("out", "plain", "filtered", "joined")


def test_every_row_exactly_once(tmp_path: Path) -> None:
    chance = random.Random(5)
    (tmp_path / "in").mkdir()
    (tmp_path / "names").mkdir()
    (tmp_path / "names" / "names.json").write_text('{"d": "x", "c": 10}', "utf-8")
    (tmp_path / "p.sql").write_text(SQL.replace("{folder}", str(tmp_path)), "utf-8")
    expected = 0
    for kill in range(KILLS):
        expected = _put_files(tmp_path, expected)
        before = [len(_published(tmp_path, sink)) for sink in SINKS]
        process = _start(tmp_path)
        try:
            # Sometimes while the shared ones are still starting, sometimes when most are running.
            enough = 1 if kill % 2 else 3
            _wait(process, lambda seen=before, enough=enough: _grew(tmp_path, seen) >= enough)
            # Some moment in one of the batches that follow: while reading, writing or committing.
            threading.Event().wait(chance.uniform(0, 1.5))
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    expected = _put_files(tmp_path, expected)
    finished = _start(tmp_path, "--once")
    assert finished.wait(timeout=300) == 0, (tmp_path / "log").read_text()
    for sink in SINKS:
        files = _published(tmp_path, sink)
        rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
        assert sorted(row["a"] for row in rows) == list(range(expected)), sink
        assert all(row["c"] == row["a"] * 10 for row in rows), sink


def _put_files(folder: Path, first: int) -> int:
    for _ in range(FILES_PER_ROUND):
        rows = range(first, first + ROWS_PER_FILE)
        lines = [json.dumps({"a": i, "b": {"c": i * 10, "d": "x"}}) for i in rows]
        hidden = folder / "in" / f".{first}.json"
        hidden.write_text("\n".join(lines), "utf-8")
        hidden.rename(folder / "in" / f"{first}.json")
        first += ROWS_PER_FILE
    return first


def _start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "narrows", "run", str(folder / "p.sql"), *options]
    settings = ["--state", str(folder / "state"), "--master", "local[2]", "--trigger", "0 seconds"]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [*command, *settings], stdout=log, stderr=log, start_new_session=True
        )


def _published(folder: Path, sink: str) -> list[Path]:
    return sorted((folder / sink).glob("[!.]*.json"))


def _grew(folder: Path, seen: list[int]) -> int:
    """How many sinks have more files. Which of them comes last, and so is killed in its first
    batch, is left to chance."""
    now = [len(_published(folder, sink)) for sink in SINKS]
    return sum(more > before for more, before in zip(now, seen, strict=True))


def _wait(process: subprocess.Popen[bytes], condition: object, seconds: float = 180) -> None:
    pause, deadline = threading.Event(), time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert process.poll() is None, "the pipeline ended by itself"
        assert time.monotonic() < deadline, "no batch was published in time"
        pause.wait(0.05)
