"""Files as a sink: tasks write under temporary names, and the driver publishes a batch's files
under names that hold the batch's number. A batch that is run again replaces what it published.

A payload is a file. It ends where the sink's `batch_count` says so, and at the end of the task. A
row that cannot be encoded is set aside with the reason; the others of its batch are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from narrows.connectors.base import Receipt, SinkConnector
from narrows.connectors.letters import (
    RowLetters,
    publish_files,
    publish_letters,
    remove,
    sweep_unpublished,
    unpublished,
)
from narrows.connectors.target import SinkTarget
from narrows.files.output_names import BatchFiles
from narrows.files.small import disk_errors
from narrows.files.synced_file import SyncedFile
from narrows.formats.base import find_format
from narrows.formats.encoder import Encoded, PayloadWriter, RowColumns, Values

_PIECE_BYTES = 64 << 20
"""Rows are encoded in pieces: Arrow counts the bytes of a column of text in 32 bits."""


class FileSink(SinkConnector):
    def __init__(self, target: SinkTarget) -> None:
        self._target = target

    def open_task(self, batch: int, task: int) -> FileSinkTask:
        return FileSinkTask(self._target)

    def publish(self, batch: int, receipts: Sequence[Receipt]) -> None:
        suffix = find_format(self._target.format).suffix
        names = BatchFiles(self._target.pipeline, batch, suffix)
        files = [file for receipt in receipts for file in receipt["files"]]
        with disk_errors(Path(self._target.place), self._target.sink):
            publish_files(Path(self._target.place), names, files)
        letters = [file for receipt in receipts for file in receipt["letters"]]
        with disk_errors(Path(self._target.dead_letters)):
            publish_letters(self._target, batch, letters)

    def discard(self, receipts: Sequence[Receipt]) -> None:
        for receipt in receipts:
            remove((*receipt["files"], *receipt["letters"]))

    def sweep(self) -> None:
        for folder in (self._target.place, self._target.dead_letters):
            sweep_unpublished(folder, self._target.pipeline)


class FileSinkTask:
    """The files of one task."""

    def __init__(self, target: SinkTarget) -> None:
        self._target = target
        self._batch_count = target.limit("batch_count")
        self._encoder = find_format(target.format).encoder(dict(target.options))
        self._file: SyncedFile | None = None
        self._payload: PayloadWriter | None = None
        self._letters = RowLetters(target)
        self._gathered: list[pa.RecordBatch] = []
        self._rows = 0
        """Rows of the payload that is being written."""
        self._written: list[str] = []

    def add(self, batch: pa.RecordBatch) -> None:
        with disk_errors(Path(self._target.place), self._target.sink):
            for piece in _pieces(batch):
                start = 0
                while start < piece.num_rows:
                    rows = piece.slice(start, self._room())
                    start += rows.num_rows
                    self._take(rows)
                    if self._room() == 0:
                        self._end_payload()

    def close(self) -> Receipt:
        """Ends the last payload; all files are on the disk then."""
        with disk_errors(Path(self._target.place), self._target.sink):
            self._end_payload()
        self._letters.close()
        return {"files": self._written, "letters": self._letters.written}

    def discard(self) -> None:
        if self._file is not None:
            self._file.abandon()
        self._letters.discard()
        remove(self._written)

    # --- payloads ---------------------------------------------------------------------------------

    def _room(self) -> int | None:
        """How many more rows the payload may have; None for any number."""
        return None if self._batch_count is None else self._batch_count - self._rows

    def _take(self, rows: pa.RecordBatch) -> None:
        if self._target.gathers:
            self._gathered.append(rows)
        else:
            self._encode(rows)
        self._rows += rows.num_rows

    def _end_payload(self) -> None:
        if self._gathered:
            self._encode(pa.concat_batches(self._gathered))
            self._gathered = []
        if self._payload is not None and self._file is not None:
            self._payload.close()
            self._file.close_synced()
        self._payload = self._file = None
        self._rows = 0

    def _encode(self, batch: pa.RecordBatch) -> None:
        """Writes the rows; where some cannot be encoded, all others."""
        try:
            self._open().add(self._rows_of(batch))
        except ValueError as error:
            if batch.num_rows == 1:
                self._letters.add(batch, str(error))
                return
            half = batch.num_rows // 2
            self._encode(batch.slice(0, half))
            self._encode(batch.slice(half))

    def _open(self) -> PayloadWriter:
        if self._payload is None:
            path = unpublished(self._target.place, self._target.pipeline)
            self._written.append(str(path))
            self._file = SyncedFile(path)
            self._payload = self._encoder.open(self._file)
        return self._payload

    def _rows_of(self, batch: pa.RecordBatch) -> RowColumns:
        rows: list[Values | Encoded] = []
        for part in self._target.parts:
            array = batch.column(part.column)
            if pa.types.is_large_string(array.type):
                array = array.cast(pa.string())
            if part.fragment is None:
                rows.append(Values(part.name, array))
            else:
                rows.append(Encoded(part.fragment, array))
        return rows


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows, size = batch.num_rows, int(batch.nbytes)
    step = max(1, rows if size <= _PIECE_BYTES else rows * _PIECE_BYTES // size)
    return (batch.slice(start, step) for start in range(0, rows, step))
