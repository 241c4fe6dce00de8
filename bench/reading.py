"""Reading NDJSON: Narrows against what people write in Spark today.

    python bench/reading.py [--megabytes 1000] [--repeats 5] [--only small]

Both sides run in one Spark session on the same files, in turns, and their answers are compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

import narrows
import report
import wide_data

FOLDER = Path(tempfile.gettempdir()) / "narrows-bench"
FULL, PRUNED, READER = (
    "from_json, full schema",
    "from_json, schema pruned by hand",
    "Spark's JSON reader, full schema",
)


@dataclass(frozen=True)
class Case:
    name: str
    data: str
    schema: str
    sql: str
    """Of the stream `s`; and the same for Spark: what to select from the parsed row."""
    spark: tuple[str, ...]
    pruned: str | None = None
    against: tuple[str, ...] = (FULL, READER)
    share: float = 1.0
    """Of the megabytes that were asked for."""


WIDE = wide_data.schema()
CASES = (
    Case(
        "3 leaves of 43 columns and a 20-element list",
        "wide",
        WIDE,
        "SELECT c0, c4, b->items[0]->x AS x0 FROM s",
        ("c0", "c4", "get(b.items, 0).x AS x0"),
    ),
    Case(
        "the same, 400 more columns in our schema",
        "wide",
        wide_data.schema(400),
        "SELECT c0, c4, b->items[0]->x AS x0 FROM s",
        ("c0", "c4", "get(b.items, 0).x AS x0"),
        against=(),
    ),
    Case(
        "items[0] of a 1 000-element list",
        "lists",
        wide_data.LISTS,
        "SELECT id, items[0]->x AS x0 FROM s",
        ("id", "get(items, 0).x AS x0"),
        pruned="id BIGINT, items ARRAY<STRUCT<x: BIGINT>>",
        against=(PRUNED, FULL),
    ),
    Case(
        "SELECT *, all 43 columns and the list",
        "wide",
        WIDE,
        "SELECT * FROM s",
        ("*",),
        share=1.0,
    ),
    Case(
        "2 of 8 fields of 200-byte documents",
        "small",
        wide_data.SMALL,
        "SELECT id, kind FROM s",
        ("id", "kind"),
        share=0.4,
    ),
)


def main() -> None:
    parser = report.options(__doc__, megabytes=1000, repeats=5, only="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as state, narrows.connect(state=state) as session:
        rows = [
            row
            for case in CASES
            if options.only in case.name
            for row in measured(session, case, options.megabytes, options.repeats)
        ]
    report.publish(rows, options.json)


def measured(
    session: narrows.Session, case: Case, megabytes: int, repeats: int
) -> Iterator[report.Row]:
    data = FOLDER / case.data
    share = {c.data: c.share for c in CASES}[case.data]
    size = wide_data.write(data, int(megabytes * share), case.data)
    session.execute(
        f"CREATE OR REPLACE STREAM s ({case.schema}) WITH (connector = 'file', path = '{data}')"
    )
    sides: dict[str, Callable[[], DataFrame]] = {"narrows": lambda: session.query(case.sql)}
    sides |= {name: _spark(session, case, name, data) for name in case.against}
    answers = {name: _answer(make()) for name, make in sides.items()}
    assert len(set(answers.values())) == 1, answers
    runs = {name: _run(make) for name, make in sides.items()}
    report.in_turns(runs, 1)  # the JVM compiles what it runs often, on both sides
    seconds = report.in_turns(runs, repeats)
    ours = seconds.pop("narrows")
    print(f"{case.name}: {size / 1e6 / min(ours):.0f} MB/s of {size / 1e9:.2f} GB", flush=True)
    for name, theirs in seconds.items():
        yield report.compared(case.name, name, ours, theirs, note=f"{size / 1e9:.2f} GB")


def _spark(session: narrows.Session, case: Case, name: str, data: Path) -> Callable[[], DataFrame]:
    spark = session.spark
    if name == READER:
        return lambda: spark.read.schema(case.schema).json(str(data)).selectExpr(*case.spark)
    schema = case.pruned if name == PRUNED and case.pruned else case.schema

    def from_json() -> DataFrame:
        lines = spark.read.text(str(data))
        parsed = lines.select(F.from_json("value", schema).alias("row")).select("row.*")
        return parsed.selectExpr(*case.spark)

    return from_json


def _run(make: Callable[[], DataFrame]) -> Callable[[], None]:
    return lambda: make().write.format("noop").mode("overwrite").save()


def _answer(frame: DataFrame) -> tuple[object, ...]:
    """A fingerprint of the rows, whatever their order."""
    hashed = frame.select(F.xxhash64(*[F.col(c) for c in frame.columns]).alias("h"))
    row = hashed.agg(F.count("*"), F.sum(F.col("h") % 1_000_003), F.min("h")).collect()[0]
    return tuple(row)


if __name__ == "__main__":
    main()
