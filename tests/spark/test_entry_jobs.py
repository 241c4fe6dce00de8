"""Pipelines without a streaming query that Spark has a part in: a job for each entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.physical.execution import ExecutionMode
from support.waiting import await_that

FILES = 3


class Folder:
    def __init__(self, spark: SparkSession, path: Path) -> None:
        self._spark, self._path = spark, path
        (path / "in").mkdir()

    def written(
        self, select: str, rows_of_a_file: int = 1, *, shared: bool = False
    ) -> list[dict[str, Any]]:
        """What a pipeline writes of some files that come one after the other, in their order."""
        options = f"shared = {str(shared).lower()}"
        with narrows.connect(self._spark, state=self._path / "state") as session:
            session.execute(
                f"""
                CREATE STREAM s (a BIGINT, items ARRAY<BIGINT>)
                  WITH (connector = 'file', path = '{self._path}/in', {options});
                CREATE SINK out WITH (connector = 'file', path = '{self._path}/out');
                CREATE PIPELINE p INTO out AS {select};
                """
            )
            how = session.catalog.plan_pipeline("p").execution
            assert how is not None
            assert how.mode is (ExecutionMode.GROUPED if shared else ExecutionMode.JOBS)
            run = session.start("p", trigger="0 seconds")
            for number in range(FILES):
                self._put(number)
                wanted = rows_of_a_file * (number + 1)
                await_that(lambda: len(self._found()) == wanted, "the file is read")  # noqa: B023
            run.stop()
        return self._found()

    def _put(self, number: int) -> None:
        row = {"a": number, "items": [number, number + 10, number + 1]}
        hidden = self._path / "in" / f".{number}"
        hidden.write_text(json.dumps(row) + "\n")
        hidden.rename(hidden.with_name(f"{number}.json"))

    def _found(self) -> list[dict[str, Any]]:
        files = sorted((self._path / "out").glob("[!.]*.json"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Folder:
    return Folder(spark, tmp_path)


def test_rows_are_computed_and_multiplied(folder: Folder) -> None:
    found = folder.written(
        "SELECT CAST(round(a * 1.0) AS BIGINT) AS a, i FROM s LATERAL VIEW explode(items) t AS i"
        " WHERE abs(i - a) <> 1",
        rows_of_a_file=2,
    )
    assert found == [{"a": a, "i": i} for a in range(FILES) for i in (a, a + 10)]


@pytest.mark.parametrize("shared", [False, True], ids=["alone", "shared"])
def test_times_and_lots_are_those_of_each_entry(folder: Folder, shared: bool) -> None:
    """Spark fixes them when it makes a job, so such a job is made anew."""
    select = "SELECT newuuid() AS u, rand() AS r, now() AS n FROM s"
    found = folder.written(select, shared=shared)
    for column in ("u", "r", "n"):
        assert len({row[column] for row in found}) == FILES


def test_settings_and_functions_are_those_of_the_session(
    folder: Folder, spark: SparkSession
) -> None:
    """The jobs have a session of their own, and it is like the user's."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION doubled(x BIGINT) RETURNS BIGINT RETURN x * 2")
    try:
        found = folder.written(
            "SELECT doubled(a) AS d, date_format(timestamp_seconds(a), 'HH') AS h FROM s"
        )
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
        spark.sql("DROP TEMPORARY FUNCTION doubled")
    assert found == [{"d": 2 * a, "h": "09"} for a in range(FILES)]
