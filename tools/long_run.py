"""Runs many micro-batches, and shows what is held and kept meanwhile: nothing should grow.

    python tools/long_run.py [batches]

`log` is Spark's log of markers: files, and lines of its largest file.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from narrows.spark.run.embedded import embedded_session
from support.long_run import LongRun

STEP = 50


def main(batches: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = {"spark.sql.shuffle.partitions": "1"}
        spark = embedded_session("local[2]", settings, Path(folder) / "spark.log")
        runs = LongRun(spark, Path(folder))
        runs.put(batches)
        with runs.session() as session:
            run = session.start("p", trigger="0 seconds")
            for done in range(STEP, batches + 1, STEP):
                runs.await_batches(run, done)
                log = runs.state / "checkpoints" / "p" / "sources" / "0"
                lines = [path.read_text().count("\n") for path in log.glob("*.compact")]
                held = runs.held()
                print(
                    f"{done} batches: {held.files} files, {held.bytes >> 10} KB,"
                    f" {held.memory >> 20} MB of memory, {held.descriptors} descriptors,"
                    f" log {len(os.listdir(log))} files, {max(lines, default=0)} lines",
                    flush=True,
                )
        spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
