"""How many tasks can run at a time."""

from __future__ import annotations

import os
import re

from pyspark.sql import SparkSession

_SOME = 32
"""Tasks for a cluster of unknown size: a task that has nothing to read still costs something."""


def cores(spark: SparkSession) -> int:
    """How many tasks can run at a time, or a guess."""
    return known_cores(spark) or _SOME


def known_cores(spark: SparkSession) -> int | None:
    """How many tasks can run at a time, as far as settings tell: on a cluster that grows and
    shrinks, or that somebody else set up, nothing does."""
    local = _local(spark)
    if local is not None:
        count = local[1] or "1"
        return (os.cpu_count() or 1) if count == "*" else int(count)
    executors = spark.conf.get("spark.executor.instances", "") or ""
    each = spark.conf.get("spark.executor.cores", "") or "1"
    return int(executors) * int(each) if executors.isdecimal() and each.isdecimal() else None


def is_local(spark: SparkSession) -> bool:
    """Is all of Spark on this machine, in one process?"""
    return _local(spark) is not None


def _local(spark: SparkSession) -> re.Match[str] | None:
    return re.fullmatch(r"local(?:\[(\d+|\*).*\])?", spark.conf.get("spark.master", "") or "")
