"""The newest event time of a stream, as tasks leave it for the end of the input."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from narrows.worker.event_time import EventTime
from narrows.worker.newest_time import NewestTime, newest_time

SECONDS = EventTime("ts", 0, "s")


def _seen(folder: Path, task: int, *seconds: int) -> None:
    task_of = NewestTime(str(folder), task, SECONDS)
    for second in seconds:
        task_of.see(pa.record_batch({"ts": pa.array([second, None], pa.int64())}))
    task_of.save()


def test_the_newest_of_all_tasks_and_batches(tmp_path: Path) -> None:
    assert newest_time(tmp_path) == 0
    _seen(tmp_path / "a", 0, 5, 9, 7)
    _seen(tmp_path / "b", 1, 8)
    _seen(tmp_path / "a", 0, 3)  # a later batch has older rows
    _seen(tmp_path / "a", 1)
    assert newest_time(tmp_path) == 9_000


def test_what_is_damaged_says_nothing(tmp_path: Path) -> None:
    _seen(tmp_path / "a", 0, 5)
    _seen(tmp_path / "b", 0, 4)
    (tmp_path / "a" / "0.json").write_bytes(b"9999999")
    assert newest_time(tmp_path) == 4_000
    _seen(tmp_path / "a", 0, 3)
    assert newest_time(tmp_path) == 4_000


def test_without_a_folder_nothing_is_left(tmp_path: Path) -> None:
    task = NewestTime(None, 0, SECONDS)
    task.see(pa.record_batch({"ts": pa.array([1], pa.int64())}))
    task.save()
    assert not list(tmp_path.iterdir())
