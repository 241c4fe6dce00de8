"""What one small entry costs, whatever it reads: a file of one document, for each way of running.

    python bench/small_entries.py [--entries 40] [--warm 15] [--only windows]

A pipeline at a time, with `trigger = '0 seconds'`; a file is renamed into its folder when the one
before it has been dealt with. Shown are medians: how long the entry, or the micro-batch, took as
the pipeline itself says, from the rename to its end as seen from outside, and CPU milliseconds of
all processes. To compare two versions, run both in turn (`PYTHONPATH=<other>/src`).
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import narrows
from cost import cpu_seconds
from narrows.spark.run.pipeline_run import PipelineRun

PATIENCE = 60.0
WINDOW = "tumblingwindow('ss', 1)"


class Kind(NamedTuple):
    query: str
    sink: str = ""


KINDS = {
    "its readers write": Kind("SELECT n, t FROM s"),
    "computed by Spark": Kind("SELECT n, reverse(t) AS t FROM s"),
    "joined with a table": Kind("SELECT n, name FROM s JOIN places ON s.k = places.id"),
    "sorted": Kind("SELECT n, t FROM s ORDER BY n PER BATCH"),
    "windows, kept by tasks": Kind(f"SELECT k, count(*) AS c FROM s GROUP BY k, {WINDOW}"),
    "windows, then Spark": Kind(
        f"SELECT k, reverse(max(t)) AS c, count(*) AS n FROM s GROUP BY k, {WINDOW}"
    ),
    "windows, kept as rows": Kind(f"SELECT k, count(DISTINCT t) AS c FROM s GROUP BY k, {WINDOW}"),
    "counts without end": Kind("SELECT k, count(*) AS c FROM s GROUP BY k", ", mode = 'update'"),
    "functions that remember": Kind("SELECT n, lag(t) OVER (PARTITION BY k) AS before FROM s"),
    "count windows": Kind("SELECT k, count(*) AS c, max(t) AS t FROM s GROUP BY k, countwindow(2)"),
    "sliding windows": Kind("SELECT k, count(*) AS c FROM s GROUP BY k, slidingwindow('ss', 20)"),
    "distinct rows": Kind("SELECT DISTINCT n, t FROM s"),
    "united streams": Kind("SELECT n, t FROM s UNION ALL SELECT n, t FROM r"),
    "joined streams": Kind("SELECT s.n, r.t FROM s JOIN r ON s.n = r.n"),
}


class Seen(NamedTuple):
    said: float
    """Milliseconds."""
    outside: float
    cpu: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=40)
    parser.add_argument("--warm", type=int, default=15)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    print("| | execution | an entry, ms | from outside, ms | CPU, ms |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="narrows-bench-") as place:
        folder = Path(place)
        for number, (name, kind) in enumerate(KINDS.items()):
            if args.only in name:
                with narrows.connect(state=folder / f"{number}-state") as session:
                    mode, seen = _run(session, folder / str(number), kind, args)
                shown = " | ".join(f"{value:.0f}" for value in seen)
                print(f"| {name} | {mode} | {shown} |", flush=True)


def _run(
    session: narrows.Session, folder: Path, kind: Kind, args: argparse.Namespace
) -> tuple[str, Seen]:
    (folder / "in").mkdir(parents=True)
    (folder / "places").mkdir()
    for number in range(8):
        line = json.dumps({"id": number, "name": f"place {number}"})
        (folder / "places" / f"{number}.json").write_text(f"{line}\n")
    session.execute(
        "CREATE STREAM s (n BIGINT, k BIGINT, t STRING, ts BIGINT) WITH (connector = 'file',"
        f" path = '{folder}/in', eventtime = 'ts', eventtime_unit = 's');"
        "CREATE STREAM r (n BIGINT, t STRING) WITH (connector = 'file',"
        f" path = '{folder}/in');"
        f"CREATE TABLE places (id BIGINT, name STRING) WITH (connector = 'file',"
        f" path = '{folder}/places');"
        f"CREATE SINK out WITH (connector = 'file', path = '{folder}/out'{kind.sink});"
        f"CREATE PIPELINE p INTO out AS {kind.query}"
    )
    run = session.start("p", trigger="0 seconds")
    (pipeline,) = run.pipelines
    seen = [_entry(pipeline, folder / "in", number) for number in range(args.warm + args.entries)]
    run.stop()
    counted = seen[args.warm :]
    execution = pipeline.plan.execution
    assert execution is not None
    return execution.mode.value, Seen(
        *(statistics.median(each) for each in zip(*counted, strict=True))
    )


def _entry(pipeline: PipelineRun, folder: Path, number: int) -> Seen:
    before, cpu = pipeline.query.batches[-1:], cpu_seconds()
    hidden = folder / f".{number}.json"
    document = {"n": number, "k": number % 8, "t": f"text {number}", "ts": number}
    hidden.write_text(json.dumps(document) + "\n")
    began = time.perf_counter()
    hidden.rename(folder / f"{number:06d}.json")
    deadline = time.monotonic() + PATIENCE
    while pipeline.query.batches[-1:] == before:
        assert time.monotonic() < deadline, pipeline.query.exception()
        time.sleep(0.002)
    ended = time.perf_counter()
    said = pipeline.query.batches[-1].seconds
    return Seen(1000 * said, 1000 * (ended - began), 1000 * (cpu_seconds() - cpu))


if __name__ == "__main__":
    main()
