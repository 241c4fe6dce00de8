"""A window that folds its rows gives what Spark makes of them, to the bit: for every type, in both
of Spark's modes, as a query and as a pipeline that is stopped and goes on."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import narrows

NAN, INFINITY = float("nan"), float("inf")
AUTUMN = datetime(2024, 10, 27, 0, 30, tzinfo=UTC)
COLUMNS: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "BOOLEAN": (pa.bool_(), [True, False]),
    "TINYINT": (pa.int8(), [0, 5, 127, -128]),
    "INT": (pa.int32(), [0, 1, -1, 5, 2**31 - 1]),
    "BIGINT": (pa.int64(), [0, 3, 2**53 + 1, -(2**40)]),
    "FLOAT": (pa.float32(), [0.0, -0.0, 0.1, -1.5, NAN, INFINITY]),
    "DOUBLE": (pa.float64(), [0.1, 0.7, 1e16, -1.5, 3.3]),
    "WIDE": (pa.float64(), [0.0, -0.0, 1e200, NAN, -INFINITY]),
    "DECIMAL(6,2)": (pa.decimal128(6, 2), [Decimal("0.01"), Decimal("9999.99"), Decimal("-1.50")]),
    "DECIMAL(28,5)": (pa.decimal128(28, 5), [Decimal("1.00001"), Decimal(10**22), Decimal(-7)]),
    "STRING": (pa.string(), ["", "a", "ä", "𝄞"]),
    "BINARY": (pa.binary(), [b"", b"a", b"\xff"]),
    "DATE": (pa.date32(), [date(1970, 1, 1), date(1900, 1, 1), date(9999, 12, 31)]),
    "TIMESTAMP": (pa.timestamp("us", "UTC"), [AUTUMN, AUTUMN + timedelta(hours=1)]),
}
ROWS, FILES = 240, 4


def _name(dtype: str) -> str:
    return "c_" + "".join(letter if letter.isalnum() else "_" for letter in dtype)


SCHEMA = ", ".join(f"{_name(n)} {'DOUBLE' if n == 'WIDE' else n}" for n in COLUMNS)
NUMBERS = ("TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "WIDE")
DECIMALS = ("DECIMAL(6,2)", "DECIMAL(28,5)")
SPREADS = ("stddev", "stddev_pop", "var_samp", "variance", "var_pop")


def _calls() -> list[str]:
    calls = ["count(*)", "count(c_INT, c_DATE)", "count_if(c_INT > 1)", "bool_and(c_BOOLEAN)"]
    calls += ["some(c_INT = 5)", "count(*) FILTER (WHERE c_INT = 5)", "count(NULL)"]
    for name in map(_name, COLUMNS):
        calls += [f"min({name})", f"max({name}) FILTER (WHERE c_BIGINT > 0)", f"count({name})"]
        calls += [f"first({name})", f"last({name}) IGNORE NULLS"]
        calls += [f"any_value({name}) IGNORE NULLS", f"last_row({name})", f"last_value({name})"]
    calls += [f"{call}({_name(n)})" for n in (*NUMBERS, *DECIMALS) for call in ("sum", "avg")]
    calls += [f"{call}({_name(n)})" for n in NUMBERS for call in SPREADS]
    return calls


CALLS = {
    "plain": _calls(),
    # By themselves: beside them Spark sorts rows, and adds in another order.
    "distinct": [f"count(DISTINCT {name})" for name in map(_name, COLUMNS)],
}
FEW = (
    "count(*) AS n, sum(c_INT) AS i, avg(c_INT) AS d, max(c_STRING) AS s,"
    " count(DISTINCT c_BIGINT) AS b, last_row(c_TINYINT) AS m"
)
OFF = "SET narrows.rule.streaming_aggregation_rewrite = off"
ON = "SET narrows.rule.streaming_aggregation_rewrite = on"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(tmp_path_factory.mktemp("folded"))
    random = Random(18)
    table = pa.table(
        [
            pa.array(range(1_000, 1_000 + ROWS), pa.int64()),
            pa.array([random.choice("xyz") for _ in range(ROWS)], pa.string()),
            *(
                pa.array([random.choice([None, *values]) for _ in range(ROWS)], kind)
                for kind, values in COLUMNS.values()
            ),
        ],
        names=["ts", "k", *map(_name, COLUMNS)],
    )
    (folder / "all").mkdir()
    for part in range(FILES):
        rows = table.slice(part * ROWS // FILES, ROWS // FILES)
        pq.write_table(rows, folder / "all" / f"{part}.parquet")
    return folder


@pytest.fixture(scope="module")
def session(small_data: SparkSession, folder: Path) -> Iterator[narrows.Session]:
    with narrows.connect(small_data, state=folder / "state") as session:
        for name in ("all", "coming"):
            session.execute(
                f"CREATE STREAM s_{name} (ts BIGINT, k STRING, {SCHEMA}) WITH (connector = 'file',"
                f" format = 'parquet', path = '{folder / name}', eventtime = 'ts',"
                " eventtime_unit = 's', watermark = '1 second')"
            )
        yield session


@pytest.fixture
def ansi(request: pytest.FixtureRequest, session: narrows.Session) -> Iterator[None]:
    before = str(session.spark.conf.get("spark.sql.ansi.enabled"))
    session.spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield
    session.spark.conf.set("spark.sql.ansi.enabled", before)


def _bits(value: Any) -> str:
    """A value with its sign and all digits; there are many NaNs, which nobody can tell apart."""
    if not isinstance(value, float) or value != value:
        return repr(value)
    return struct.pack(">d", value).hex()


def _rows(session: narrows.Session, sql: str) -> list[list[str]]:
    """Rows as text, the types before them."""
    frame = session.query(sql)
    types = [field.dataType.simpleString() for field in frame.schema]
    return [types, *sorted([_bits(value) for value in row] for row in frame.collect())]


def _both_ways(session: narrows.Session, sql: str) -> tuple[list[list[str]], list[list[str]]]:
    """The rows of windows that fold, and those of windows that keep their rows."""
    assert _folds(session, sql)
    folded = _rows(session, sql)
    session.execute(OFF)
    try:
        assert not _folds(session, sql)
        kept = _rows(session, sql)
    finally:
        session.execute(ON)
    assert len(folded) > 2
    return folded, kept


def _folds(session: narrows.Session, sql: str) -> bool:
    (plan,) = session.execute(f"EXPLAIN PHYSICAL {sql}")
    return "PhysicalStreamingAggregation" in str(plan)


@pytest.mark.parametrize("ansi", ["false", "true"], indirect=True)
@pytest.mark.parametrize("window", ["countwindow(7)", "slidingwindow('ss', 20, 5)"])
@pytest.mark.parametrize("kind", CALLS)
def test_every_aggregate_of_every_type(
    session: narrows.Session, ansi: None, window: str, kind: str
) -> None:
    shown = ["k", "window_start()", "window_end()", *CALLS[kind]]
    sql = f"SELECT {', '.join(shown)} FROM s_all GROUP BY k, {window}"
    folded, kept = _both_ways(session, sql)
    different = {
        call: (one, other)
        for mine, theirs in zip(folded, kept, strict=True)
        for call, one, other in zip(shown, mine, theirs, strict=True)
        if one != other
    }
    assert not different


@pytest.mark.parametrize("keys", ["c_WIDE", "c_TIMESTAMP, c_BINARY", "c_DECIMAL_6_2_, c_DATE"])
def test_groups_of_a_window(session: narrows.Session, keys: str) -> None:
    window = "statewindow(c_INT = 5, c_BIGINT = 3 AND c_INT < 5)"
    sql = f"SELECT {keys}, {FEW} FROM s_all GROUP BY {keys}, {window}"
    folded, kept = _both_ways(session, sql)
    assert folded == kept


def test_a_sum_that_is_too_large(session: narrows.Session) -> None:
    sql = "SELECT sum(c_BIGINT + 9223372036854775000 - ts) FROM s_all GROUP BY countwindow(50)"
    folded, kept = _both_ways(session, sql)
    assert folded == kept, "it wraps around"
    session.spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        fine = sql.replace("c_BIGINT +", "").replace("- ts", "")
        with pytest.raises((PySparkException, narrows.NarrowsError), match="ARITHMETIC_OVERFLOW"):
            session.query(fine).collect()
    finally:
        session.spark.conf.set("spark.sql.ansi.enabled", "false")


def test_a_pipeline_that_is_stopped_and_goes_on(session: narrows.Session, folder: Path) -> None:
    """Each run reads one file, so every window but the last few is open over several of them."""
    (folder / "coming").mkdir()
    grouped = {
        "counted": f"SELECT k, {FEW} FROM s_{{}} GROUP BY k, countwindow(40)",
        "opened": f"SELECT k, {FEW} FROM s_{{}} GROUP BY k, statewindow(ts % 50 = 0, ts % 50 = 49)",
        "slid": f"SELECT k, {FEW} FROM s_{{}} GROUP BY k, slidingwindow('ss', 70)",
    }
    for name, query in grouped.items():
        session.execute(f"CREATE SINK out_{name} WITH (connector = 'memory')")
        session.execute(f"CREATE PIPELINE {name} INTO out_{name} AS {query.format('coming')}")
    for part in range(FILES):
        shutil.copy(folder / "all" / f"{part}.parquet", folder / "coming")
        last = part == FILES - 1
        session.start(*grouped, once=True, close_windows=last).await_done(timeout=300)
    for name, query in grouped.items():
        written = sorted(repr(list(row.values())) for row in session.rows(f"out_{name}"))
        rows = session.query(query.format("all")).collect()
        assert written == sorted(repr(list(row)) for row in rows)
