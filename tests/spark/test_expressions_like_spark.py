"""Expressions mean what they mean to Spark: what binds tighter, what a constant is, what it is not.

Constant expressions, written by chance, go to both. Where Spark has a value, so have we, and it is
the same, of the same type.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import narrows
from narrows.errors import NarrowsError
from narrows.spark.session import Session

CONSTANTS = (
    *("1", "-1", "2.5", "-2.5", "'5'", "true", "NULL", "1L", "-2Y", "1.5BD", "-1.5F", "1e2", "(1)"),
    *("X'1F'", "-9223372036854775808", "-2147483648", "9223372036854775808", ".5", "-.5", "1e2BD"),
    *("DATE '2020-01-01'", "TIMESTAMP '2020-01-01 12:34:56'", "TIME '12:30:00'", "DATE 'epoch'"),
    *("TIMESTAMP_NTZ '2020-01-01 00:00:00'", "INTERVAL '1' DAY", "INTERVAL -'10.1' SECOND"),
    *("INTERVAL 1 day 2 hours", "INTERVAL '1 2:3' DAY TO MINUTE", "INTERVAL '3 days'"),
    *("INTERVAL '1-2' YEAR TO MONTH", "INTERVAL -3 months", '"S"\'par\'"k"', "'it''s'", "r'a\\n'"),
    *("'a' 'b'", "r'a' 'b\\n'", "array(1, 2)[0]", "abs(-3)"),
)
AFTER = ("", "::string", "::date", "::int", "::decimal(5,1)", " IS NULL", "::string IS NOT NULL")
BEFORE = ("", "-", "+", "~", "NOT ", "- -")
OPERATORS = (
    *("+", "-", "*", "/", "%", "DIV", "||", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"),
    *("AND", "OR", "&", "|", "^", "<<", "LIKE", "NOT LIKE", "RLIKE"),
    *("BETWEEN 1 AND", "NOT BETWEEN 0 AND", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"),
)
OPERANDS = ("1", "2", "0", "true", "'5'", "-4")
ALONE = (" IS NULL", " IS NOT NULL", " IN (1, 2)", " NOT IN (3)", " IS TRUE", " IS NOT FALSE")


def _written_by_chance(random: Random) -> str:
    text = random.choice(("", "", "-", "NOT ", "~"))
    for step in range(random.choice((2, 2, 3, 4))):
        operator = f" {random.choice(OPERATORS)} " if step else ""
        cast = random.choice(("", "", "", "::int", "::string"))
        text += f"{operator}{random.choice(('', '', '', '- '))}{random.choice(OPERANDS)}{cast}"
    return text + random.choice(("", "", *ALONE))


def _family() -> list[str]:
    random = Random(18)
    family = [f"{constant}{after}" for constant in CONSTANTS for after in ("", "::string")]
    for _ in range(50):
        parts = (random.choice(BEFORE), random.choice(CONSTANTS), random.choice(AFTER))
        family.append("".join(parts))
    family += [_written_by_chance(random) for _ in range(160)]
    return list(dict.fromkeys(family))


@pytest.fixture(scope="module")
def session(
    small_data: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Session]:
    folder: Path = tmp_path_factory.mktemp("expressions")
    with narrows.connect(small_data, state=folder) as session:
        yield session


def test_values_and_types(small_data: SparkSession, session: Session) -> None:
    meant, unknown = [], 0
    for text in _family():
        try:
            small_data.sql(f"SELECT {text}").schema  # noqa: B018
            meant.append(text)
        except PySparkException:
            unknown += 1
    assert len(meant) > 120 < unknown
    # As text, for Python has no values of some types.
    texts = ", ".join(f"CAST({text} AS STRING)" for text in meant)
    values = ", ".join(meant)
    expected, got = small_data.sql(f"SELECT {values}"), session.query(f"SELECT {values}")
    types = zip(meant, expected.schema, got.schema, strict=True)
    assert [(t, a.dataType, b.dataType) for t, a, b in types if a.dataType != b.dataType] == []
    (wanted,), (given,) = (
        small_data.sql(f"SELECT {texts}").collect(),
        session.query(f"SELECT {texts}").collect(),
    )
    assert [found for found in zip(meant, wanted, given, strict=True) if found[1] != found[2]] == []


@pytest.mark.parametrize(
    "text", ["64 >> 2 + 1 & 7", "-64 >>> 2 << 1 | 3", "- 8 >> 1 >> 1", "1 + 2 << 3 ^ 5 & 6 >> 1"]
)
def test_shifts(small_data: SparkSession, session: Session, text: str) -> None:
    """By themselves: after a `<`, Spark's parser takes `>>` for the end of two types."""
    (expected,) = small_data.sql(f"SELECT {text}").collect()
    assert session.query(f"SELECT 1 < 2, {text}").collect() == [(True, *expected)]


