"""Where the watermark of a query is that does not run, or is between two batches."""

from __future__ import annotations

import json
from pathlib import Path


def checkpoint_watermark(checkpoint: Path) -> int:
    """Where the last batch that was committed left the watermark; 0 when there was none.

    Spark writes it into the commit log, a small JSON file for each batch, which is the only place
    that has it when nothing runs.
    """
    commits = [path for path in checkpoint.glob("commits/*") if path.name.isdecimal()]
    if not commits:
        return 0
    last = max(commits, key=lambda path: int(path.name))
    for line in last.read_text("utf-8").splitlines():
        if line.startswith("{"):
            return int(json.loads(line).get("nextBatchWatermarkMs", 0))
    return 0
