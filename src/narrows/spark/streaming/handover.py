"""From a streaming query of Spark's to none and back: a pipeline goes on from the same entry.

What says how far it has come is Spark's checkpoint, or a position of ours
(`state/entry_position.py`). Whoever starts a pipeline makes sure that it is the right one of both.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from narrows.connectors.entry_log import EMPTY
from narrows.errors import Code, fail
from narrows.spark.entries.intake import Intake, Taking
from narrows.spark.read.marker_source import markers_folder
from narrows.spark.streaming.checkpoint import check_checkpoint, check_unread, marker_position
from narrows.spark.streaming.markers import waiting_in
from narrows.state.entry_position import EntryPosition, first_entry, set_first_entry
from narrows.worker.read_spec import ReadSpec


def begin_position(intake: Taking, checkpoint: Path) -> EntryPosition:
    """The position of a pipeline without a query. It may have had one before, but not if it reads
    several streams: Spark has put together what its batches read, so it goes on with that."""
    position = EntryPosition(intake.log.folder)
    if position.read() is not None:
        return position
    come_to = EMPTY
    if isinstance(intake, Intake):
        check_checkpoint(checkpoint)
        markers = markers_folder(intake.spec)
        found = marker_position(checkpoint, markers, first_entry(intake.log.folder))
        check_unread(intake.log, found, waiting_in(markers))
        come_to = found.committed
    elif (checkpoint / "offsets").exists():
        raise fail(
            Code.CHECKPOINT_MISMATCH,
            f"`{checkpoint}` says how far a streaming query has come, and the record of what that"
            " was made for is gone",
            hint="restore the state folder from a backup, or start the pipeline anew:"
            " `narrows reset <pipeline>`",
        )
    position.begin(come_to)
    return position


def end_position(read: ReadSpec, checkpoint: Path) -> None:
    """Has a pipeline that had no query begin a checkpoint of Spark's, where it stands. The position
    goes last: what a crash cuts short is done again."""
    assert read.entry_log is not None
    position = EntryPosition(read.entry_log)
    published = position.read()
    if published is not None:
        shutil.rmtree(checkpoint, ignore_errors=True)
        shutil.rmtree(markers_folder(read), ignore_errors=True)
        set_first_entry(read.entry_log, published + 1)
        position.end()
