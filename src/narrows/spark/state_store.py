"""Which state store a query needs: functions and windows that remember rows need RocksDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from narrows.logical.nodes import Node, StatefulFunction, Window
from narrows.logical.walk import topological
from narrows.physical.incremental import CUT_BY_SPARK

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def remembers_rows(plan: Node) -> bool:
    """Does the plan need `transformWithState`?"""
    return any(
        isinstance(node, StatefulFunction)
        or (isinstance(node, Window) and node.window.function.window_kind not in CUT_BY_SPARK)
        for node in topological(plan)
    )


@contextmanager
def state_store(spark: SparkSession, plan: Node) -> Iterator[None]:
    """The state store that the plan needs, for a query that is started in this block.

    Queries keep the settings they were started with, and a checkpoint keeps its store; so others,
    and the user's own, are left alone.
    """
    if not remembers_rows(plan):
        yield
        return
    before = spark.conf.get(_PROVIDER)
    spark.conf.set(_PROVIDER, _ROCKSDB)
    try:
        yield
    finally:
        spark.conf.set(_PROVIDER, str(before))
