"""A text in a query means itself: `${...}` is nothing that Spark may put something in for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.errors import Code, NarrowsError
from narrows.spark.session import Session
from narrows.spark.sql.parsed import SUBSTITUTE

TEXT = "${env:HOME}"


@pytest.fixture(params=["true", "false"])
def session(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Session]:
    """A session of the user's, who has that setting."""
    (tmp_path / "in").mkdir()
    rows = [{"a": TEXT, "b": {TEXT: 1}}, {"a": "\\" + TEXT, "b": None}, {"a": "x", "b": None}]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "in" / "a.json").write_text(text, "utf-8")
    before = spark.conf.get(SUBSTITUTE)
    spark.conf.set(SUBSTITUTE, request.param)
    with narrows.connect(spark, state=tmp_path / "state") as session:
        session.execute(
            f"CREATE STREAM s (a STRING, b STRUCT<`{TEXT}`: INT>)"
            f" WITH (connector = 'file', path = '{tmp_path / 'in'}')"
        )
        yield session
        assert spark.conf.get(SUBSTITUTE) == request.param
    spark.conf.set(SUBSTITUTE, str(before))


def test_an_embedded_spark_puts_nothing_into_texts(spark: SparkSession) -> None:
    assert spark.conf.get(SUBSTITUTE) == "false"


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        (f"SELECT '{TEXT}'", TEXT),
        (f"SELECT '\\\\{TEXT}'", f"\\{TEXT}"),
        (f"SELECT concat('a', '{TEXT}') FROM s LIMIT 1", f"a{TEXT}"),
        (f"SELECT a FROM s WHERE a = '{TEXT}'", TEXT),  # tested by a reader
        (f"SELECT a FROM s WHERE concat(a, 'x') = '{TEXT}x'", TEXT),  # tested by Spark
        (f"SELECT count(*) FROM s WHERE a LIKE '%{TEXT}'", 2),
        (f"SELECT max(a) FILTER (WHERE a = '{TEXT}') FROM s", TEXT),
    ],
)
def test_texts_mean_themselves(session: Session, query: str, answer: object) -> None:
    assert [row[0] for row in session.query(query).collect()] == [answer]


def test_names_are_what_they_are(session: Session) -> None:
    frame = session.query(f"SELECT upper(a) AS `{TEXT}`, 1 AS `{TEXT}` FROM s")
    assert frame.columns == [TEXT, TEXT]


def test_functions_that_remember(session: Session) -> None:
    (first, *_) = session.query(f"SELECT latest('{TEXT}') FROM s").collect()
    assert first[0] == TEXT


def test_a_field_of_such_a_name_is_refused_where_spark_would_read_another(session: Session) -> None:
    query = f"SELECT transform(array(b), x -> x.`{TEXT}`) FROM s WHERE a = '{TEXT}'"
    if session.spark.conf.get(SUBSTITUTE) == "false":
        assert [row[0] for row in session.query(query).collect()] == [[1]]
        return
    with pytest.raises(NarrowsError) as caught:
        session.query(query)
    assert caught.value.code is Code.NOT_SUPPORTED
    assert SUBSTITUTE in str(caught.value)
