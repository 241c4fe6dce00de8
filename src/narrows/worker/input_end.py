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

from narrows.stateful.windows.window import StreamWindow
from narrows.worker.event_time import EventTime, newest_of
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
                newest = max(newest, newest_of(batch.column(event_time.place), event_time.unit))
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


def _with(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*batch.columns, column], names=[*batch.schema.names, name])
