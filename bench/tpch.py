"""The 22 queries of TPC-H over NDJSON: Narrows against Spark's own JSON reader, on the same files.

    python bench/tpch.py [--scale 1] [--repeats 2] [--queries q1,q6]

Both sides run in one Spark session, in turns, and their answers are compared. Spark is told the
schema, so it need not infer it. The figures are ratios: seconds depend on the machine, and those of
the clock on who else uses it; CPU seconds are those of the driver, the JVM and the Python workers.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame

import narrows
import report
import tpch_data
from cost import Cost, measured


def main() -> None:
    options = report.options(__doc__, scale=1.0, repeats=2, queries="").parse_args()
    data = Path(tempfile.gettempdir()) / f"narrows-tpch-{options.scale}"
    chosen = options.queries.split(",") if options.queries else list(tpch_data.queries())
    with tempfile.TemporaryDirectory() as state, narrows.connect(state=state) as session:
        size = tpch_data.write(session.spark, data, options.scale)
        tpch_data.declare(session, data)
        tpch_data.declare_views(session.spark, data)
        print(f"TPC-H at scale {options.scale}, {size / 1e6:.0f} MB NDJSON\n")
        print("| query | Narrows s | Spark s | times | Narrows CPU s | Spark CPU s | times |")
        print("|---|---|---|---|---|---|---|", flush=True)
        found = {}
        for name in chosen:
            found[name] = _measure(session, tpch_data.queries()[name], options.repeats)
            print(_line(name, *found[name]), flush=True)
        ours, theirs = (_sum([pair[side] for pair in found.values()]) for side in (0, 1))
        print(_line("all", ours, theirs), "\n")
    reader, note = "Spark's JSON reader", f"scale {options.scale}, {size / 1e6:.0f} MB"
    slowest = min(found, key=lambda name: found[name][1].wall / found[name][0].wall)
    one, other = found[slowest]
    case = f"TPC-H on NDJSON, {len(chosen)} queries"
    report.publish(
        [
            report.Row(case, reader, ours.wall, theirs.wall, note=note),
            report.Row(f"{case}, CPU time", reader, ours.cpu, theirs.cpu, note=note),
            report.Row(f"TPC-H, its slowest: {slowest}", reader, one.wall, other.wall, note=note),
        ],
        options.json,
    )


def _measure(session: narrows.Session, sql: str, repeats: int) -> tuple[Cost, Cost]:
    """The median cost of both sides, from the text to the rows."""
    assert _rows(session.query(sql)) == _rows(session.spark.sql(sql)), sql  # warms up, too
    ours, theirs = [], []
    for _ in range(repeats):
        with measured() as cost:
            session.query(sql).collect()
        ours.append(cost)
        with measured() as cost:
            session.spark.sql(sql).collect()
        theirs.append(cost)
    return _median(ours), _median(theirs)


def _median(costs: Sequence[Cost]) -> Cost:
    walls, cpus = [cost.wall for cost in costs], [cost.cpu for cost in costs]
    return Cost(statistics.median(walls), statistics.median(cpus))


def _sum(costs: Sequence[Cost]) -> Cost:
    return Cost(sum(cost.wall for cost in costs), sum(cost.cpu for cost in costs))


def _line(name: str, ours: Cost, theirs: Cost) -> str:
    pairs = ((ours.wall, theirs.wall), (ours.cpu, theirs.cpu))
    figures = [f"{our:.2f} | {their:.2f} | {their / our:.2f}" for our, their in pairs]
    return f"| {name} | {' | '.join(figures)} |"


def _rows(frame: DataFrame) -> list[str]:
    return sorted(repr(tuple(row)) for row in frame.collect())


if __name__ == "__main__":
    main()
