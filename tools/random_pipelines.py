"""Runs random pipelines on Spark in several ways, until they differ or it is enough.

    python tools/random_pipelines.py [--seeds 50] [--queries 10] [--run 2] [--seed 1]

Windows and functions that remember rows stand above subqueries, unions, joins, other windows and
generators, see `tests/support/pipeline_writer.py`. Each seed has rows of its own. Every query is
answered by the pruned and the unpruned plan and, where it can be said so, by Spark's own SQL over
plain tables; the first few of a seed also run as pipelines, which must write the same rows
(`tests/support/compared_pipelines.py`). A difference ends it with the seed and the query; with
`--go-on` it is told, and the next seed follows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from narrows.spark.run.embedded import embedded_session
from support.compared_pipelines import compare

_SMALL_DATA = {"spark.sql.shuffle.partitions": "1", "spark.sql.codegen.wholeStage": "false"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--run", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--go-on", action="store_true")
    options = parser.parse_args()
    began, same, refused, plain = time.monotonic(), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        spark = embedded_session("local[2]", _SMALL_DATA, Path(folder) / "spark.log")
        try:
            for seed in range(options.seed, options.seed + options.seeds):
                place = Path(folder) / str(seed)
                try:
                    found = compare(spark, place, seed, options.queries, run=options.run)
                except Exception:
                    if not options.go_on:
                        raise
                    traceback.print_exc()
                    continue
                same, refused = same + found.same, refused + found.refused
                plain += found.plain
                print(
                    f"seed {seed}: {same} the same, {plain} of them as Spark's SQL,"
                    f" {refused} refused ({time.monotonic() - began:.0f} s)",
                    flush=True,
                )
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
