"""Bounded reads without a data source of their own: a row for each task tells it what to read.

Spark starts Python processes on the driver for every Python data source that it plans, which takes
longer than reading a small table, and it believes what they read to be too large to broadcast. A
map over one row for each task has neither cost:

    range(0, tasks * step).where(id % step = 0).mapInArrow(read task number id / step)

The rows that the filter drops are there to be believed in: Spark takes the map's result to be as
large as the range, and chooses by that how to join (`believed.py`).

Where rows are tested by the keys of a join, those come in the same row, as a list: a subquery that
Spark answers before it starts the tasks. So do the rows themselves, where they have been read for
their keys and were few (`worker/keys/handed_rows.py`): then tasks only pass them on.

What reads the same of the same files is the same view, so Spark sees it, too: it broadcasts a table
that a query joins twice only once, and the next query need not tell it everything again.
"""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from narrows.connectors.base import Available, SourceConnector
from narrows.connectors.entry_log import Entry
from narrows.connectors.opening import open_source
from narrows.spark.read.believed import believed_size, broadcast_bytes, counted_through
from narrows.spark.read.shipped import shipped_schema
from narrows.spark.sql.parsed import parsed_column
from narrows.spark.sql.rows import SqlText, Views, select
from narrows.spark.sql.sql_text import quote
from narrows.worker.carried import Carried
from narrows.worker.count_files import forget_parts
from narrows.worker.keys.handed_rows import ROWS, TASK, handed_keys, handed_rows
from narrows.worker.keys.key_sets import KeySet, key_set
from narrows.worker.read import read_share
from narrows.worker.read_spec import Gathered, KeyTest, ReadSpec

_TASK_BYTES = 1 << 20
"""Bytes for which it pays to have another task."""
_KEPT_READS = 64


class TableReads:
    """The reads of a session's tables, as views; those not used for long are forgotten."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._views: OrderedDict[object, tuple[Views, str]] = OrderedDict()
        self._lock = threading.Lock()  # each micro-batch that makes a table is a thread

    def query(self, spec: ReadSpec) -> SqlText:
        """Selects what the specification ships, by its names."""
        # The same read has the same names in every query: Spark compares what it is told.
        columns = [f"x{place}" for place in range(len(spec.names))]
        fragments = [f"y{place}" for place in range(len(spec.fragments))]
        same = replace(spec, names=tuple(columns), fragments=tuple(fragments), entry_log=None)
        if spec.gathers is Gathered.KEYS:  # read once more: the other one counts
            same = replace(same, statistics=None)
        if same.partial is not None:
            folded = tuple(f"z{place}" for place in range(len(same.partial.names)))
            same = replace(same, partial=replace(same.partial, names=folded))
        if same.order is not None:
            same = replace(same, order="place")
        named = zip(shipped_schema(same).names, shipped_schema(spec).names, strict=True)
        items = [f"{quote(name)} AS {quote(wanted)}" for name, wanted in named]
        return select(items, self._view(same))

    def _view(self, spec: ReadSpec) -> str:
        source = open_source(spec.connector, spec.declared)
        available = source.available()
        with self._lock:
            return self._view_of(spec, source, available)

    def _view_of(self, spec: ReadSpec, source: SourceConnector, available: Available) -> str:
        key = (pickle.dumps(spec), source.version(available), broadcast_bytes(self._spark))
        if key not in self._views:
            handed = None
            if spec.hands_on is not None and spec.gathers is None:
                # Of the same look at what is there: its tasks are those that hand rows on.
                gathering = replace(spec, gathers=Gathered.ROWS)
                handed = handed_on(self._view_of(gathering, source, available))
            views = Views(self._spark)
            frame = _read(self._spark, spec, source, source.whole(available), handed)
            self._views[key] = views, views.add(frame)
            if len(self._views) > _KEPT_READS:
                _, (oldest, _) = self._views.popitem(last=False)
                oldest.close()
        self._views.move_to_end(key)
        return self._views[key][1]

    def forget(self) -> None:
        with self._lock:
            for views, _ in self._views.values():
                views.close()
            self._views.clear()


def read_available(spark: SparkSession, spec: ReadSpec) -> DataFrame:
    """What the specification ships of what is there now."""
    source = open_source(spec.connector, spec.declared)
    return _read(spark, spec, source, source.whole(source.available()))


def handed_on(rows: str) -> SqlText:
    """What all tasks hand on that ship their rows so: the same text, which Spark answers once."""
    return select([f"map_from_entries(collect_list(struct({TASK}, {ROWS})))"], rows)


def _read(
    spark: SparkSession,
    spec: ReadSpec,
    source: SourceConnector,
    entry: Entry,
    handed: SqlText | None = None,
) -> DataFrame:
    size = source.size(entry)
    shares = source.split(entry, min(spec.partitions, 1 + size // _TASK_BYTES))
    forget_parts(spec.statistics)  # of what was read before: there may have been more tasks
    # What is gathered is the answer of a subquery, and never joined.
    believed = 0 if spec.gathers else believed_size(spec, size, broadcast_bytes(spark))
    numbers = counted_through(spec, believed, is_handed=handed is not None)
    step = max(1, numbers // max(len(shares), 1))
    carried = Carried((spec, shares))
    tests = len(spec.keys)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reads, parts = carried.value
        for batch in batches:
            for place, row in enumerate(batch.column(0).to_pylist()):
                task, told = row // step, [column[place] for column in batch.columns[1:]]
                there = handed_rows(told[tests]) if len(told) > tests else None
                if there is not None:
                    yield from there
                    continue
                keys = [_keys(test, told[number]) for number, test in enumerate(reads.keys)]
                yield from read_share(reads, parts[task], task=task, keys=keys)

    rows = spark.range(0, len(shares) * step, 1, max(len(shares), 1)).where(f"id % {step} = 0")
    told = [_asked(test) for test in spec.keys]
    if handed is not None:
        told.append(f"try_element_at(({handed}), CAST(id div {step} AS INT))")
    if told:
        columns = [parsed_column(text).alias(f"k{place}") for place, text in enumerate(told)]
        rows = rows.select("id", *columns)
    return rows.mapInArrow(read, shipped_schema(spec))


def _asked(test: KeyTest) -> str:
    asked = f"({test.values.asked})"
    return asked if test.values.handed is None else f"map_values({asked})"


def _keys(test: KeyTest, told: pa.Scalar) -> KeySet:
    handed = test.values.handed
    return key_set(told) if handed is None else handed_keys(told, handed, test.values.place)
