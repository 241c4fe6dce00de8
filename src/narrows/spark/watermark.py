"""Where the watermark of a query is that does not run, or is between two batches."""

from __future__ import annotations

import json
from pathlib import Path


def checkpoint_watermark(checkpoint: Path) -> int:
    """Where the last batch that was committed left the watermark; 0 when there was none.

    Spark writes it into the commit log, a small JSON file for each batch, which is the only place
    that has it when nothing runs.
    """
    last = _last_commit(checkpoint)
    for line in () if last is None else last.read_text("utf-8").splitlines():
        if line.startswith("{"):
            return int(json.loads(line).get("nextBatchWatermarkMs", 0))
    return 0


def has_batches(checkpoint: Path) -> bool:
    """Has a query ever come so far as to read something?"""
    return _last_commit(checkpoint) is not None


def _last_commit(checkpoint: Path) -> Path | None:
    commits = [path for path in checkpoint.glob("commits/*") if path.name.isdecimal()]
    return max(commits, key=lambda path: int(path.name), default=None)
