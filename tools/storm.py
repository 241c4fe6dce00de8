"""Has pipelines join and leave a shared stream at random, from several threads, while rows flow.

    python tools/storm.py [--minutes 3] [--seed 1] [--threads 3]

Each must find the rows between its joining and its leaving, all of them and each once, and the
stream must decode what those that are there need together: see `tests/support/storm.py`. The suite
plays a short one (`tests/spark/test_shared_streams.py`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from narrows.spark.run.embedded import embedded_session
from support.storm import Storm


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=3)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="narrows-storm-"))
    spark = embedded_session("local[2]", {"spark.sql.shuffle.partitions": "1"}, folder / "log")
    storm = Storm(spark, folder / "storm", options.seed, threads=options.threads)
    with storm.session:
        storm.play(options.minutes * 60)
    wrong = storm.check()
    spark.stop()
    lives = [life for visitor in storm.visitors for life in visitor.lives]
    entries = sum(max(0, last - first + 1) for first, last in lives)
    print(f"{storm.rows} rows, {len(lives)} lives of {len(storm.visitors)} pipelines,")
    print(f"which read {entries} entries")
    print(*(wrong or ["each has the rows of its own lives"]), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
