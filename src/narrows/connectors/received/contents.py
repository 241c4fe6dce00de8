"""What a log of received payloads has on the disk, whether somebody writes it or not."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from narrows.connectors.received import segments
from narrows.connectors.received.log import open_log
from narrows.connectors.received.segments import Group
from narrows.files.atomic import sync_folder


def groups_in(folder: Path) -> list[Group]:
    """What a log has on the disk, whether somebody writes it or not. Where payloads are missing
    that were there, a group of no bytes stands for them."""
    log = open_log(folder)
    return _with_gaps(log.groups() if log is not None else _closed_groups(folder))


def retain(folder: Path) -> None:
    """Removes what everybody has read, if this process writes the log; else whoever opens it
    next does so, with its first reader that comes on."""
    log = open_log(folder)
    if log is not None:
        log.retain()


def _closed_groups(folder: Path) -> list[Group]:
    found = segments.segments_in(folder)
    groups: list[Group] = []
    for first in found:
        with contextlib.suppress(FileNotFoundError):  # read by everybody, and removed meanwhile
            if first == found[-1]:
                _make_durable(folder, first)
                groups += segments.checked_groups(folder, first)[0]
            else:
                groups += segments.listed_groups(folder, first)
    return groups


def _make_durable(folder: Path, first: int) -> None:
    """What is taken into an entry must not be gone after a power cut."""
    descriptor = os.open(segments.segment_path(folder, first), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(folder)


def _with_gaps(groups: Sequence[Group]) -> list[Group]:
    whole: list[Group] = []
    for group in groups:
        if whole and whole[-1].end < group.first:
            last = whole[-1]
            missing = group.first - last.end
            whole.append(Group(last.segment, 0, 0, last.end, missing, 0))
        whole.append(group)
    return whole
