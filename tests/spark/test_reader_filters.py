"""A reader's test says what Spark says: every type of column with every type of constant.

Tests are translated as the planner does it and run on Arrow; Spark computes all of them in one
query, in both of its modes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from narrows.expressions.nodes import Expr
from narrows.physical.in_reader.worker_predicate import leaf_test
from narrows.sql.parser.types import read_schema
from narrows.worker.evaluate import evaluate
from support.bound import bound

NAN, INFINITY = float("nan"), float("inf")
COLUMNS: dict[str, tuple[pa.DataType, Sequence[object]]] = {
    "TINYINT": (pa.int8(), [None, 0, 1, -1, 5, 127, -128]),
    "SMALLINT": (pa.int16(), [None, 0, 1, -1, 5, 32767, -32768]),
    "INT": (pa.int32(), [None, 0, 1, -1, 5, 16777217, 2**31 - 1]),
    "BIGINT": (pa.int64(), [None, 0, 1, 5, 16777217, 2**53 + 1, -(2**63)]),
    "FLOAT": (pa.float32(), [None, -0.0, 0.1, 5.0, 16777216.0, NAN, -INFINITY]),
    "DOUBLE": (pa.float64(), [None, -0.0, 0.1, 5.0, 2.0**53, NAN, INFINITY]),
    "DECIMAL(5,2)": (pa.decimal128(5, 2), [None, *map(Decimal, ("0", "0.1", "5", "999.99", "-1"))]),
    "DECIMAL(38,0)": (pa.decimal128(38, 0), [None, *map(Decimal, (0, 1, 5, 2**53 + 1, 10**37))]),
    "STRING": (pa.string(), [None, "", "5", "a", "0.1", "2020-01-01", "true"]),
    "BINARY": (pa.binary(), [None, b"", b"5", b"a", b"\xff", b"x"]),
    "BOOLEAN": (pa.bool_(), [None, True, False]),
    "DATE": (pa.date32(), [None, date(2020, 1, 1), date(1969, 12, 31), date(1, 1, 1)]),
    "TIMESTAMP": (
        pa.timestamp("us", "UTC"),
        [None, datetime(2020, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, tzinfo=UTC)],
    ),
}
NUMBERS = (
    *("0", "1", "-1", "5", "127", "128", "-128", "32768", "16777216", "16777217", "-16777217"),
    *("2147483647", "2147483648", "-2147483648", "9007199254740993", "9223372036854775807"),
    *("-9223372036854775808", "9223372036854775808", "5L", "-5L", "9007199254740993L", "16777217L"),
    *("2S", "-2S", "1Y", "-128Y", "0.1", "-0.1", "5.00", "5.000", "999.99", "1000.5", "1e0", "0.0"),
    *("1e-1", "-0.0", "0.1F", "5F", "0.1D", "16777217F", "5D", "0.1BD", "1e2BD", "12.345BD"),
)
OTHERS = (
    *("NULL", "true", "false", "''", "'5'", "'a'", "'0.1'", "'2020-01-01'", "X'35'"),
    *("DATE '2020-01-01'", "DATE '1969-12-31'", "TIMESTAMP '2020-01-01 00:00:00'"),
    *("CAST('2020-01-01' AS DATE)", "CAST(5 AS TINYINT)", "CAST(16777217 AS FLOAT)"),
)
SHAPES = (
    *("{c} <> {k}", "{c} <= {k}", "{c} > {k}", "{k} > {c}", "{c} IN (1, {k})", "{c} LIKE {k}"),
    *("{c} BETWEEN {k} AND 5", "NOT ({c} = {k} OR {c} IS NULL)"),
)


def _name(dtype: str) -> str:
    return "c_" + "".join(letter if letter.isalnum() else "_" for letter in dtype)


SCHEMA = read_schema(", ".join(f"{_name(dtype)} {dtype}" for dtype in COLUMNS))
LENGTH = max(len(values) for _, values in COLUMNS.values())


def _table() -> pa.RecordBatch:
    arrays = [
        pa.array([*values, *[None] * (LENGTH - len(values))], type=kind)
        for kind, values in COLUMNS.values()
    ]
    return pa.RecordBatch.from_arrays(arrays, names=[_name(dtype) for dtype in COLUMNS])


def _bound(text: str) -> Expr:
    return bound(text, SCHEMA, "WHERE")


@cache
def _tested() -> dict[str, list[object]]:
    """What the reader says to each test that it takes upon itself."""
    batch = _table()
    answers: dict[str, list[object]] = {}
    for place, dtype in enumerate(COLUMNS):
        column = batch.select([place])
        for constant in (*NUMBERS, *OTHERS):
            if leaf_test(_bound(f"{_name(dtype)} = {constant}"), 0, ansi=True) is None:
                continue  # nor is any other test of the two
            for shape in SHAPES:
                text = shape.format(c=_name(dtype), k=constant)
                predicate = leaf_test(_bound(text), 0, ansi=True)
                if predicate is not None:
                    answers[text] = evaluate(predicate, column).to_pylist()
    return answers


@pytest.fixture
def interpreted(small_data: SparkSession) -> Iterator[SparkSession]:
    """Compiling a thousand expressions would take most of the time."""
    before = small_data.conf.get(CODE)
    small_data.conf.set(CODE, "NO_CODEGEN")
    yield small_data
    small_data.conf.set(CODE, str(before))


CODE, ANSI = "spark.sql.codegen.factoryMode", "spark.sql.ansi.enabled"


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_like_spark(interpreted: SparkSession, ansi: str) -> None:
    answers = _tested()
    assert len(answers) > 1000
    before = interpreted.conf.get(ANSI)
    interpreted.conf.set(ANSI, ansi)
    try:
        frame = interpreted.createDataFrame(pa.Table.from_batches([_table()])).coalesce(1)
        rows = frame.selectExpr(*answers).collect()
    finally:
        interpreted.conf.set(ANSI, str(before))
    wrong = [
        (text, said, [row[place] for row in rows])
        for place, (text, said) in enumerate(answers.items())
        if said != [row[place] for row in rows]
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("c_FLOAT = 16777216", True),
        ("c_FLOAT = 16777217", False),
        ("c_FLOAT > 5L", True),
        ("c_DOUBLE > 5L", True),
        ("c_DOUBLE > 2S", True),
        ("c_DOUBLE > 1Y", True),
        ("c_FLOAT = 0.1", True),
        ("c_FLOAT = 0.1F", False),
    ],
)
def test_which_tests_readers_run(text: str, taken: bool) -> None:
    assert (leaf_test(_bound(text), 0, ansi=True) is not None) is taken
