"""Three leaves of wide documents: Narrows against what people write in Spark today.

    python bench/narrow_over_wide.py [--megabytes 1000] [--repeats 3]

Both sides run in one Spark session on the same files, in turns, and their answers are compared. The
figures are ratios: seconds depend on the machine and on who else uses it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

import narrows
import wide_data

SELECT = "SELECT c0, c4, b->items[0]->x AS x0 FROM wide"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "narrows-bench")
    options = parser.parse_args()
    size = wide_data.write(options.data, options.megabytes)
    with tempfile.TemporaryDirectory() as state, narrows.connect(state=state) as session:
        sides = _sides(session, options.data)
        answers = {name: _answer(make()) for name, make in sides.items()}  # warms up, too
        assert len(set(answers.values())) == 1, answers
        times: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(options.repeats):
            for name, make in sides.items():
                times[name].append(_seconds(make))
    print(f"\n{size / 1e9:.2f} GB NDJSON, {SELECT}\n")
    ours = statistics.median(times["narrows"])
    print("| side | median s | MB/s | spread | times slower than Narrows |")
    print("|---|---|---|---|---|")
    for name, seconds in times.items():
        median = statistics.median(seconds)
        spread = f"{min(seconds):.1f}-{max(seconds):.1f}"
        rate = size / 1e6 / median
        print(f"| {name} | {median:.2f} | {rate:.0f} | {spread} | {median / ours:.2f} |")


def _sides(session: narrows.Session, data: Path) -> dict[str, Callable[[], DataFrame]]:
    spark = session.spark
    for name, extra in (("wide", 0), ("wider", 400)):
        session.execute(
            f"CREATE STREAM {name} ({wide_data.schema(extra)})"
            f" WITH (connector = 'file', path = '{data}')"
        )
    schema = wide_data.schema()
    chosen = [F.col("c0"), F.col("c4"), F.expr("get(b.items, 0).x").alias("x0")]

    def from_json() -> DataFrame:
        lines = spark.read.text(str(data))
        parsed = lines.select(F.from_json("value", schema).alias("row")).select("row.*")
        return parsed.select(*chosen)

    return {
        "narrows": lambda: session.query(SELECT),
        "narrows, 400 more columns in the schema": lambda: session.query(
            SELECT.replace("wide", "wider")
        ),
        "from_json, full schema": from_json,
        "Spark's JSON reader, full schema": lambda: (
            spark.read.schema(schema).json(str(data)).select(*chosen)
        ),
    }


def _seconds(make: Callable[[], DataFrame]) -> float:
    started = time.perf_counter()
    make().write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def _answer(frame: DataFrame) -> tuple[object, ...]:
    row = frame.agg(
        F.count("*"), F.sum("c0"), F.sum(F.hash("c4").cast("long")), F.sum("x0")
    ).collect()[0]
    return tuple(row)


if __name__ == "__main__":
    main()
