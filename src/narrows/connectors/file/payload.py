"""One file of a sink that is being written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from narrows.files.synced_file import SyncedFile
from narrows.formats.encoder import Encoder, PayloadWriter, RowColumns

Refuse = Callable[[pa.RecordBatch, str], None]
"""Takes a row that cannot be encoded, and why."""


class Payload:
    """Rows on their way into a file; the file is there with the first of them."""

    def __init__(
        self,
        encoder: Encoder,
        columns: Callable[[pa.RecordBatch], RowColumns],
        path: Callable[[], Path],
        refuse: Refuse,
        *,
        gathers: bool,
    ) -> None:
        """`path` makes the name of a new file. With `gathers`, the first row is encoded when the
        last is known."""
        self._encoder = encoder
        self._columns = columns
        self._path = path
        self._refuse = refuse
        self._gathers = gathers
        self._gathered: list[pa.RecordBatch] = []
        self._file: SyncedFile | None = None
        self._writer: PayloadWriter | None = None
        self.rows = 0

    def add(self, rows: pa.RecordBatch) -> None:
        if self._gathers:
            self._gathered.append(rows)
        else:
            self._encode(rows)
        self.rows += rows.num_rows

    def close(self) -> None:
        """Ends it; the file is on the disk then."""
        if self._gathered:
            self._encode(pa.concat_batches(self._gathered))
            self._gathered = []
        if self._writer is not None and self._file is not None:
            self._writer.close()
            self._file.close_synced()
        self._writer = self._file = None

    def abandon(self) -> None:
        if self._file is not None:
            self._file.abandon()

    def _encode(self, batch: pa.RecordBatch) -> None:
        """Writes the rows; where some cannot be encoded, all others."""
        try:
            self._open().add(self._columns(batch))
        except ValueError as error:
            if batch.num_rows == 1:
                self._refuse(batch, str(error))
                return
            half = batch.num_rows // 2
            self._encode(batch.slice(0, half))
            self._encode(batch.slice(half))

    def _open(self) -> PayloadWriter:
        if self._writer is None:
            self._file = SyncedFile(self._path())
            self._writer = self._encoder.open(self._file)
        return self._writer
