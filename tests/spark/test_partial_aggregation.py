"""Aggregates that tasks begin and Spark merges are those of Spark: for every type, in both of its
modes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from statistics import pvariance
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import narrows
from narrows.catalog.measured import NOTHING_MEASURED

NAN, INFINITY = float("nan"), float("inf")
NUMBERS = [0, 1, -1, 5, 100]
COLUMNS: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "BOOLEAN": (pa.bool_(), [True, False]),
    "TINYINT": (pa.int8(), [*NUMBERS, 127, -128]),
    "SMALLINT": (pa.int16(), [*NUMBERS, 32767]),
    "INT": (pa.int32(), [*NUMBERS, 2**31 - 1]),
    "BIGINT": (pa.int64(), [*NUMBERS, 2**40]),
    "FLOAT": (pa.float32(), [0.0, -0.0, 0.5, -1.5, NAN, INFINITY]),
    "DOUBLE": (pa.float64(), [0.0, -0.0, 0.5, -1.5, NAN, -INFINITY]),
    "DECIMAL(6,2)": (pa.decimal128(6, 2), [Decimal("0.00"), Decimal("9999.99"), Decimal("-1.50")]),
    "DECIMAL(15,2)": (
        pa.decimal128(15, 2),
        [*map(Decimal, ("0.01", "-0.02", "3.14", "9999999999999.99", "-9999999999999.99"))],
    ),
    "DECIMAL(38,0)": (pa.decimal128(38, 0), [Decimal(10**37), Decimal(-1)]),
    "STRING": (pa.string(), ["", "a", "b", "ä", "𝄞"]),
    "BINARY": (pa.binary(), [b"", b"a", b"\xff"]),
    "DATE": (pa.date32(), [date(1970, 1, 1), date(1900, 1, 1), date(9999, 12, 31)]),
    "TIMESTAMP": (
        pa.timestamp("us", "UTC"),
        [datetime(1970, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 1, UTC)],
    ),
}
ROWS = 300
TABLES = ("rows", "none", "one")


def _name(dtype: str) -> str:
    return "c_" + "".join(letter if letter.isalnum() else "_" for letter in dtype)


SCHEMA = ", ".join(["n BIGINT", *(f"{_name(dtype)} {dtype}" for dtype in COLUMNS)])
NAMES = [_name(dtype) for dtype in COLUMNS]
NUMERIC = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")


def _calls() -> list[str]:
    calls = ["count(*)", "count_if(c_INT > 1)", "bool_and(c_BOOLEAN)", "some(c_INT = 5)"]
    for dtype in COLUMNS:
        name = _name(dtype)
        calls += [f"count({name})", f"min({name})", f"max({name}) FILTER (WHERE c_BIGINT > 0)"]
    calls += [f"sum({_name(dtype)})" for dtype in (*NUMERIC, "DECIMAL(6,2)")]
    calls += [f"avg({_name(dtype)})" for dtype in (*NUMERIC, "DECIMAL(6,2)", "DECIMAL(15,2)")]
    calls += ["sum(c_DECIMAL_15_2_)", "sum(c_DECIMAL_15_2_ * (1 - c_DECIMAL_6_2_))"]
    return calls


CALLS = ", ".join(_calls())
SPREADS = ("std", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop")


@pytest.fixture(scope="module")
def session(
    small_data: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[narrows.Session]:
    folder = Path(tmp_path_factory.mktemp("aggregated"))
    random = Random(19)
    arrays = [
        pa.array([random.choice([None, *values]) for _ in range(ROWS)], kind)
        for kind, values in COLUMNS.values()
    ]
    numbers = random.sample(range(ROWS), ROWS)
    table = pa.table([numbers, *arrays], names=["n", *map(_name, COLUMNS)])
    for name in TABLES:
        (folder / name).mkdir()
    for part in range(3):
        rows = table.slice(part * ROWS // 3, ROWS // 3)
        pq.write_table(rows, folder / "rows" / f"{part}.parquet")
    pq.write_table(table.slice(0, 0), folder / "none" / "0.parquet")
    pq.write_table(table, folder / "one" / "0.parquet")
    session = narrows.connect(small_data, state=folder / "state")
    session.catalog.measured = NOTHING_MEASURED  # files as small as these are left to Spark
    for name in TABLES:
        session.execute(
            f"CREATE TABLE t_{name} ({SCHEMA})"
            f" WITH (connector = 'file', format = 'parquet', path = '{folder / name}')"
        )
        small_data.read.parquet(str(folder / name)).createOrReplaceTempView(f"t_{name}")
    yield session
    session.close()


def _rows(frame: DataFrame) -> list[str]:
    """Rows as text; zero has no sign, whichever of two was first."""
    return sorted(
        repr([v + 0.0 if isinstance(v, float) else v for v in row]) for row in frame.collect()
    )


def _types(frame: DataFrame) -> list[str]:
    return [field.dataType.simpleString() for field in frame.schema]


def _compare(session: narrows.Session, sql: str) -> None:
    (plan,) = session.execute(f"EXPLAIN PHYSICAL {sql}")
    assert "PhysicalPartialAggregation" in str(plan), plan
    ours, theirs = session.query(sql), session.spark.sql(sql)
    assert _types(ours) == _types(theirs), sql
    assert _rows(ours) == _rows(theirs), sql


@pytest.mark.parametrize("dtype", COLUMNS)
def test_every_type_as_key(session: narrows.Session, dtype: str) -> None:
    name = _name(dtype)
    _compare(
        session, f"SELECT {name}, count(*), sum(c_INT), max(c_DOUBLE) FROM t_rows GROUP BY {name}"
    )


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {CALLS} FROM t_rows",
        f"SELECT {CALLS} FROM t_none",
        f"SELECT c_STRING, {CALLS} FROM t_rows WHERE c_INT > 0 GROUP BY c_STRING",
        f"SELECT c_STRING, {CALLS} FROM t_none GROUP BY c_STRING",
        "SELECT c_INT > 1, c_BOOLEAN, count(*) FROM t_rows GROUP BY c_INT > 1, c_BOOLEAN",
        "SELECT c_STRING, count(DISTINCT c_DOUBLE), sum(DISTINCT c_INT), avg(c_INT) FROM t_rows"
        " GROUP BY c_STRING",
        "SELECT c_STRING, c_BOOLEAN, grouping(c_STRING), sum(c_INT), count(DISTINCT c_INT)"
        " FROM t_rows GROUP BY CUBE (c_STRING, c_BOOLEAN)",
        "SELECT c_STRING FROM t_rows GROUP BY c_STRING HAVING count(*) > 40 AND sum(c_INT) > 0",
        "SELECT c_INT FROM t_rows WHERE c_INT = (SELECT max(c_INT) FROM t_rows)",
        "SELECT c_STRING, max_by(c_INT, n), stddev(n), approx_count_distinct(c_INT) FROM t_rows"
        " WHERE n < 3 GROUP BY c_STRING",
    ],
)
def test_in_both_modes(session: narrows.Session, sql: str, ansi: str) -> None:
    before = session.spark.conf.get("spark.sql.ansi.enabled")
    session.spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        _compare(session, sql)
    finally:
        session.spark.conf.set("spark.sql.ansi.enabled", str(before))


@pytest.mark.parametrize(
    "call",
    [
        # NULL where it has too many digits
        "sum(c_DECIMAL_15_2_ * (1 - c_DECIMAL_15_2_) * (1 + c_DECIMAL_15_2_))",
        "sum(c_DECIMAL_15_2_ * (1 - c_DECIMAL_6_2_) * (1 + c_DECIMAL_15_2_))",
        "sum(c_DECIMAL_38_0_)",  # of 10**37 and more of them
    ],
)
def test_decimals_of_too_many_digits(session: narrows.Session, call: str) -> None:
    _compare(session, f"SELECT c_INT, {call} FROM t_rows GROUP BY c_INT")


def test_a_sum_that_does_not_fit(session: narrows.Session, tmp_path: Path) -> None:
    large = pa.table({"k": [1] * 4, "x": pa.array([2**62] * 4, pa.int64())})
    pq.write_table(large, tmp_path / "large.parquet")
    session.execute(
        "CREATE OR REPLACE TABLE large (k BIGINT, x BIGINT)"
        f" WITH (connector = 'file', format = 'parquet', path = '{tmp_path}')"
    )
    session.spark.read.parquet(str(tmp_path)).createOrReplaceTempView("large")
    sql = "SELECT k, sum(x) FROM large GROUP BY k"
    _compare(session, sql)
    before = session.spark.conf.get("spark.sql.ansi.enabled")
    session.spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        for frame in (session.spark.sql(sql), session.query(sql)):
            with pytest.raises(PySparkException, match="ARITHMETIC_OVERFLOW"):
                frame.collect()
    finally:
        session.spark.conf.set("spark.sql.ansi.enabled", str(before))


@pytest.mark.parametrize("where", ["t_rows GROUP BY c_STRING", "t_none"])
def test_the_value_beside_the_largest(session: narrows.Session, where: str) -> None:
    # Where several are the largest it is open whose value is taken; `n` is another in each row.
    calls = [f"max_by({n}, n), min_by({n}, n) FILTER (WHERE c_INT > 0)" for n in NAMES]
    calls += [f"max_by({name}, {name}), min_by({name}, {name})" for name in NAMES]
    _compare(session, f"SELECT {', '.join(calls)} FROM {where}")


@pytest.mark.parametrize("where", ["t_rows", "t_rows GROUP BY c_STRING", "t_none"])
def test_how_many_there_are_about(session: narrows.Session, where: str) -> None:
    # Closer ones are a long program to Spark.
    calls = [f"approx_count_distinct({name}, 0.3)" for name in NAMES]
    calls += ["approx_count_distinct(n)", "approx_count_distinct(n, 0.3) FILTER (WHERE c_INT > 0)"]
    _compare(session, f"SELECT {', '.join(calls)} FROM {where}")


def _numbers(frame: DataFrame) -> list[list[float]]:
    """Rows in order; what is NULL is a number that nothing else comes to."""
    rows = ([-1.0 if v is None else float(v) for v in row] for row in frame.collect())
    return sorted(rows, key=lambda row: row[0])


@pytest.mark.parametrize(
    "where", ["t_rows", "t_rows GROUP BY c_TINYINT", "t_rows GROUP BY n", "t_none"]
)
def test_deviations(session: narrows.Session, where: str) -> None:
    """Of many values, of one, of none, and of what is no number."""
    calls = [f"{call}(c_INT) FILTER (WHERE c_BIGINT > 1)" for call in SPREADS]
    calls += [f"{c}({_name(dtype)})" for dtype in NUMERIC for c in ("stddev", "var_pop")]
    sql = f"SELECT max(n), {', '.join(calls)}, count(*) FROM {where}"
    (plan,) = session.execute(f"EXPLAIN PHYSICAL {sql}")
    assert "regr_sxx" in str(plan)
    ours, theirs = session.query(sql), session.spark.sql(sql)
    assert _types(ours) == _types(theirs)
    for mine, other in zip(_numbers(ours), _numbers(theirs), strict=True):
        assert mine == pytest.approx(other, rel=1e-12, abs=0, nan_ok=True)


def test_values_far_from_zero_and_close_to_each_other(
    session: narrows.Session, tmp_path: Path
) -> None:
    """Squares of such have no digits left for what they differ by."""
    random = Random(4)
    far = [1e9 + random.random() for _ in range(3_000)]
    for part in range(3):
        rows = {"x": far[part::3], "same": [0.1] * 1_000}
        pq.write_table(pa.table(rows), tmp_path / f"{part}.parquet")
    session.execute(
        "CREATE OR REPLACE TABLE far (x DOUBLE, same DOUBLE)"
        f" WITH (connector = 'file', format = 'parquet', path = '{tmp_path}')"
    )
    sql = "SELECT var_pop(x), stddev(same) FROM far"
    ((variance, none),) = session.query(sql).collect()
    assert variance == pytest.approx(float(pvariance(map(Fraction, far))), rel=1e-6)
    assert none == 0.0


@pytest.mark.parametrize("group", ["", " GROUP BY c_INT, c_BOOLEAN"])
def test_rows_of_a_task_keep_their_order(session: narrows.Session, group: str) -> None:
    """Of one file, which one task reads, Spark says who is first; and of equal ones the last is the
    largest, and the smallest."""
    calls = [f"max_by(n, {name}), min_by(n, {name}), first({name})" for name in NAMES]
    for name in NAMES[::3]:
        calls += [f"last_value({name}) IGNORE NULLS", f"any_value({name})"]
        calls += [f"last({name}) FILTER (WHERE c_INT > 1)"]
        calls += [f"first({name}) FILTER (WHERE c_INT > 1) IGNORE NULLS"]
    _compare(session, f"SELECT {', '.join(calls)} FROM t_one{group}")


def test_a_value_of_a_group_is_one_that_it_has(session: narrows.Session) -> None:
    """Whichever task comes first: what a FILTER drops is no NULL."""
    calls = "any_value(c_INT) FILTER (WHERE c_INT = 5), first(c_STRING) FILTER (WHERE n = 7)"
    _compare(session, f"SELECT c_BOOLEAN, {calls} FROM t_rows GROUP BY c_BOOLEAN")


@pytest.mark.parametrize("group", ["", " GROUP BY c_STRING"])
def test_constants(session: narrows.Session, group: str) -> None:
    calls = ["min(NULL)", "max_by(NULL, n)", "max_by(n, NULL)", "max_by(n, 1)", "max_by('x', n)"]
    calls += ["first(NULL)", "any_value(1.5)", "stddev(2)", "approx_count_distinct('x')"]
    calls += ["approx_count_distinct(NULL)", "count(DISTINCT NULL)"]
    for call in calls:
        sql = f"SELECT {call} FROM t_one{group}"
        ours, theirs = session.query(sql), session.spark.sql(sql)
        assert _types(ours) == _types(theirs), sql
        assert _rows(ours) == _rows(theirs), sql


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT first(c_INT), count(DISTINCT c_DATE) FROM t_one",
        "SELECT last(c_INT), approx_count_distinct(c_DATE) FROM t_one",
        "SELECT c_DATE, c_STRING, last(c_INT) FROM t_one GROUP BY CUBE (c_DATE, c_STRING)",
        "SELECT max_by(c_INT, n, 3) FROM t_one",
        "SELECT first(c_INT, true) FROM t_one",
        "SELECT stddev(c_DECIMAL_6_2_) FROM t_one",
    ],
)
def test_what_is_left_to_spark(session: narrows.Session, sql: str) -> None:
    (plan,) = session.execute(f"EXPLAIN PHYSICAL {sql}")
    assert "PhysicalPartialAggregation" not in str(plan), plan
    assert _rows(session.query(sql)) == _rows(session.spark.sql(sql))
