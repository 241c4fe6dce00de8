"""Files as a sink: tasks write under temporary names, and the driver publishes a batch's files
under names that hold the batch's number. A batch that is run again replaces what it published.

A payload is a file. It ends where the sink's `batch_count` says so, and at the end of the task.
With `partition_by`, each partition has files and a folder of its own. A row that cannot be encoded
is set aside with the reason; the others of its batch are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from narrows.connectors.base import Receipt, SinkConnector
from narrows.connectors.file.compaction import finish, is_compacted
from narrows.connectors.file.partitions import PARTITION_BY, Partitions
from narrows.connectors.file.payload import Payload
from narrows.connectors.file.published import publish_partitioned
from narrows.connectors.letters import (
    RowLetters,
    publish_files,
    publish_letters,
    remove,
    sweep_unpublished,
    unpublished,
)
from narrows.connectors.row_columns import row_columns
from narrows.connectors.target import SinkTarget
from narrows.files.output_names import BatchFiles
from narrows.files.small import disk_errors
from narrows.formats.base import find_format
from narrows.formats.encoder import RowColumns

_PIECE_BYTES = 64 << 20
"""Rows are encoded in pieces: Arrow counts the bytes of a column of text in 32 bits."""
_MOST_OPEN = 64
"""Files that a task has open; with more partitions than that, one may get several."""


class FileSink(SinkConnector):
    def __init__(self, target: SinkTarget) -> None:
        self._target = target
        self._is_partitioned = PARTITION_BY in dict(target.options)

    def open_task(self, batch: int, task: int) -> FileSinkTask:
        return FileSinkTask(self._target)

    def publish(self, batch: int, receipts: Sequence[Receipt]) -> None:
        suffix = find_format(self._target.format).suffix
        names = BatchFiles(self._target.pipeline, batch, suffix)
        place = Path(self._target.place)
        files = [(file, folder) for receipt in receipts for file, folder in receipt["files"]]
        with disk_errors(place, self._target.sink):
            if is_compacted(self._target, batch):
                remove([file for file, _ in files])
            elif self._is_partitioned:
                publish_partitioned(place, names, files)
            else:
                publish_files(place, names, [file for file, _ in files])
        letters = [file for receipt in receipts for file in receipt["letters"]]
        with disk_errors(Path(self._target.dead_letters)):
            publish_letters(self._target, batch, letters)

    def discard(self, receipts: Sequence[Receipt]) -> None:
        for receipt in receipts:
            remove((*(file for file, _ in receipt["files"]), *receipt["letters"]))

    def sweep(self) -> None:
        with disk_errors(Path(self._target.place), self._target.sink):
            finish(Path(self._target.place), self._target.pipeline)
        for folder in (self._target.place, self._target.dead_letters):
            sweep_unpublished(folder, self._target.pipeline)


class FileSinkTask:
    """The files of one task: one for each partition, and more where `batch_count` says so."""

    def __init__(self, target: SinkTarget) -> None:
        form = find_format(target.format)
        options = dict(target.options)
        self._target = target
        self._batch_count = target.limit("batch_count")
        self._encoder = form.encoder(options)
        self._partitions = Partitions(target)
        named = {name.casefold() for names in form.columns_in(options).values() for name in names}
        self._parts = [
            part
            for part in target.parts
            if part.column not in self._partitions.columns or part.name.casefold() in named
        ]
        """What is encoded: a column of the partitions is in the names of folders already."""
        self._letters = RowLetters(target)
        self._open: dict[str, Payload] = {}
        """The files that are being written, by the folder that they are for; the one that was
        written to last is the last."""
        self._written: list[tuple[str, str]] = []

    def add(self, batch: pa.RecordBatch) -> None:
        with disk_errors(Path(self._target.place), self._target.sink):
            for piece in _pieces(batch):
                self._add_piece(piece)

    def _add_piece(self, rows: pa.RecordBatch) -> None:
        try:
            parts = list(self._partitions.split(rows))
        except ValueError as error:
            if rows.num_rows == 1:
                self._letters.add(rows, str(error))
                return
            half = rows.num_rows // 2
            self._add_piece(rows.slice(0, half))
            self._add_piece(rows.slice(half))
            return
        for folder, part in parts:
            self._add_to(folder, part)

    def close(self) -> Receipt:
        """Ends all payloads; all files are on the disk then."""
        with disk_errors(Path(self._target.place), self._target.sink):
            for folder in list(self._open):
                self._open.pop(folder).close()
        self._letters.close()
        return {"files": [list(file) for file in self._written], "letters": self._letters.written}

    def discard(self) -> None:
        for payload in self._open.values():
            payload.abandon()
        self._letters.discard()
        remove([file for file, _ in self._written])

    # --- payloads ---------------------------------------------------------------------------------

    def _add_to(self, folder: str, rows: pa.RecordBatch) -> None:
        start = 0
        while start < rows.num_rows:
            payload = self._payload(folder)
            room = None if self._batch_count is None else self._batch_count - payload.rows
            part = rows.slice(start, room)
            start += part.num_rows
            payload.add(part)
            if payload.rows == self._batch_count:
                self._open.pop(folder).close()

    def _payload(self, folder: str) -> Payload:
        payload = self._open.pop(folder, None)
        if payload is None:
            if len(self._open) == _MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
            payload = Payload(
                self._encoder,
                self._columns,
                lambda: self._new_file(folder),
                self._letters.add,
                gathers=self._target.gathers,
            )
        self._open[folder] = payload
        return payload

    def _new_file(self, folder: str) -> Path:
        path = unpublished(self._target.place, self._target.pipeline)
        self._written.append((str(path), folder))
        return path

    def _columns(self, batch: pa.RecordBatch) -> RowColumns:
        return row_columns(self._parts, batch)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows, size = batch.num_rows, int(batch.nbytes)
    step = max(1, rows if size <= _PIECE_BYTES else rows * _PIECE_BYTES // size)
    return (batch.slice(start, step) for start in range(0, rows, step))
