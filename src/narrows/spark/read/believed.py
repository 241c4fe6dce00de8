"""How large Spark is to believe a table to be: by that it chooses how to join.

A read is a map over a range of numbers (`table.py`), and Spark takes it to be as large as those,
eight bytes each, and wider by what tasks are told beside their number. Counting them through costs
time before the first payload is read - a tenth of a second for 256 MB - so nothing is believed to
be larger than it takes for Spark never to broadcast it: not even if a query goes on with the
narrowest of its columns, by whose width Spark cuts down what it believes.
"""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from narrows.optimizer.estimates import type_width
from narrows.spark.read.shipped import key_type, shipped_columns
from narrows.worker.read_spec import KeyTest, ReadSpec

_NUMBER_BYTES = 8
_ROW_BYTES = 8
"""What Spark adds to the columns of a row."""
_HANDED_BYTES = 100
"""How wide Spark takes bytes to be, and lists of them."""
_MARGIN = 2.0
_HARMLESS = 96 << 20
"""Bytes that Spark can broadcast, if it must: where what is guessed about tests is wrong."""
_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_SIZE = re.compile(r"\s*(-?\d+)\s*([kmgtp]?)i?b?\s*", re.IGNORECASE)


def broadcast_bytes(spark: SparkSession) -> int:
    """Up to which size Spark broadcasts a side of a join; 0 if it does not."""
    found = _SIZE.fullmatch(spark.conf.get(_THRESHOLD, None) or "10mb")
    if found is None:  # Spark would not have taken it
        return 10 << 20
    number, unit = found.groups()
    return max(0, int(number) * _UNITS[unit.lower()])


def believed_size(spec: ReadSpec, payload: int, broadcast: int) -> int:
    """Bytes of what is shipped: its share of the payload, by the width of types, and of the rows,
    by what is guessed about tests; as far as that is of interest to Spark."""
    columns = spec.projection.columns[: spec.projection.shipped]
    share = sum(type_width(column.dtype) for column in columns) / max(
        type_width(spec.projection.row), 1.0
    )
    shipped = payload * min(share, 1.0)
    likely = shipped * spec.kept if shipped <= _HARMLESS else shipped
    return int(min(likely, _never_broadcast(spec, broadcast)))


def counted_through(spec: ReadSpec, believed: int, *, is_handed: bool) -> int:
    """How many numbers Spark takes to be that large, with what tasks are told beside them: the keys
    that they test by, and the rows that they are handed."""
    told = [_told_bytes(spec, test) for test in spec.keys]
    told += [_HANDED_BYTES] if is_handed else []
    number = _ROW_BYTES + _NUMBER_BYTES
    return int(believed / _NUMBER_BYTES * number / (number + sum(told)))


def _told_bytes(spec: ReadSpec, test: KeyTest) -> float:
    if test.values.handed is not None:
        return _HANDED_BYTES
    return type_width(key_type(spec.projection.columns[test.place].dtype))


def _never_broadcast(spec: ReadSpec, broadcast: int) -> float:
    widths = [type_width(dtype) for _, dtype in shipped_columns(spec)]
    narrowest = (_ROW_BYTES + min(widths)) / (_ROW_BYTES + sum(widths))
    return _MARGIN * broadcast / narrowest
