"""Where the watermark of a query is that does not run, or is between two batches.

Spark writes it into the commit log of the checkpoint, a small JSON file for each batch, which is
the only place that has it when nothing runs.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from narrows.files.small import damaged


def checkpoint_watermark(checkpoint: Path) -> int:
    """Where the last batch that was committed left the watermark; 0 when there was none."""
    last = last_commit(checkpoint)
    if last is None:
        return 0
    path = checkpoint / "commits" / str(last)
    try:
        lines = path.read_text("utf-8").splitlines()
        return int(json.loads(lines[1]).get("nextBatchWatermarkMs", 0))
    except (OSError, ValueError, IndexError, AttributeError, TypeError) as error:
        hint = "restore the state folder from a backup, or start the pipeline anew: `narrows reset`"
        raise damaged(path, "the checkpoint file", error, hint) from error


def last_commit(checkpoint: Path) -> int | None:
    """The number of the last batch that was committed; None when there was none."""
    try:
        names = os.listdir(checkpoint / "commits")
    except FileNotFoundError:
        return None
    return max((int(name) for name in names if name.isdecimal()), default=None)
