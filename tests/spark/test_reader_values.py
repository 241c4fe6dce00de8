"""What readers compute is what Spark computes: every type of column, in Spark's two modes.

Expressions are translated as the planner does it and evaluated on Arrow; Spark computes all of them
in one query. Whatever a reader takes upon itself is compared, values and types.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.demand import ALL
from narrows.expressions.nodes import Expr
from narrows.physical.in_reader.worker_predicate import leaf_value, worker_value
from narrows.projection.columns import DecodeProjection
from narrows.spark.sql.types import our_type
from narrows.sql.parser.types import read_schema
from narrows.worker.evaluate import evaluate
from support.bound import bound

NAN, INFINITY = float("nan"), float("inf")
COLUMNS: dict[str, tuple[str, pa.DataType, Sequence[object]]] = {
    "y": ("TINYINT", pa.int8(), [None, 0, 1, -1, 5, 127, -128, 100]),
    "s": ("SMALLINT", pa.int16(), [0, None, -1, 5, 7, 32767, -32768, 1]),
    "i": ("INT", pa.int32(), [3, 0, None, -1, -17, 16777217, 2**31 - 1, -(2**31)]),
    "n": ("BIGINT", pa.int64(), [0, 1, 5, None, -17, 2**53 + 1, -(2**63), 2**63 - 1]),
    "f": ("FLOAT", pa.float32(), [-0.0, 0.1, 5.0, 16777216.0, None, NAN, -INFINITY, 1.0]),
    "x": ("DOUBLE", pa.float64(), [-0.0, 0.0, 0.1, 2.0**53, NAN, None, INFINITY, -1.5]),
    "d": ("DECIMAL(5,2)", pa.decimal128(5, 2), [*map(Decimal, ("0", "0.1", "-5"))]),
    "e": ("DECIMAL(5,2)", pa.decimal128(5, 2), [*map(Decimal, ("999.99", "-999.99", "-1"))]),
    "m": ("DECIMAL(38,0)", pa.decimal128(38, 0), [None, *map(Decimal, (0, 1, 2**53, 10**37))]),
    "t": ("STRING", pa.string(), ["", "a", "ä𝄞", "a\0b", "5", None, "é", "ß"]),
    "u": ("STRING", pa.string(), ["x", None, "yy", "", "5", "e", "", "a"]),
    "b": ("BOOLEAN", pa.bool_(), [None, True, False]),
    "v": ("BINARY", pa.binary(), [b"", b"\xff", None]),
    "day": ("DATE", pa.date32(), [date(2020, 1, 1), None, date(1969, 12, 31), date(1, 1, 1)]),
}
SCHEMA = read_schema(", ".join(f"{name} {dtype}" for name, (dtype, _, _) in COLUMNS.items()))
LENGTH = 8
NUMBERS = ("1", "-3", "10", "-1", "0", "127", "5L", "2S", "7Y", "0.5", "1.25", "2.5D", "1F", "NULL")
SHAPES = (
    *("-{c}", "{c} + {k}", "{k} - {c}", "{c} * {k}", "{c} % {k}", "mod({c}, {k})", "{c} DIV {k}"),
    *("nullif({c}, {k})", "{k} / nullif({c}, 0)", "1 / nullif({c}, {k})"),
    *("{c} / {k}", "coalesce({c}, {k})", "nvl({c}, {k})", "if({c} = {k}, {c}, {k})"),
    *("CASE WHEN {c} > {k} THEN {c} END", "CASE {c} WHEN {k} THEN 1 ELSE 2S END"),
    *(
        "sqrt({c})",
        "length({c})",
        "{c} + {k} > {c}",
        "CAST({c} AS BIGINT) + {k}",
        "CAST({c} AS DOUBLE) * {k}",
    ),
)
PAIRS = (
    *("{c} + {d}", "{c} - {d}", "{c} * {d}", "coalesce({c}, {d})", "if(b, {c}, {d})"),
    *("nullif({c}, {d})", "{c} / nullif({d}, 0)"),
    *("concat({c}, {d})", "{c} || '-' || {d}", "{c} < {d}", "{c} = {d}", "coalesce({c}, {d}, {c})"),
)
OTHERS = (
    *(
        "concat(t)",
        "concat(t, 'x', u)",
        "length(concat(t, u)) + i",
        "length(t) IS NULL",
        "b AND i > 0",
    ),
    *("CASE WHEN b THEN t WHEN i % 2 = 0 THEN u ELSE 'none' END", "char_length(t) % 2 = 1"),
    *(
        "NOT (i + 1 IN (1, 4))",
        "t || u LIKE 'a%'",
        "d * (1 - e) * (1 + d)",
        "-(i % 7)",
        "day IS NULL",
    ),
    *("substring(t, 1, 2)", "substr(t, 2, 1)", "left(t, 1)", "substring(t FROM 2 FOR 5)"),
    *("substring(concat(t, u), 1, 0)", "left(u, 0)", "substring(u, 3, 1)", "left(t, 1) = 'a'"),
    *("d BETWEEN 0.06 - 0.01 AND 0.06 + 0.04", "d < 2.5 * 2 - 10", "e > 1 + 2.50", "m < 0.5 + 1"),
    *("if(day = DATE '2020-01-01', day, NULL)", "coalesce(b, false)", "-x * 2 + n"),
)


def _expressions() -> Iterator[str]:
    for name in COLUMNS:
        for shape in SHAPES:
            yield from (shape.format(c=name, k=number) for number in NUMBERS)
        for other in COLUMNS:
            yield from (shape.format(c=name, d=other) for shape in PAIRS)
    yield from OTHERS


def _table() -> pa.RecordBatch:
    arrays = [
        pa.array([*values, *[None] * (LENGTH - len(values))], type=kind)
        for _, kind, values in COLUMNS.values()
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(COLUMNS))


def _bound(text: str) -> Expr | None:
    """None where the types do not fit."""
    try:
        return bound(text, SCHEMA)
    except narrows.NarrowsError:
        return None


def _computed(*, ansi: bool) -> dict[str, tuple[str, list[str]]]:
    """What readers compute: types and values, by the expressions that they take."""
    rows, projection = _table(), DecodeProjection(SCHEMA, ALL)
    found = {}
    for text in dict.fromkeys(_expressions()):
        expr = _bound(text)
        if expr is not None and leaf_value(expr, 0, ansi=ansi) is not None:
            value, dtype = worker_value(expr, 0, projection)
            found[text] = (str(dtype), [_shown(v) for v in evaluate(value, rows).to_pylist()])
    return found


def _shown(value: object) -> str:
    """A value as a text: NaN is itself, and -0.0 is not 0.0."""
    return repr(bytes(value) if isinstance(value, bytearray) else value)


@pytest.fixture
def interpreted(small_data: SparkSession) -> Iterator[SparkSession]:
    """Compiling a thousand expressions would take most of the time."""
    before = {key: str(small_data.conf.get(key)) for key in (CODE, ANSI)}
    small_data.conf.set(CODE, "NO_CODEGEN")
    yield small_data
    for key, value in before.items():
        small_data.conf.set(key, value)


CODE, ANSI = "spark.sql.codegen.factoryMode", "spark.sql.ansi.enabled"


@pytest.mark.parametrize("ansi", [True, False])
def test_like_spark(interpreted: SparkSession, ansi: bool) -> None:
    ours = _computed(ansi=ansi)
    assert len(ours) > (400 if ansi else 700)
    interpreted.conf.set(ANSI, str(ansi).lower())
    frame = interpreted.createDataFrame(pa.Table.from_batches([_table()])).coalesce(1)
    answer = frame.selectExpr(*ours)
    rows = answer.collect()
    theirs = {
        text: (str(our_type(field.dataType)), [_shown(row[place]) for row in rows])
        for place, (text, field) in enumerate(zip(ours, answer.schema, strict=True))
    }
    wrong = [(text, ours[text], theirs[text]) for text in ours if ours[text] != theirs[text]]
    assert wrong == []


def test_pipelines_whose_readers_compute(spark: SparkSession, tmp_path: Path) -> None:
    """The same rows from a pipeline whose readers compute and one whose columns Spark computes."""
    rows = [{"i": n, "t": f"t{n}" if n % 3 else None, "p": {"q": n * 1.5}} for n in range(50)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.json").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    fields = "i % 7 AS r, i, concat(t, '!') AS t, i AS again, p->q * 2 AS q, coalesce(t, '-') AS o"
    with narrows.connect(spark, state=tmp_path / "state") as session:
        for shared in ("false", "true"):
            session.execute(
                f"CREATE STREAM s_{shared} (i INT, t STRING, p STRUCT<q: DOUBLE>) WITH"
                f" (connector = 'file', path = '{tmp_path}/in', shared = {shared})"
            )
            for name, more in (("reader", ""), ("spark", ", upper('x') AS x")):
                pipeline = f"{name}_{shared}"
                session.execute(
                    f"CREATE SINK {pipeline} WITH (connector = 'memory');"
                    f"CREATE PIPELINE {pipeline} INTO {pipeline} AS"
                    f" SELECT {fields}{more} FROM s_{shared} WHERE i % 10 < 7"
                )
                execution = session.catalog.plan_pipeline(pipeline).execution
                assert execution is not None
                assert ("readers write" in execution.reason) == (name == "reader")
        names = [f"{name}_{shared}" for name in ("reader", "spark") for shared in ("false", "true")]
        session.start(*names, once=True).await_done(timeout=240)
        found = [session.rows(name) for name in names]
    for answer in found:
        for row in answer:
            row.pop("x", None)
    first, *others = [sorted(answer, key=lambda row: row["i"]) for answer in found]
    assert len(first) == 35
    assert all(other == first for other in others)
