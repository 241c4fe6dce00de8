"""Windows, memory and event time on shared streams: the same rows as on a stream of one's own."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

import narrows
from narrows.worker.dead_letters import read_dead_letters

PIPELINES = {
    "tumbling": "SELECT k, window_start() AS w, count(*) AS n, sum(b->c) AS c FROM {stream}"
    " GROUP BY k, tumblingwindow('ss', 10)",
    "kept": "SELECT k, window_end() AS w, count(DISTINCT b->d) AS n FROM {stream} WHERE b->c <> 7"
    " GROUP BY k, hoppingwindow('ss', 10, 5)",
    "counting": "SELECT k, sum(b->c) AS c, count(*) AS n FROM {stream} GROUP BY k, countwindow(3)",
    "memory": "SELECT k, b->c AS c, lag(b->c) OVER (PARTITION BY k) AS before FROM {stream}",
    "plain": "SELECT k, b->d AS d FROM {stream} WHERE k > 0",
}
SCHEMA = "k BIGINT, ts TIMESTAMP, b STRUCT<c: BIGINT, d: STRING>, unused STRING"


def write(folder: Path) -> None:
    folder.mkdir()
    for part in range(3):
        lines = []
        for i in range(part * 20, part * 20 + 20):
            time = f"2026-11-15T10:00:{i:02d}Z" if i % 17 else "no time"
            row = {"k": i % 3, "ts": time, "b": {"c": i, "d": f"d{i}"}, "unused": "x"}
            lines.append(json.dumps(row))
        (folder / f"{part}.json").write_text("\n".join(lines) + "\n", "utf-8")


def test_windows_and_memory_on_shared_streams(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "in")
    outputs = {}
    with narrows.connect(spark, state=tmp_path / "state") as session:
        for stream, options in (("own", ""), ("shared_one", ", shared = true")):
            session.execute(f"""
                CREATE STREAM {stream} ({SCHEMA}) WITH (connector = 'file', path = '{tmp_path}/in',
                  eventtime = 'ts', watermark = '1 second', max_files_per_trigger = 1{options})
            """)
            for name, sql in PIPELINES.items():
                session.execute(f"CREATE SINK {stream}_{name}_out WITH (connector = 'memory')")
                text = sql.format(stream=stream)
                session.execute(
                    f"CREATE PIPELINE {stream}_{name} INTO {stream}_{name}_out AS {text}"
                )
            names = [f"{stream}_{name}" for name in PIPELINES]
            session.start(*names, once=True).await_done(timeout=400)
            outputs[stream] = {
                name: sorted(map(json.dumps, session.rows(f"{stream}_{name}_out")))
                for name in PIPELINES
            }
        letters = [
            list(read_dead_letters(tmp_path / "state" / "dead_letters" / stream))
            for stream in ("own", "shared_one")
        ]
    for name in PIPELINES:
        assert outputs["shared_one"][name] == outputs["own"][name], name
        assert outputs["own"][name], name
    assert [len(found) for found in letters] == [4, 4]  # 0, 17, 34 and 51 have no time
