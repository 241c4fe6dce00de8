"""Entries of two tasks, however little they have: with one, rows of a key meet by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from narrows.spark.entries.intake import Intake

_KEY = "spark.sql.shuffle.partitions"


@contextmanager
def two_tasks(spark: SparkSession) -> Iterator[None]:
    """Of pipelines that are started meanwhile."""
    before = str(spark.conf.get(_KEY))
    spark.conf.set(_KEY, "2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Intake, "shares", lambda self, entry: 2)
        yield
    spark.conf.set(_KEY, before)
