"""The end of a bounded run: all windows that are open close.

A stream's windows wait for the watermark, which waits for rows. At the end of a bounded run no row
will come. Where the readers know their last turn, they say so (`input_end.py`). Everywhere else a
second, short query over the same checkpoint has the clock say a time at which all windows are over:
the watermark moves there, and Spark closes them as it always does.

A later run of the pipeline goes on from there. Its rows belong to new windows; a row that would
belong to a window that has been closed is late, and counted as such.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from narrows.logical.nodes import Decoded, Node
from narrows.logical.walk import topological
from narrows.spark.windows.event_time import RunTime
from narrows.spark.windows.input_end import watermark_delay
from narrows.spark.windows.windows import windows_of
from narrows.worker.watermark import checkpoint_watermark


def run_time(checkpoint: Path, clock: Path) -> RunTime:
    """What a run that begins now knows about time."""
    return RunTime(
        watermark=checkpoint_watermark(checkpoint),
        clock=str(clock.absolute()),
        checkpoint=str(checkpoint.absolute()),
    )


def closing_run(plan: Node, checkpoint: Path, clock: Path) -> RunTime:
    """The run in which all open windows close."""
    now = run_time(checkpoint, clock)
    ends = []
    for node, window in windows_of(plan).items():
        newest = now.watermark
        if window.goes_by_time:
            # The watermark is at most so far behind the newest row.
            sources = (below.source for below in topological(node) if isinstance(below, Decoded))
            newest += max((watermark_delay(source, window) for source in sources), default=0)
        ends.append(window.closing_time(newest))
    return replace(now, closes=max(ends))


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
