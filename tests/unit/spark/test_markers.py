"""Markers: in order whatever the clock says, there until what they name is published."""

from __future__ import annotations

import os
from pathlib import Path

from narrows.spark.streaming.markers import Markers


def _names(folder: Path) -> list[str]:
    """As Spark takes them: the oldest first."""
    found = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns // 1_000_000)
    return [path.name for path in found]


def test_a_turn_names_every_task_of_an_entry(tmp_path: Path) -> None:
    markers = Markers(tmp_path / "markers")
    assert markers.last == -1
    markers.give(0, 1)
    markers.give(1, 3)
    assert markers.last == 1
    assert (
        tmp_path / "markers" / "000000000001.marker"
    ).read_text() == "1 0 3 0\n1 1 3 0\n1 2 3 0\n"


def test_markers_given_in_one_millisecond_or_before_the_last_are_in_order(tmp_path: Path) -> None:
    markers = Markers(tmp_path)
    for entry in range(50):
        markers.give(entry, 1)
    expected = [f"{entry:012d}.marker" for entry in range(50)]
    assert _names(tmp_path) == expected
    future = 4_000_000_000_000_000_000
    # The clock was wrong when the newest was taken, and is set right.
    Markers(tmp_path, newest_ms=future // 1_000_000).give(50, 1)
    assert _names(tmp_path) == [*expected, "000000000050.marker"]


def test_the_end_is_said_and_taken_back_in_place(tmp_path: Path) -> None:
    markers = Markers(tmp_path)
    markers.set_end(is_last=True)  # nothing was ever given
    markers.give(0, 1)
    markers.give(1, 2)
    before = _names(tmp_path)
    newest = tmp_path / "000000000001.marker"
    given = newest.stat().st_mtime_ns
    markers.set_end(is_last=True)
    assert newest.read_text() == "1 0 2 1\n1 1 2 1\n"
    markers.set_end(is_last=False)
    assert newest.read_text() == "1 0 2 0\n1 1 2 0\n"
    assert _names(tmp_path) == before
    assert newest.stat().st_mtime_ns == given


def test_what_was_read_is_removed_and_nothing_else(tmp_path: Path) -> None:
    markers = Markers(tmp_path)
    for entry in range(5):
        markers.give(entry, 1)
    markers.forget(2)
    assert _names(tmp_path) == ["000000000003.marker", "000000000004.marker"]
    assert Markers(tmp_path, committed=3).waiting == (4,)
    markers = Markers(tmp_path, committed=4)
    assert markers.last == 4
    assert _names(tmp_path) == []
    markers.set_end(is_last=True)  # it was read: all the same
    markers.give(5, 1)
    assert _names(tmp_path) == ["000000000005.marker"]


def test_markers_that_wait_get_new_times_in_order(tmp_path: Path) -> None:
    markers = Markers(tmp_path)
    for entry in range(5):
        markers.give(entry, 1)
    for place, name in enumerate(_names(tmp_path)):
        os.utime(tmp_path / name, (1_000 - place, 1_000 - place))  # restored, in some other order
    newest_ms = 4_000_000_000_000
    markers = Markers(tmp_path, committed=0, newest_ms=newest_ms)
    markers.put_in_order()
    markers.give(5, 1)
    assert _names(tmp_path) == [f"{entry:012d}.marker" for entry in range(1, 6)]
    oldest = (tmp_path / "000000000001.marker").stat().st_mtime_ns
    assert oldest > newest_ms * 1_000_000, "Spark takes what is newer than all that it has taken"


def test_a_marker_that_is_not_what_was_written_is_known(tmp_path: Path) -> None:
    markers = Markers(tmp_path)
    markers.give(0, 2)
    assert markers.is_intact(0)
    markers.set_end(is_last=True)
    assert markers.is_intact(0)
    marker = tmp_path / "000000000000.marker"
    for damage in ("", "0 0 2 0\n", "1 0 1 0\n", "\xff", "0 0 1 7\n"):
        marker.write_text(damage, "latin-1")
        assert not markers.is_intact(0)
    marker.unlink()
    assert not markers.is_intact(0)


def test_what_a_crash_left_is_swept(tmp_path: Path) -> None:
    (tmp_path / ".000000000000.turn.abc.tmp").write_text("0")
    assert Markers(tmp_path).last == -1
    assert _names(tmp_path) == []
