"""Rows that are read once for two: for those who test by their keys, and for the plan itself.

A reader by whose keys others test is read before these. Where few rows are left of it, its tasks
hand on the rows themselves, each task in one value. Who tests takes the keys out of it, and the
tasks that would read the same again take the rows.

    a value     an Arrow stream of the rows of a task
                or of one row: a list of keys for each column that is tested by. The rows were
                too many: whoever wants them reads them

The values of all tasks go through the driver and to everybody who tests, so together they are to
stay small, and are compressed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from narrows.worker.keys.key_sets import KeyList, KeySet, key_set_of, plain_keys

TASK, ROWS = "task", "rows"
"""The columns of what a task ships: its number, and the value."""
_LEFT_OUT = b"rows left out"
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


class HandsOn(NamedTuple):
    """Rows that tasks hand on, in one value each."""

    places: tuple[int, ...]
    """The columns by whose values others test."""
    most_bytes: int
    """What may be handed on by all tasks together. Of a task that has more, only the keys are."""


class RowKeeper:
    """Takes the rows of a task; gives one that has them all, or the keys in these places."""

    def __init__(self, what: HandsOn, task: int, tasks: int) -> None:
        self._places, self._task = what.places, task
        self._limit = what.most_bytes // max(tasks, 1)
        self._rows: list[pa.RecordBatch] = []
        self._size = 0
        self._keys: list[KeyList] | None = None
        """Of each place, as soon as there are too many rows."""

    @property
    def wanted(self) -> int | None:
        """None: all rows, unless there are too many keys as well."""
        too_many = self._keys is not None and all(keys.is_full() for keys in self._keys)
        return 0 if too_many else None

    def add(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if self._keys is not None:
            self._add_keys(rows)
            return iter(())
        self._rows.append(rows)
        self._size += int(rows.nbytes)
        if self._size > self._limit:
            self._keys = [KeyList() for _ in self._places]
            for kept in self._rows:
                self._add_keys(kept)
            self._rows.clear()
        return iter(())

    def _add_keys(self, rows: pa.RecordBatch) -> None:
        for place, keys in zip(self._places, self._keys or (), strict=True):
            keys.add(rows.column(place))

    def rest(self) -> Iterator[pa.RecordBatch]:
        value = self._whole() if self._keys is None else _lists(self._keys)
        columns = [pa.array([self._task], pa.int32()), pa.array([value], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, [TASK, ROWS])

    def _whole(self) -> bytes:
        schema = self._rows[0].schema if self._rows else pa.schema([])
        return _stream(schema, self._rows)


def _lists(keys: Sequence[KeyList]) -> bytes:
    lists = []
    for each in keys:
        values = each.values()
        ends = pa.array([0, len(values)], pa.int32())
        lists.append(pa.ListArray.from_arrays(ends, values))
    row = pa.RecordBatch.from_arrays(lists, [f"k{place}" for place in range(len(lists))])
    return _stream(row.schema.with_metadata({_LEFT_OUT: b""}), [row])


def _stream(schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=_COMPRESSED) as stream:
        for batch in batches:
            stream.write_batch(batch)
    made: bytes = sink.getvalue().to_pybytes()
    return made


def handed_rows(value: pa.Scalar) -> Iterator[pa.RecordBatch] | None:
    """The rows of a task, of its value; None if they were too many."""
    stream = pa.ipc.open_stream(value.as_buffer())
    return None if _left_out(stream) else iter(stream)


def handed_keys(values: pa.Scalar, what: HandsOn, place: int) -> KeySet:
    """The keys in a place of the rows of all tasks."""
    parts: list[pa.Array] = []
    for value in values.values:
        stream = pa.ipc.open_stream(value.as_buffer())
        if _left_out(stream):
            lists = stream.read_next_batch()
            parts.append(lists.column(what.places.index(place)).values)
        else:
            parts += [plain_keys(batch.column(place)) for batch in stream]
    return key_set_of(pa.concat_arrays(parts).unique().drop_null() if parts else None)


def _left_out(stream: pa.RecordBatchStreamReader) -> bool:
    return _LEFT_OUT in (stream.schema.metadata or {})
