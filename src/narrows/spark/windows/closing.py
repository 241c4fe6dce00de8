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

from narrows.errors import NarrowsError
from narrows.files.small import read_small, write_small
from narrows.logical.nodes import DecodedSource, Node
from narrows.logical.walk import topological
from narrows.spark.windows.event_time import RunTime
from narrows.spark.windows.input_end import watermark_delay
from narrows.spark.windows.windows import windows_of
from narrows.worker.watermark import checkpoint_watermark

_MAGIC = "narrows-closed-1"


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
            sources = (
                below.source for below in topological(node) if isinstance(below, DecodedSource)
            )
            newest += max((watermark_delay(source, window) for source in sources), default=0)
        ends.append(window.closing_time(newest))
    return replace(now, closes=max(ends))


def _promised(path: Path) -> int | None:
    """The watermark that a mark promises. A damaged one promises none: windows that were closed
    are closed again, which does no harm."""
    try:
        promised: int | None = read_small(path, _MAGIC, "the mark", "remove it")
    except NarrowsError:
        return None
    return promised


class ClosedMark:
    """Says that a pipeline's windows have all been closed, and nothing has been read since.

    It is taken away when a run begins: whatever happens then, the next one will look again.
    """

    def __init__(self, path: Path, checkpoint: Path) -> None:
        self._path = path
        self._checkpoint = checkpoint
        promised = _promised(path)
        self.holds = promised is not None and checkpoint_watermark(checkpoint) >= promised
        path.unlink(missing_ok=True)

    def set(self, closes: int) -> None:
        """The windows are closed as soon as the watermark is there."""
        write_small(self._path, _MAGIC, closes)

    def keep(self) -> None:
        self.set(checkpoint_watermark(self._checkpoint))
