"""The files of one task for one sink: rows in, encoded payloads out.

A payload is a file. It ends where the sink's `batch_count` says so, and at the end of the task. A
row that cannot be encoded is set aside with the reason; the others of its batch are written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from narrows.files.output_names import is_unpublished, unpublished_name
from narrows.files.synced_file import SyncedFile
from narrows.formats.encoder import Encoded, PayloadWriter, Rows, Values, encoder_spec
from narrows.worker.write_spec import SinkTarget

_PIECE_BYTES = 64 << 20
"""Rows are encoded in pieces: Arrow counts the bytes of a column of text in 32 bits."""


class PayloadFiles:
    def __init__(self, pipeline: str, target: SinkTarget) -> None:
        self._pipeline = pipeline
        self._target = target
        self._encoder = encoder_spec(target.format).make(dict(target.options))
        self._file: SyncedFile | None = None
        self._payload: PayloadWriter | None = None
        self._letters: SyncedFile | None = None
        self._gathered: list[pa.RecordBatch] = []
        self._rows = 0
        """Rows of the payload that is being written."""
        self.written: list[str] = []
        self.dead_letters: list[str] = []

    def add(self, batch: pa.RecordBatch) -> None:
        for piece in _pieces(batch):
            start = 0
            while start < piece.num_rows:
                rows = piece.slice(start, self._room())
                start += rows.num_rows
                self._take(rows)
                if self._room() == 0:
                    self._end_payload()

    def close(self) -> None:
        """Ends the last payload; all files are on the disk then."""
        self._end_payload()
        if self._letters is not None:
            self._letters.close_synced()
            self._letters = None

    def discard(self) -> None:
        for file in (self._file, self._letters):
            if file is not None:
                file.close()
        for path in (*self.written, *self.dead_letters):
            Path(path).unlink(missing_ok=True)

    # --- payloads ---------------------------------------------------------------------------------

    def _room(self) -> int | None:
        """How many more rows the payload may have; None for any number."""
        limit = self._target.batch_count
        return None if limit is None else limit - self._rows

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
                self._set_aside(batch, str(error))
                return
            half = batch.num_rows // 2
            self._encode(batch.slice(0, half))
            self._encode(batch.slice(half))

    def _open(self) -> PayloadWriter:
        if self._payload is None:
            self._file = SyncedFile(self._temporary(self._target.folder, self.written))
            self._payload = self._encoder.open(self._file)
        return self._payload

    def _rows_of(self, batch: pa.RecordBatch) -> Rows:
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

    def _temporary(self, folder: str, paths: list[str]) -> Path:
        Path(folder).mkdir(parents=True, exist_ok=True)
        path = Path(folder) / unpublished_name(self._pipeline)
        paths.append(str(path))
        return path

    # --- rows that cannot be encoded --------------------------------------------------------------

    def _set_aside(self, row: pa.RecordBatch, reason: str) -> None:
        if self._letters is None:
            path = self._temporary(self._target.dead_letters, self.dead_letters)
            self._letters = SyncedFile(path)
        values = {part.name or part.column: row.column(part.column) for part in self._target.parts}
        letter = {
            "sink": self._target.sink,
            "pipeline": self._pipeline,
            "reason": reason,
            "payload": json.dumps({n: _text(v[0].as_py()) for n, v in values.items()}),
            "file": "",
            "offset": 0,
        }
        self._letters.write(f"{json.dumps(letter, ensure_ascii=False)}\n".encode())


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows, size = batch.num_rows, int(batch.nbytes)
    step = max(1, rows if size <= _PIECE_BYTES else rows * _PIECE_BYTES // size)
    return (batch.slice(start, step) for start in range(0, rows, step))


def sweep_unpublished(pipeline: str, target: SinkTarget) -> None:
    """Removes what tasks of a pipeline wrote that will not be published: none of them is running.

    A task that fails removes its own; but others of its batch had done their part, or all were
    killed.
    """
    for folder in (target.folder, target.dead_letters):
        for name in os.listdir(folder) if Path(folder).is_dir() else ():
            if is_unpublished(name, pipeline):
                (Path(folder) / name).unlink(missing_ok=True)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
