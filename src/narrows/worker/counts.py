"""What readers count: payloads, rows, bytes. Each range leaves a small file; the driver adds up."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from narrows.formats.decoder import Decoded
from narrows.worker.dead_letters import key_name


@dataclass
class ReadCounts:
    payloads: int = 0
    payload_bytes: int = 0
    bad: int = 0
    mistyped: int = 0
    rows_decoded: int = 0
    rows_shipped: int = 0
    arrow_bytes: int = 0

    def add(self, size: int, decoded: Decoded, rows_shipped: int, arrow_bytes: int) -> None:
        self.payloads += decoded.batch.num_rows + len(decoded.bad)
        self.payload_bytes += size
        self.bad += len(decoded.bad)
        self.mistyped += decoded.mistyped
        self.rows_decoded += decoded.batch.num_rows
        self.rows_shipped += rows_shipped
        self.arrow_bytes += arrow_bytes

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

    def save(self, folder: str | None, key: str) -> None:
        if folder is None:
            return
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        name = key_name(key)
        temporary = target / f".{name}.{os.getpid()}"
        temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")
        os.replace(temporary, target / f"{name}.json")


def total_counts(folder: Path, since: int = 0) -> ReadCounts:
    """The sum of what all tasks left there; after a time of change in nanoseconds, if wanted."""
    total = ReadCounts()
    for path in folder.glob("[!.]*.json") if folder.is_dir() else ():
        if since and path.stat().st_mtime_ns < since:
            continue
        total.merge(ReadCounts(**json.loads(path.read_text("utf-8"))))
    return total