@pytest.mark.parametrize(
    "text",
    [
        *("128Y", "-129Y", "32768S", "9223372036854775808L", "1.5L", "DATE 'mar 11 2016'"),
        *("DATE '2020/01/01'", "TIMESTAMP 'noon'", "TIME 'noon'", "INT '5'", "1 > > 1", "1 < < 1"),
        *("1 >>>> 1", "1 >> > 1", "1 = NOT true", "1 IS NULL IS NULL", "1 BETWEEN 2", "1 + ", "- "),
        *("1 BETWEEN SYMMETRIC 2 AND 0", "1 IS 5", "0." + "1" * 40, "1 AND", "NOT", "1 IN ()"),
    ],
)
def test_what_is_no_expression_is_said_before_spark_sees_it(session: Session, text: str) -> None:
    with pytest.raises(NarrowsError):
        session.query(f"SELECT {text}")


NAMED = (
    *("a + b", "a <> b", "a IS NULL", "ok IS TRUE", "NOT ok", "ok AND ok AND NOT ok OR ok", "-a"),
    *(
        "a IN (1, 2)",
        "a NOT BETWEEN 1 AND 2",
        "s LIKE 'x%'",
        "s NOT ILIKE 'x'",
        "s RLIKE 'x'",
        "+a",
    ),
    *(
        "~a",
        "-1",
        "- (1)",
        "1L",
        "1.5BD",
        "1e3",
        "'x'",
        "NULL",
        "X'1F'",
        "DATE '2020-01-01'",
        "a || s",
    ),
    *(
        "CASE a WHEN 1 THEN 'x' ELSE s END",
        "CAST(a AS STRING)",
        "CAST(a + 1 AS STRING)",
        "a::string",
    ),
    *("CAST(1 AS BIGINT)", "TRY_CAST(upper(s) AS INT)", "st.x", "st['x']", "items[0].x", "items.x"),
    *("m['a']", "m.a", "n[a]", "UPPER(s)", "substring(s, 1, 2)", "round(dbl)", "if(ok, a, b)", "K"),
    *(
        "trim(s)",
        "current_date",
        "struct(a + 1, b AS z)",
        "named_struct('p', a)",
        "sqrt(a)",
        "nm.a",
    ),
    *(
        "transform(n, x -> x + 1)",
        "aggregate(n, 0L, (acc, x) -> acc + x)",
        "split(s, ',')",
        "int(s)",
    ),
    *(
        "a << 1 & b",
        "pow(a, 2)",
        "lpad(s, 5)",
        "log(dbl)",
        "sort_array(n)",
        "isnull(a)",
        "(SELECT 1)",
    ),
    *("EXISTS (SELECT 1)", "dateadd(DAY, 1, d)", "posexplode(n)", "st.z.w", "st.X", "((a))"),
)
NAMED_OF_GROUPS = (
    *("sum(v)", "count(*)", "count(DISTINCT a, b)", "sum(v) FILTER (WHERE a > 1)", "sum(a) + 1"),
    *("sum(st.x)", "first(a) IGNORE NULLS", "max(nm.s)", "percentile(a, 0.5)", "mean(a + b)"),
    *("percentile_cont(0.5) WITHIN GROUP (ORDER BY a)", "lag(a) OVER (ORDER BY b)"),
    *(
        "row_number() OVER (PARTITION BY a ORDER BY b)",
        "sum(v) OVER ()",
        "rank() OVER (ORDER BY a)",
    ),
    "sum(v) OVER (ORDER BY b DESC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
)
COLUMNS = (
    "k BIGINT, v BIGINT, s STRING, a INT, b INT, st STRUCT<x: BIGINT, z: STRUCT<w: INT>>, d DATE,"
    " items ARRAY<STRUCT<x: BIGINT>>, m MAP<STRING, STRING>, n ARRAY<BIGINT>, ok BOOLEAN,"
    " dbl DOUBLE"
)


def test_names_of_columns_without_alias(small_data: SparkSession) -> None:
    small_data.createDataFrame([], COLUMNS).createOrReplaceTempView("nm")
    catalog = narrows.Catalog()
    catalog.execute(f"CREATE TABLE nm ({COLUMNS}) WITH (connector = 'file', path = 'nowhere')")
    wrong = []
    for item in (*NAMED, *NAMED_OF_GROUPS):
        query = f"SELECT {item} FROM nm"
        expected = small_data.sql(query).columns
        named = [column.name for column in narrows.plan(query, catalog).logical.outputs]
        if named != expected:
            wrong.append((item, expected, named))
    assert wrong == []
