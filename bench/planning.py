"""How long planning and EXPLAIN take, from 100 to 15 000 columns.

    make bench            or            python bench/planning.py

Prints a Markdown table. Times are medians of CPU time: planning uses one thread and waits for
nothing, and so a busy machine does not matter. The growth is the time for a column relative to that
at 1 000 columns: 1.0 all the way down means linear.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from time import process_time
from typing import NamedTuple

import narrows

COLUMNS = (100, 1_000, 5_000, 15_000)
REFERENCE = 1_000
PICKED = 10
ROUNDS = 5
TYPES = ("BIGINT", "DOUBLE", "STRING", "STRUCT<x: BIGINT, y: ARRAY<DOUBLE>>")


class Row(NamedTuple):
    """A measurement: what was done, on how many columns, and the CPU seconds it took."""

    what: str
    columns: int
    seconds: float


def main() -> None:
    rows = [row for count in COLUMNS for row in measure(count)]
    by_what = sorted(rows, key=lambda row: [r.what for r in rows].index(row.what))
    print(table(by_what))


def measure(count: int) -> Iterator[Row]:
    """Declares a stream of so many columns, and plans and explains queries over it."""
    ddl = _ddl(count)
    yield Row("`CREATE STREAM`", count, seconds(lambda: narrows.Catalog().execute(ddl)))
    catalog = narrows.Catalog()
    catalog.execute(ddl)
    for what, sql in _queries(count).items():
        yield Row(what, count, seconds(partial(_explain, sql, catalog)))


def _explain(sql: str, catalog: narrows.Catalog) -> str:
    return narrows.plan(sql, catalog).explain()


def _ddl(count: int) -> str:
    columns = ", ".join(f"column_{i} {TYPES[i % len(TYPES)]}" for i in range(count))
    return f"CREATE STREAM wide ({columns}) WITH (connector = 'file', path = 'data')"


def _queries(count: int) -> dict[str, str]:
    names = [f"column_{i}" for i in range(count)]
    return {
        "`SELECT *`": "SELECT * FROM wide",
        "all columns by name": f"SELECT {', '.join(names)} FROM wide",
        f"{PICKED} columns": f"SELECT {', '.join(names[:: count // PICKED][:PICKED])} FROM wide",
    }


def seconds(work: Callable[[], object]) -> float:
    """The median of some rounds, after one that fills the caches."""
    work()
    times = []
    for _ in range(ROUNDS):
        gc.collect()
        start = process_time()
        work()
        times.append(process_time() - start)
    return median(times)


def table(rows: Sequence[Row]) -> str:
    per_column = {(row.what, row.columns): row.seconds / row.columns for row in rows}
    lines = [
        "| what | columns | CPU milliseconds | time for a column, relative to 1 000 columns |",
        "|---|---:|---:|---:|",
    ]
    for row in rows:
        growth = per_column[row.what, row.columns] / per_column[row.what, REFERENCE]
        columns = f"{row.columns:,}".replace(",", " ")
        lines.append(f"| {row.what} | {columns} | {row.seconds * 1000:.1f} | {growth:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
