"""Markers: in order whatever the clock says, there until what they name is published."""

from __future__ import annotations

import os
from pathlib import Path

from narrows.spark.streaming.markers import Turns


def _names(folder: Path) -> list[str]:
    """As Spark takes them: the oldest first."""
    found = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns // 1_000_000)
    return [path.name for path in found]


def test_a_turn_names_every_task_of_an_entry(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "turns")
    assert turns.last == -1
    turns.give(0, 1)
    turns.give(1, 3)
    assert turns.last == 1
    assert (tmp_path / "turns" / "000000000001.turn").read_text() == "1 0 3 0\n1 1 3 0\n1 2 3 0\n"


def test_turns_given_in_one_millisecond_or_before_the_last_are_in_order(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    for entry in range(50):
        turns.give(entry, 1)
    expected = [f"{entry:012d}.turn" for entry in range(50)]
    assert _names(tmp_path) == expected
    future = 4_000_000_000_000_000_000
    # The clock was wrong when the newest was taken, and is set right.
    Turns(tmp_path, newest_ms=future // 1_000_000).give(50, 1)
    assert _names(tmp_path) == [*expected, "000000000050.turn"]


def test_the_end_is_said_and_taken_back_in_place(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    turns.set_end(is_last=True)  # nothing was ever given
    turns.give(0, 1)
    turns.give(1, 2)
    before = _names(tmp_path)
    newest = tmp_path / "000000000001.turn"
    given = newest.stat().st_mtime_ns
    turns.set_end(is_last=True)
    assert newest.read_text() == "1 0 2 1\n1 1 2 1\n"
    turns.set_end(is_last=False)
    assert newest.read_text() == "1 0 2 0\n1 1 2 0\n"
    assert _names(tmp_path) == before
    assert newest.stat().st_mtime_ns == given


def test_what_was_read_is_removed_and_nothing_else(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    for entry in range(5):
        turns.give(entry, 1)
    turns.forget(2)
    assert _names(tmp_path) == ["000000000003.turn", "000000000004.turn"]
    assert Turns(tmp_path, committed=3).waiting == (4,)
    turns = Turns(tmp_path, committed=4)
    assert turns.last == 4
    assert _names(tmp_path) == []
    turns.set_end(is_last=True)  # it was read: all the same
    turns.give(5, 1)
    assert _names(tmp_path) == ["000000000005.turn"]


def test_markers_that_wait_get_new_times_in_order(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    for entry in range(5):
        turns.give(entry, 1)
    for place, name in enumerate(_names(tmp_path)):
        os.utime(tmp_path / name, (1_000 - place, 1_000 - place))  # restored, in some other order
    newest_ms = 4_000_000_000_000
    turns = Turns(tmp_path, committed=0, newest_ms=newest_ms)
    turns.put_in_order()
    turns.give(5, 1)
    assert _names(tmp_path) == [f"{entry:012d}.turn" for entry in range(1, 6)]
    oldest = (tmp_path / "000000000001.turn").stat().st_mtime_ns
    assert oldest > newest_ms * 1_000_000, "Spark takes what is newer than all that it has taken"


def test_a_marker_that_is_not_what_was_written_is_known(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    turns.give(0, 2)
    assert turns.is_intact(0)
    turns.set_end(is_last=True)
    assert turns.is_intact(0)
    marker = tmp_path / "000000000000.turn"
    for damage in ("", "0 0 2 0\n", "1 0 1 0\n", "\xff", "0 0 1 7\n"):
        marker.write_text(damage, "latin-1")
        assert not turns.is_intact(0)
    marker.unlink()
    assert not turns.is_intact(0)


def test_what_a_crash_left_is_swept(tmp_path: Path) -> None:
    (tmp_path / ".000000000000.turn.abc.tmp").write_text("0")
    assert Turns(tmp_path).last == -1
    assert _names(tmp_path) == []
