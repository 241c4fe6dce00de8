"""Keys of small tables, which the tasks of a stream read by themselves before they read the stream.

A stream that is joined with a table drops the rows that will find no partner there. Spark reads the
table anew for every micro-batch, and so does each task, right before: were keys kept from one batch
to the next, a table that was written anew meanwhile would be joined by what it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from narrows.connectors.base import Share
from narrows.worker.keys.key_sets import KeySet, key_set_of
from narrows.worker.read import read_share
from narrows.worker.read_spec import ReadSpec


@dataclass(frozen=True)
class TableKeys:
    """What is to be read of a table; its tests may be by keys of others."""

    spec: ReadSpec
    shares: tuple[Share, ...] = ()


def read_keys(spec: ReadSpec) -> list[KeySet]:
    """What the columns are tested by that a reader tests."""
    asked = [test.values.asked for test in spec.keys]
    return [_keys(table) for table in asked if isinstance(table, TableKeys)]


def _keys(table: TableKeys) -> KeySet:
    tests = read_keys(table.spec)
    lists = [
        batch.column(0).values
        for share in table.shares
        for batch in read_share(table.spec, share, keys=tests)
    ]
    return key_set_of(pa.concat_arrays(lists) if lists else None)
