"""The 22 queries of TPC-H over NDJSON: Narrows against Spark's own JSON reader, on the same files.

    python bench/tpch.py [--scale 1] [--repeats 2] [--queries q1,q6]

Both sides run in one Spark session, in turns, and their answers are compared. Spark is told the
schema, so it need not infer it. The figures are ratios: seconds depend on the machine.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame

import narrows
import report
import tpch_data


def main() -> None:
    options = report.options(__doc__, scale=1.0, repeats=2, queries="").parse_args()
    data = Path(tempfile.gettempdir()) / f"narrows-tpch-{options.scale}"
    chosen = options.queries.split(",") if options.queries else list(tpch_data.queries())
    with tempfile.TemporaryDirectory() as state, narrows.connect(state=state) as session:
        size = tpch_data.write(session.spark, data, options.scale)
        tpch_data.declare(session, data)
        tpch_data.declare_views(session.spark, data)
        print(f"TPC-H at scale {options.scale}, {size / 1e6:.0f} MB NDJSON\n")
        print("| query | Narrows s | Spark s | Spark / Narrows |")
        print("|---|---|---|---|", flush=True)
        all_ours, all_theirs, slowest = 0.0, 0.0, (0.0, 1.0, "")
        for name in chosen:
            ours, theirs = _measure(session, tpch_data.queries()[name], options.repeats)
            all_ours, all_theirs = all_ours + ours, all_theirs + theirs
            slowest = max(slowest, (ours / theirs, ours, name))
            print(f"| {name} | {ours:.2f} | {theirs:.2f} | {theirs / ours:.2f} |", flush=True)
        print(f"| all | {all_ours:.2f} | {all_theirs:.2f} | {all_theirs / all_ours:.2f} |\n")
    reader, note = "Spark's JSON reader", f"scale {options.scale}, {size / 1e6:.0f} MB"
    ratio, seconds, name = slowest
    report.publish(
        [
            report.Row(
                f"TPC-H on NDJSON, {len(chosen)} queries", reader, all_ours, all_theirs, note=note
            ),
            report.Row(f"TPC-H, its slowest: {name}", reader, seconds, seconds / ratio, note=note),
        ],
        options.json,
    )


def _measure(session: narrows.Session, sql: str, repeats: int) -> tuple[float, float]:
    """The median seconds of both sides, from the text to the rows."""
    assert _rows(session.query(sql)) == _rows(session.spark.sql(sql)), sql  # warms up, too
    ours, theirs = [], []
    for _ in range(repeats):
        started = time.perf_counter()
        session.query(sql).collect()
        ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        session.spark.sql(sql).collect()
        theirs.append(time.perf_counter() - started)
    return statistics.median(ours), statistics.median(theirs)


def _rows(frame: DataFrame) -> list[str]:
    return sorted(repr(tuple(row)) for row in frame.collect())


if __name__ == "__main__":
    main()
