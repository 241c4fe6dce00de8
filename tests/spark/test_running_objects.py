"""What runs is neither started twice nor changed behind its back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.errors import Code, NarrowsError
from narrows.spark.session import Session

STREAM = "STREAM s (a INT) WITH (connector = 'file', path = '{path}')"


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Iterator[Session]:
    with narrows.connect(spark, state=tmp_path / "state") as session:
        session.execute(
            f"CREATE {STREAM.format(path=tmp_path)};"
            "CREATE SINK k WITH (connector = 'memory'); CREATE SINK l WITH (connector = 'memory');"
            "CREATE PIPELINE p INTO k AS SELECT a FROM s"
        )
        yield session


def _refused(session: Session, statement: str) -> NarrowsError:
    with pytest.raises(NarrowsError) as caught:
        session.execute(statement)
    return caught.value


def test_what_runs_stays_as_it_is(session: Session, tmp_path: Path) -> None:
    session.start("p")
    changes = [
        "START PIPELINE P",
        "DROP PIPELINE p",
        "CREATE OR REPLACE PIPELINE p INTO k AS SELECT a + 1 FROM s",
        f"CREATE OR REPLACE {STREAM.format(path=tmp_path / 'other')}",
        "CREATE OR REPLACE SINK k WITH (connector = 'console')",
    ]
    for change in changes:
        error = _refused(session, change)
        assert error.code is Code.OBJECT_IN_USE
        assert "STOP PIPELINE p" in str(error)
    session.execute("CREATE OR REPLACE SINK l WITH (connector = 'console')")
    session.execute("STOP PIPELINE p")
    for change in reversed(changes[1:]):
        session.execute(change)


def test_a_pipeline_is_named_twice(session: Session) -> None:
    with pytest.raises(NarrowsError) as caught:
        session.start("p", "P")
    assert caught.value.code is Code.DUPLICATE_OBJECT


def test_no_duration(session: Session) -> None:
    with pytest.raises(NarrowsError) as caught:
        session.start("p", trigger="banana")
    assert caught.value.code is Code.INVALID_OPTION
