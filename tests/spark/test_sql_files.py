"""Our own set of Spark SQL files: every query gives Spark's rows.

That pruning changes none of them is for `test_sql_like_spark.py` and the random queries.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows
from support.sql_files import SqlFiles, statements

FILES = sorted((Path(__file__).parent / "sql").glob("*.sql"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_same_rows(small_data: SparkSession, tmp_path: Path, path: Path) -> None:
    session = narrows.connect(small_data, state=tmp_path / "state")
    files = SqlFiles(small_data, [session], tmp_path / "views")
    outcomes = list(files.run(path.read_text("utf-8")))
    session.close()
    assert len(outcomes) >= 6
    assert [outcome for outcome in outcomes if outcome.kind != "same"] == []


def test_statements() -> None:
    text = "SELECT ';' -- a; comment\n, \"--\" /* ; */; SET a = `;`;\n"
    assert list(statements(text)) == ["SELECT ';'  \n, \"--\"", "SET a = `;`", ""]
