"""Rows as SQL text or as a data frame: each is made from the other when somebody asks for it.

Relational operators are written as text, one around the other, and Spark gets the whole of it at
once: a data frame for each of them would cost dozens of calls into the JVM and an analysis each.
What SQL cannot say - our readers, state, watermarks - is a data frame, which text reaches under the
name of a temporary view.
"""

from __future__ import annotations

from typing import NewType
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.utils import is_remote

from narrows.spark.sql.parsed import parsed_query

SqlText = NewType("SqlText", str)
"""The text of a SELECT."""


class Views:
    """Data frames under names that SQL text can use, while a plan is being compiled.

    They are global ones, because the data frame of a micro-batch has a session of its own.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._names: list[str] = []
        self._tables: list[str] = []
        """Common table expressions that the text may name."""

    def add(self, data: DataFrame) -> str:
        name = f"narrows_{uuid4().hex}"
        data.createOrReplaceGlobalTempView(name)
        self._names.append(name)
        return f"{_database(self.spark)}.{name}"

    def once(self, rows: str) -> SqlText:
        """Rows that are made once, however often text reads them."""
        name = f"narrows_once_{len(self._tables)}"
        self._tables.append(f"{name} AS (SELECT * FROM {rows})")
        return SqlText(f"SELECT * FROM {name}")

    def query(self, text: SqlText) -> DataFrame:
        tables = f"WITH {', '.join(self._tables)} " if self._tables else ""
        return parsed_query(self.spark, f"{tables}{text}")

    def close(self) -> None:
        # Spark Connect looks names up when the query runs, not when it is written down.
        if not is_remote():
            for name in self._names:
                self.spark.catalog.dropGlobalTempView(name)
            self._names.clear()


def _database(spark: SparkSession) -> str:
    return spark.conf.get("spark.sql.globalTempDatabase", "global_temp") or "global_temp"


class SparkRows:
    """Some rows. Give it the text of a query or a data frame."""

    def __init__(self, views: Views, made: SqlText | DataFrame) -> None:
        self._views = views
        self._query = made if isinstance(made, str) else None
        self._data = None if isinstance(made, str) else made
        self._view: str | None = None

    def then(self, made: SqlText | DataFrame) -> SparkRows:
        """Other rows, made of these."""
        return SparkRows(self._views, made)

    @property
    def data(self) -> DataFrame:
        if self._data is None:
            assert self._query is not None
            self._data = self._views.query(self._query)
        return self._data

    @property
    def text(self) -> str:
        """What stands in a FROM clause to mean these rows."""
        if self._query is not None:
            return f"({self._query})"
        if self._view is None:
            self._view = self._views.add(self.data)
        return self._view


def select(items: list[str], rows: str, more: str = "") -> SqlText:
    """A query; without a column to select it still has its rows."""
    return SqlText(f"SELECT {', '.join(items) or 'true AS `row`'} FROM {rows}{more}")
