"""The end of a bounded run: all windows that are open close.

A stream's windows wait for the watermark, which waits for rows. At the end of a bounded run no row
will come. Where the readers know their last turn, they say so (`input_end.py`). Everywhere else a
second, short query over the same checkpoint has the clock say a time at which all windows are over:
the watermark moves there, and Spark closes them as it always does.

A later run of the pipeline goes on from there. Its rows belong to new windows; a row that would
belong to a window that has been closed is late, and counted as such.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from narrows.catalog.objects import Source
from narrows.errors import NarrowsError
from narrows.files.small import read_small, write_small
from narrows.logical.nodes import DecodedSource, Node
from narrows.logical.walk import topological
from narrows.spark.windows.event_time import RunTime
from narrows.spark.windows.input_end import watermark_delay
from narrows.spark.windows.windows import windows_of
from narrows.stateful.windows.window import StreamWindow
from narrows.worker.newest_time import newest_time
from narrows.worker.watermark import checkpoint_watermark

_MAGIC = "narrows-closed-1"


def run_time(checkpoint: Path, clock: Path) -> RunTime:
    """What a run that begins now knows about time."""
    return RunTime(
        watermark=checkpoint_watermark(checkpoint),
        clock=str(clock.absolute()),
        checkpoint=str(checkpoint.absolute()),
    )


def streams_of(plan: Node) -> list[Source]:
    """The streams that a plan reads, each as often as it does."""
    sources = [node.source for node in topological(plan) if isinstance(node, DecodedSource)]
    return [source for source in sources if not source.bounded]


def closing_run(plan: Node, checkpoint: Path, clock: Path, newest: Path, lag: int) -> RunTime:
    """The run in which all open windows close.

    `newest` is where tasks have left how far they have come, `lag` how far windows may be behind
    the watermark of what is read.
    """
    now = run_time(checkpoint, clock)
    ends = [_end(node, window, now, newest) for node, window in windows_of(plan).items()]
    return replace(now, closes=max(ends) + lag)


def _end(node: Node, window: StreamWindow, now: RunTime, newest: Path) -> int:
    if not window.goes_by_time:
        return window.closing_time(now.watermark)
    streams = streams_of(node)
    # The watermark is at most so far behind the newest row of the stream that is behind all others.
    behind = max((watermark_delay(source, window) for source in streams), default=0)
    times = [now.watermark + behind, newest_time(newest)]
    if len(streams) > 1 and any(source.eventtime is None for source in streams):
        times.append(int(time.time() * 1_000))
    return window.closing_time(max(times))


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
