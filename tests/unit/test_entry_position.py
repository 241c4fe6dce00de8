"""The position of a pipeline survives whatever cuts a write short."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrows.errors import Code, NarrowsError
from narrows.state.entry_position import EntryPosition, first_entry, set_first_entry


def test_it_moves_and_is_found_again(tmp_path: Path) -> None:
    position = EntryPosition(tmp_path / "log")
    assert position.read() is None
    position.begin(-1)
    for number in range(5):
        assert position.read() == number - 1
        position.move(number)
    position.sync()
    position.close()
    assert EntryPosition(tmp_path / "log").read() == 4
    position.end()
    assert position.read() is None
    assert first_entry(tmp_path / "log") == 0
    set_first_entry(tmp_path / "log", 5)
    assert first_entry(tmp_path / "log") == 5


def test_whatever_of_a_write_is_on_the_disk_it_is_the_last_or_the_one_before(
    tmp_path: Path,
) -> None:
    position, path = EntryPosition(tmp_path), tmp_path / "position"
    position.begin(41)
    before = path.read_bytes()
    position.move(42)
    after = path.read_bytes()
    position.close()
    for cut in range(len(before) + 1):
        path.write_bytes(after[:cut] + before[cut:])
        assert EntryPosition(tmp_path).read() in (41, 42)


def test_damage_is_said(tmp_path: Path) -> None:
    EntryPosition(tmp_path).begin(7)
    (tmp_path / "position").write_bytes(b"7")
    with pytest.raises(NarrowsError, match=r"position of a pipeline .* is damaged") as raised:
        EntryPosition(tmp_path).read()
    assert raised.value.problems[0].code is Code.UNREADABLE_FILE
