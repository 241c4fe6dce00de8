"""Jobs that anybody can end, and no others with them: those of a Spark session of their own.

Spark's tags would seem to be made for that, but a tag is known only to the thread that has set it:
another thread that interrupts it interrupts nothing. And an iterator over rows (`toLocalIterator`)
runs its jobs outside of everything that can be interrupted. What does work, from every thread, is
to interrupt all of a session.

    rows of our session ─► a view that all sessions see ─► the same rows, in the session apart

A job is over as soon as it is interrupted. A task of it goes on until it looks: when it takes a row
from a reader, a shuffle or a sort. One that computes without doing so - a join of everything with
everything - occupies its core until it is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from narrows.spark.sql.rows import Views


class ApartSession:
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark.newSession()

    @contextmanager
    def rows(self, frame: DataFrame) -> Iterator[DataFrame]:
        """The same rows; whoever reads them in this block can be interrupted."""
        views = Views(self._spark)
        try:
            yield self._spark.table(views.add(frame))
        finally:
            views.close()

    def interrupt(self) -> None:
        """Ends the jobs that run here at the moment; those that begin later are not meant."""
        self._spark.interruptAll()

    def await_core(self) -> None:
        """Waits until Spark has a core to run something on."""
        self._spark.range(1).collect()
