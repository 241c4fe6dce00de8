"""What a small job costs from a cold process: beside a bare PySpark script that does the same.

    python bench/cold_start.py [--repeats 3]

Each is a process of its own, in turns: a file of 1 000 documents is read, filtered, and written or
printed. Wall time is until the process ends; CPU time is that of all processes it has started, the
JVM that outlives it for a moment included.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from cost import Cost

DOCUMENTS = 1_000
_SUBREAPER = 36  # prctl: processes whose parent has ended become ours

SQL = """
CREATE STREAM s (id BIGINT, kind STRING, payload STRUCT<user: STRING, n: BIGINT>)
WITH (connector = 'file', path = '{folder}/in'{shared});
CREATE SINK out WITH (connector = 'file', path = '{folder}/out');
CREATE PIPELINE p INTO out AS SELECT id, upper(payload->user) AS u FROM s WHERE kind = 'order';
"""

BARE = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
schema = "id BIGINT, kind STRING, payload STRUCT<user: STRING, n: BIGINT>"
rows = spark.readStream.schema(schema).json("{folder}/in")
rows = rows.where("kind = 'order'").selectExpr("id", "upper(payload.user) AS u")
query = (
    rows.writeStream.format("json").option("path", "{folder}/out")
    .option("checkpointLocation", "{folder}/state").trigger(availableNow=True).start()
)
query.awaitTermination()
spark.stop()
"""

BARE_QUERY = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
schema = "id BIGINT, kind STRING, payload STRUCT<user: STRING, n: BIGINT>"
rows = spark.read.schema(schema).json("{folder}/in")
rows.where("kind = 'order'").groupBy("payload.user").count().show()
spark.stop()
"""

QUERY = "SELECT payload->user, count(*) FROM s WHERE kind = 'order' GROUP BY payload->user"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    costs: dict[str, list[Cost]] = {}
    with tempfile.TemporaryDirectory(prefix="narrows-cold-") as place:
        folder = Path(place)
        commands = prepare(folder)
        for _ in range(repeats + 1):  # the first fills caches, and does not count
            for name, command in commands.items():
                for made in ("out", "state"):
                    shutil.rmtree(folder / made, ignore_errors=True)
                costs.setdefault(name, []).append(cost_of(command))
    middle = {
        name: Cost(*(statistics.median(getattr(c, f) for c in found[1:]) for f in ("wall", "cpu")))
        for name, found in costs.items()
    }
    print("| | seconds | CPU seconds | times the script | CPU |\n|---|---|---|---|---|")
    for name, cost in middle.items():
        other = middle["a script that queries" if "query" in name else "a script that streams"]
        wall, cpu = cost.wall / other.wall, cost.cpu / other.cpu
        print(f"| {name} | {cost.wall:.1f} | {cost.cpu:.1f} | {wall:.2f} | {cpu:.2f} |")


def prepare(folder: Path) -> dict[str, Sequence[str]]:
    (folder / "in").mkdir()
    documents = (
        {"id": n, "kind": "order" if n % 2 else "x", "payload": {"user": f"u{n % 7}", "n": n}}
        for n in range(DOCUMENTS)
    )
    (folder / "in" / "a.json").write_text("".join(json.dumps(d) + "\n" for d in documents))
    for name, text in (("alone", ""), ("shared", ", shared = true")):
        (folder / f"{name}.sql").write_text(SQL.format(folder=folder, shared=text))
    for name, text in (("stream", BARE), ("query", BARE_QUERY)):
        (folder / f"{name}.py").write_text(text.format(folder=folder))
    narrows = [sys.executable, "-m", "narrows"]
    state = ["--state", f"{folder}/state"]
    return {
        "a script that streams": [sys.executable, f"{folder}/stream.py"],
        "`narrows run --once`": [*narrows, "run", f"{folder}/alone.sql", "--once", *state],
        "... on a shared stream": [*narrows, "run", f"{folder}/shared.sql", "--once", *state],
        "a script that queries": [sys.executable, f"{folder}/query.py"],
        "`narrows query`": [*narrows, "query", f"{folder}/alone.sql", QUERY, *state],
    }


def cost_of(command: Sequence[str]) -> Cost:
    before = _cpu()
    began = time.perf_counter()
    with tempfile.TemporaryFile() as said:  # a pipe would be open for as long as the JVM is
        code = subprocess.call(command, stdout=subprocess.DEVNULL, stderr=said)
        wall = time.perf_counter() - began
        if code:
            said.seek(0)
            raise SystemExit(f"{' '.join(command)}: {said.read().decode()}")
    try:
        while True:
            os.wait()  # what it has left behind
    except ChildProcessError:
        return Cost(wall, _cpu() - before)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
