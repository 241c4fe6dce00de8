"""Settings of single queries: which state store they need, and whether they end by themselves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from narrows.logical.nodes import Node
from narrows.logical.walk import topological

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_CHANGES = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
"""A micro-batch writes what it has changed, and a snapshot follows now and then. Without this each
would write RocksDB's own list of files again, which grows with every batch, for ever."""

_LOG_IS_KEPT_FOR = "spark.sql.streaming.fileSource.log.cleanupDelay"
"""How long Spark keeps files of its log of markers, besides those of the last 100 batches. The
default of ten minutes is for stores that do not show at once what was written."""

_CHECKPOINT_FILES = "spark.sql.streaming.checkpointFileManagerClass"
_SPARK = "4.3."
_RENAMED = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""How files of a checkpoint come to be: written aside and renamed, either way. Spark's default asks
after links as it goes, for which Hadoop, where it has no native library, starts `readlink`: thirty
processes in a micro-batch, and half of the time that one with state takes. Our state folders have
no links to be looked through. The name is that of one version of Spark."""

LOG_IS_KEPT_FOR = "10s"
_STARTING = threading.Lock()
"""The settings are the session's: one query at a time is started, whichever thread does it."""
_BATCHES_WITHOUT_ROWS = "spark.sql.streaming.noDataMicroBatches.enabled"


@contextmanager
def query_settings(spark: SparkSession, plan: Node, *, closes_later: bool) -> Iterator[None]:
    """What the plan needs, for a query that is started in this block.

    Queries keep the other settings they were started with, and a checkpoint keeps its store; so
    other queries, and the user's own, are left alone. `closes_later`: another query will close all
    windows, so this one need not go through its state once more for those that are over.
    """
    wanted = {_BATCHES_WITHOUT_ROWS: "false" if closes_later else "true"}
    if any(node.remembers_rows for node in topological(plan)):  # that takes RocksDB
        wanted[_PROVIDER] = _ROCKSDB
        wanted[_CHANGES] = "true"
    with _STARTING:
        _set_for_good(spark)
        before = {key: spark.conf.get(key, None) for key in wanted}
        for key, value in wanted.items():
            spark.conf.set(key, value)
        try:
            yield
        finally:
            for key, earlier in before.items():
                if earlier is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, earlier)


def _set_for_good(spark: SparkSession) -> None:
    """What a query looks at in a thread of its own, some time after it was started: so these are
    set and left."""
    spark.conf.set(_LOG_IS_KEPT_FOR, LOG_IS_KEPT_FOR)
    if spark.version.startswith(_SPARK) and spark.conf.get(_CHECKPOINT_FILES, None) is None:
        spark.conf.set(_CHECKPOINT_FILES, _RENAMED)
