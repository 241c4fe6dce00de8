"""From micro-batches to low latency and back: a pipeline goes on from the same entry.

What says how far it has come is Spark's checkpoint, or a position of ours
(`state/entry_position.py`). Whoever starts a pipeline makes sure that it is the right one of both.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from narrows.spark.read.marker_source import markers_folder
from narrows.spark.streaming.checkpoint import check_checkpoint, marker_position
from narrows.state.entry_position import EntryPosition, first_entry, set_first_entry
from narrows.worker.read_spec import ReadSpec


def begin_position(read: ReadSpec, checkpoint: Path) -> EntryPosition:
    """The position of a pipeline of low latency, which may have had micro-batches before."""
    assert read.entry_log is not None
    position = EntryPosition(read.entry_log)
    if position.read() is None:
        check_checkpoint(checkpoint)
        first = first_entry(read.entry_log)
        position.begin(marker_position(checkpoint, markers_folder(read), first).committed)
    return position


def end_position(read: ReadSpec, checkpoint: Path) -> None:
    """Has a pipeline that had low latency begin a checkpoint of Spark's, where it stands. The
    position goes last: what a crash cuts short is done again."""
    assert read.entry_log is not None
    position = EntryPosition(read.entry_log)
    published = position.read()
    if published is not None:
        shutil.rmtree(checkpoint, ignore_errors=True)
        shutil.rmtree(markers_folder(read), ignore_errors=True)
        set_first_entry(read.entry_log, published + 1)
        position.end()
