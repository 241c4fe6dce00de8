"""A session like another: what runs in it can be ended, and set up, without touching what runs in
the other."""

from __future__ import annotations

from contextlib import closing

from pyspark.sql import DataFrame, SparkSession

from narrows.spark.sql.rows import Views


def session_like(spark: SparkSession) -> SparkSession:
    """A session with the settings that the other has now."""
    own = spark.newSession()
    for key, value in spark.conf.getAll.items():
        if own.conf.get(key, None) != value and own.conf.isModifiable(key):
            own.conf.set(key, value)
    return own


def brought_into(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """The rows of another session's frame, to be computed in this one."""
    with closing(Views(spark)) as views:
        return spark.table(views.add(frame))
