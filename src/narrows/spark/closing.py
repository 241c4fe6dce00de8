"""The end of a bounded run: all windows that are open close.

A stream's windows wait for the watermark, which waits for rows. At the end of a bounded run no row
will come, so a second, short query over the same checkpoint has the clock say a time at which all
windows are over: the watermark moves there, and Spark closes them as it always does.

A later run of the pipeline goes on from there. Its rows belong to new windows; a row that would
belong to a window that has been closed is late, and counted as such.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from narrows.catalog.options import parse_duration
from narrows.logical.nodes import Decoded, Node
from narrows.logical.walk import topological
from narrows.spark.event_time import RunTime
from narrows.spark.windows import windows_of


def run_time(checkpoint: Path, clock: Path) -> RunTime:
    """What a run that begins now knows about time."""
    return RunTime(watermark=checkpoint_watermark(checkpoint), clock=str(clock.absolute()))


def closing_run(plan: Node, checkpoint: Path, clock: Path) -> RunTime:
    """The run in which all open windows close."""
    now = run_time(checkpoint, clock)
    ends = []
    for node, spec in windows_of(plan).items():
        newest = now.watermark
        if spec.goes_by_time:
            # The watermark is at most so far behind the newest row.
            sources = (below for below in topological(node) if isinstance(below, Decoded))
            newest += max(map(_delay, sources), default=0)
        ends.append(spec.closing_time(newest))
    return replace(now, closes=max(ends))


def _delay(source: Decoded) -> int:
    if source.source.eventtime is None:
        return 0
    return parse_duration(source.source.watermark) or 0


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


class ClosedMark:
    """Says that a pipeline's windows have all been closed, and nothing has been read since.

    It is taken away when a run begins: whatever happens then, the next one will look again.
    """

    def __init__(self, path: Path, checkpoint: Path) -> None:
        self._path = path
        self._checkpoint = checkpoint
        promised = int(path.read_text("utf-8")) if path.exists() else None
        self.holds = promised is not None and checkpoint_watermark(checkpoint) >= promised
        path.unlink(missing_ok=True)

    def set(self, closes: int) -> None:
        """The windows are closed as soon as the watermark is there."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(str(closes), "utf-8")

    def keep(self) -> None:
        self.set(checkpoint_watermark(self._checkpoint))
