"""A session like another: what runs in it can be ended, and set up, without touching what runs in
the other."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from pyspark.sql import DataFrame, SparkSession

from narrows.spark.sql.rows import Views, select

_LOOKS_AGAIN = 0.1
"""Seconds after which a job that was to end is looked at again: one that was just about to begin
has not been ended."""


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


def physical_plan(spark: SparkSession, frame: DataFrame) -> str:
    """How Spark will compute the frame, as it says so itself: a line for each operator, those below
    another one further to the right."""
    with closing(Views(spark)) as views:
        (row,) = spark.sql(f"EXPLAIN {select(['*'], views.add(frame))}").collect()
    return str(row[0])


class OwnSession:
    """A session for the jobs of one thread, which any other may end (`spark.run.apart`)."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = session_like(spark)
        self._stopped = False
        self._idle = threading.Event()
        self._idle.set()

    @contextmanager
    def running(self) -> Iterator[None]:
        """As long as jobs may run in it."""
        self._idle.clear()
        try:
            if self._stopped:
                raise InterruptedError("it is to end")
            yield
        finally:
            self._idle.set()

    def check(self) -> None:
        """Spark that is gone has no answer, and an error instead."""
        _ = self.spark.version

    def stop(self) -> None:
        """Ends what runs, and waits until it has ended; nothing runs in it any more."""
        self._stopped = True
        while not self._idle.is_set():
            with contextlib.suppress(Exception):  # then there is no job either
                self.spark.interruptAll()
            self._idle.wait(_LOOKS_AGAIN)
