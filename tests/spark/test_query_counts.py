"""A query over bad input says so, to programs and to people."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.cli.progress import follow
from narrows.spark.session import Session

TEXTS = {"bad": '{\n  "a": 1\n}\n', "mistyped": '{"a": "x"}\n', "good": "{}\n"}


def _session(spark: SparkSession, tmp_path: Path) -> Session:
    session = narrows.connect(spark, state=tmp_path / "state")
    for name, text in {
        "bad": '{\n  "a": 1\n}\n',
        "mistyped": '{"a": "x"}\n',
        "good": "{}\n",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.json").write_text(text, "utf-8")
        session.execute(
            f"CREATE STREAM {name} (a INT) WITH (connector = 'file', path = '{tmp_path / name}')"
        )
    return session


def test_what_was_read_for_the_last_query(spark: SparkSession, tmp_path: Path) -> None:
    with _session(spark, tmp_path) as session:
        assert session.query_counts() == {}
        assert session.query("SELECT a FROM bad").collect() == []
        assert session.query_counts()["bad"].bad == 3
        session.query("SELECT a + 1 FROM mistyped").collect()
        counts = session.query_counts()
        assert list(counts) == ["mistyped"]
        assert (counts["mistyped"].bad, counts["mistyped"].mistyped) == (0, 1)
        session.query("SELECT count(b.a) FROM bad AS b JOIN good ON b.a = good.a").collect()
        assert {name: read.bad for name, read in session.query_counts().items()} == {
            "bad": 3,
            "good": 0,
        }
    assert list((tmp_path / "state" / "statistics").glob("query*")) == []


def test_a_run_reports_what_it_read_itself(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with _session(spark, tmp_path) as session:
        session.execute(
            "CREATE SINK k WITH (connector = 'memory'); CREATE PIPELINE p INTO k AS"
            " SELECT a FROM bad"
        )
        follow(session, session.start("p", once=True))
        assert "3 of 3 payloads of `bad` could not be read" in capsys.readouterr().err
        follow(session, session.start("p", once=True))
        assert "could not be read" not in capsys.readouterr().err
