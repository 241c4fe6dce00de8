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
