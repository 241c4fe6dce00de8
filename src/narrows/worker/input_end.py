"""The end of the input, said by the readers: then windows close in the query that read their rows.

A pipeline that reads one stream of files knows in a bounded run which turn is the last. The tasks
that read it add a row that holds a time and nothing else, so late that the watermark moves to where
all windows are over. It is dropped right behind the watermark, like the rows of the clock, which
says the same where no reader can (`closing.py`), at the price of another query.

What is the newest row so far a task knows from its own rows and, of all batches before, from the
watermark that the last of them left. So a batch that is run again says the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from narrows.stateful.windows.window import StreamWindow
from narrows.worker.event_time import EventTime
from narrows.worker.watermark import checkpoint_watermark


@dataclass(frozen=True)
class InputEnd:
    column: str
    """Holds the time in rows that say the end, and NULL in all others."""
    window: StreamWindow
    delay: int
    """How far the watermark stays behind what rows say, in milliseconds."""
    checkpoint: str

    def with_end(
        self,
        batches: Iterator[pa.RecordBatch],
        event_time: EventTime | None,
        schema: pa.Schema,
        *,
        is_last: bool,
    ) -> Iterator[pa.RecordBatch]:
        """The rows with the column; behind the last ones a row that says the end.

        `schema` is that of the rows, for the case that there are none.
        """
        newest = 0
        for batch in batches:
            schema = batch.schema
            if is_last and event_time is not None:
                newest = max(newest, _newest(batch.column(event_time.place), event_time.unit))
            yield _with(batch, self.column, pa.nulls(batch.num_rows, pa.int64()))
        if is_last:
            nulls = pa.RecordBatch.from_arrays([pa.nulls(1, f.type) for f in schema], schema=schema)
            if event_time is None:
                newest = int(time.time() * 1_000)
            yield _with(nulls, self.column, pa.array([self._end(newest)], pa.int64()))

    def _end(self, newest: int) -> int:
        watermark = checkpoint_watermark(Path(self.checkpoint))
        if self.window.goes_by_time:
            return self.window.closing_time(max(newest, watermark + self.delay)) + self.delay
        return self.window.closing_time(watermark) + self.delay


def _newest(times: pa.Array, unit: str | None) -> int:
    """The newest event time, in milliseconds."""
    newest = pc.max(times)
    if not newest.is_valid:
        return 0
    if unit is None:
        return int(newest.cast(pa.timestamp("us", newest.type.tz)).value) // 1_000
    value = int(newest.as_py())
    return {"s": value * 1_000, "ms": value, "us": value // 1_000}[unit]


def _with(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*batch.columns, column], names=[*batch.schema.names, name])
