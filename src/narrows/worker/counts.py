"""What readers count: payloads, rows, bytes. How it is kept is in `count_files.py`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from narrows.formats.decoder import Decoded

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class ReadCounts:
    payloads: int = 0
    payload_bytes: int = 0
    bad: int = 0
    mistyped: int = 0
    rows_decoded: int = 0
    rows_shipped: int = 0
    arrow_bytes: int = 0

    def add(self, size: int, decoded: Decoded) -> None:
        self.payloads += decoded.batch.num_rows + len(decoded.bad)
        self.payload_bytes += size
        self.bad += len(decoded.bad)
        self.mistyped += decoded.mistyped
        self.rows_decoded += decoded.batch.num_rows

    def add_shipped(self, batch: pa.RecordBatch) -> None:
        self.rows_shipped += batch.num_rows
        self.arrow_bytes += int(batch.nbytes)

    def add_bad(self) -> None:
        self.payloads += 1
        self.bad += 1

    def merge(self, other: ReadCounts) -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def since(self, before: ReadCounts) -> ReadCounts:
        """What has been counted after that."""
        now, then = asdict(self), asdict(before)
        return ReadCounts(**{name: max(0, now[name] - then[name]) for name in now})
