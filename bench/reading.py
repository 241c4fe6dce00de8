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
NOT_IN_READER = "Narrows, aggregated by Spark"
SORTED_BY_SPARK = "Narrows, sorted by Spark"
RULES = {
    NOT_IN_READER: "narrows.rule.partial_aggregation_into_reader",
    SORTED_BY_SPARK: "narrows.rule.limit_into_reader",
}


@dataclass(frozen=True)
class Case:
    name: str
    data: str
    schema: str
    sql: str
    """Of the stream `s`; and the same for Spark: what to select from the parsed row."""
    spark: tuple[str, ...]
    keys: tuple[str, ...] = ()
    """What Spark groups by; then it selects aggregates."""
    sorted_by: tuple[str, ...] = ()
    """What Spark sorts by, the largest first; then it takes a hundred rows."""
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
    Case(
        "sums of 1 000 groups of 43-column documents",
        "wide",
        WIDE,
        "SELECT b->c, count(*) AS n, sum(c3) AS s, float(avg(c2)) AS a FROM s GROUP BY b->c",
        ("count(*) AS n", "sum(c3) AS s", "float(avg(c2)) AS a"),
        keys=("b.c",),
        against=(FULL, READER, NOT_IN_READER),
    ),
    Case(
        "the first 100 of 43-column documents",
        "wide",
        WIDE,
        "SELECT c0, c1, c4, b->c AS c FROM s ORDER BY c3 DESC, c0 DESC LIMIT 100",
        ("c0", "c1", "c4", "b.c AS c"),
        sorted_by=("c3", "c0"),
        against=(FULL, READER, SORTED_BY_SPARK),
    ),
    Case(
        "sums of groups of one 43-column document each",
        "wide",
        WIDE,
        "SELECT c0, count(*) AS n, sum(c3) AS s, float(avg(c2)) AS a FROM s GROUP BY c0",
        ("count(*) AS n", "sum(c3) AS s", "float(avg(c2)) AS a"),
        keys=("c0",),
        against=(FULL, READER, NOT_IN_READER),
    ),
    Case(
        "sums of 3 groups of 200-byte documents",
        "small",
        wide_data.SMALL,
        "SELECT kind, count(*) AS n, sum(n) AS s, float(avg(score)) AS a FROM s GROUP BY kind",
        ("count(*) AS n", "sum(n) AS s", "float(avg(score)) AS a"),
        keys=("kind",),
        against=(FULL, READER, NOT_IN_READER),
        share=0.4,
    ),
    Case(
        "sums of groups of one 200-byte document each",
        "small",
        wide_data.SMALL,
        "SELECT id, count(*) AS n, sum(n) AS s, float(avg(score)) AS a FROM s GROUP BY id",
        ("count(*) AS n", "sum(n) AS s", "float(avg(score)) AS a"),
        keys=("id",),
        against=(FULL, READER, NOT_IN_READER),
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
    sides |= {name: _other(session, case, name, data) for name in case.against}
    answers = {name: _answer(make()) for name, make in sides.items()}
    assert len(set(answers.values())) == 1, answers
    runs = {name: _run(make) for name, make in sides.items()}
    report.in_turns(runs, 1)  # the JVM compiles what it runs often, on both sides
    seconds = report.in_turns(runs, repeats)
    ours = seconds.pop("narrows")
    print(f"{case.name}: {size / 1e6 / min(ours):.0f} MB/s of {size / 1e9:.2f} GB", flush=True)
    for name, theirs in seconds.items():
        yield report.compared(case.name, name, ours, theirs, note=f"{size / 1e9:.2f} GB")


def _other(session: narrows.Session, case: Case, name: str, data: Path) -> Callable[[], DataFrame]:
    spark = session.spark
    schema = case.pruned if name == PRUNED and case.pruned else case.schema

    def parsed() -> DataFrame:
        if name == READER:
            return spark.read.schema(case.schema).json(str(data))
        lines = spark.read.text(str(data))
        return lines.select(F.from_json("value", schema).alias("row")).select("row.*")

    def by_spark() -> DataFrame:
        if case.sorted_by:
            sorted_rows = parsed().orderBy(*map(F.desc, case.sorted_by))
            return sorted_rows.limit(100).selectExpr(*case.spark)
        if not case.keys:
            return parsed().selectExpr(*case.spark)
        return parsed().groupBy(*map(F.expr, case.keys)).agg(*map(F.expr, case.spark))

    def without_rule() -> DataFrame:
        session.execute(f"SET {RULES[name]} = off")
        try:
            return session.query(case.sql)
        finally:
            session.execute(f"SET {RULES[name]} = on")

    return without_rule if name in RULES else by_spark


def _run(make: Callable[[], DataFrame]) -> Callable[[], None]:
    return lambda: make().write.format("noop").mode("overwrite").save()


def _answer(frame: DataFrame) -> tuple[object, ...]:
    """A fingerprint of the rows, whatever their order."""
    hashed = frame.select(F.xxhash64(*[F.col(c) for c in frame.columns]).alias("h"))
    row = hashed.agg(F.count("*"), F.sum(F.col("h") % 1_000_003), F.min("h")).collect()[0]
    return tuple(row)


if __name__ == "__main__":
    main()
