"""Spark's file source and its checkpoint, as far as markers know them; for tests without a JVM."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import unquote

from narrows.spark.streaming.markers import entry_of
from narrows.spark.streaming.source_log import uri_of

COMPACT_EVERY = 10
MAX_AGE_MS = 3_600_000


class FakeQuery:
    """A streaming query that takes one marker a batch, and journals it like Spark does."""

    def __init__(self, checkpoint: Path, folder: Path) -> None:
        self._checkpoint = checkpoint
        self._folder = folder
        for name in ("commits", "offsets", "sources/0"):
            (checkpoint / name).mkdir(parents=True, exist_ok=True)
        self._taken = list(self._all_taken().values())
        self._purge()

    def begin_batch(self) -> int | None:
        """Takes the oldest marker that is new, and journals the batch; None if there is none.

        A batch that was begun and not committed is begun again.
        """
        batch = self._begun()
        if batch not in self._numbers("commits") and batch >= 0:
            return batch
        found = self._oldest_new()
        if found is None:
            return None
        count = max(self._all_taken(), default=-1) + 1
        self._add(count, found)
        head = ["v1", '{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}']
        self._write(f"offsets/{batch + 1}", [*head, json.dumps({"logOffset": count})])
        return batch + 1

    def entries(self, batch: int) -> list[int]:
        """What a batch reads, by the markers that it took; fails as Spark does if one is gone."""
        path = Path(unquote(str(self._all_taken()[batch]["path"])).removeprefix("file://"))
        lines = path.read_text("ascii").splitlines()
        entry = entry_of(path.name)
        assert entry is not None
        assert lines, f"marker {path.name} is empty"
        return [entry]

    def commit(self, batch: int) -> None:
        self._write(f"commits/{batch}", ["v1", '{"nextBatchWatermarkMs":0}'])

    # --- as Spark does it -------------------------------------------------------------------------

    def _oldest_new(self) -> Path | None:
        known = {line["path"] for line in self._taken}
        markers = [path for path in self._folder.glob("*.marker") if uri_of(path) not in known]
        markers = [path for path in markers if _ms(path) >= self._purged]
        return min(markers, key=_ms, default=None)

    def _add(self, count: int, marker: Path) -> None:
        line: dict[str, object] = {
            "path": uri_of(marker),
            "timestamp": _ms(marker),
            "batchId": count,
        }
        self._taken.append(line)
        self._purge()
        compact = (count + 1) % COMPACT_EVERY == 0
        lines = [*self._all_taken().values(), line] if compact else [line]
        name = f"sources/0/{count}" + (".compact" if compact else "")
        self._write(name, ["v1", *(json.dumps(line) for line in lines)])

    def _purge(self) -> None:
        newest = max((int(str(line["timestamp"])) for line in self._taken), default=0)
        self._purged = newest - MAX_AGE_MS
        self._taken = [line for line in self._taken if int(str(line["timestamp"])) >= self._purged]

    def _all_taken(self) -> dict[int, dict[str, object]]:
        """The newest compact file and what came later, by number."""
        lines: dict[int, dict[str, object]] = {}
        files = {int(path.stem): path for path in (self._checkpoint / "sources/0").glob("[0-9]*")}
        newest = max((n for n, path in files.items() if path.suffix), default=-1)
        for path in (path for n, path in files.items() if n >= newest):
            for text in path.read_text().splitlines()[1:]:
                line = json.loads(text)
                lines[line["batchId"]] = line
        return dict(sorted(lines.items()))

    def _begun(self) -> int:
        return max(self._numbers("offsets"), default=-1)

    def _numbers(self, name: str) -> list[int]:
        return [int(path.name) for path in (self._checkpoint / name).iterdir()]

    def _write(self, name: str, lines: list[str]) -> None:
        (self._checkpoint / name).write_text("\n".join(lines))


def _ms(path: Path) -> int:
    return os.stat(path).st_mtime_ns // 1_000_000
