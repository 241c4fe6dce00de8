"""Dead letters are read when somebody wants to see them, and found wherever they stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from narrows.service import letters as module
from narrows.service.letters import Letters
from narrows.state.folder import StateFolder
from narrows.worker import dead_letters


def _write(folder: Path, name: str, *letters: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"source": "s", "reason": "bad", **letter}) + "\n" for letter in letters]
    (folder / f"{name}.ndjson").write_text("".join(lines), "utf-8")


def test_pages_are_in_the_order_of_places_and_name_each_place_once(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    folder, letters = state.dead_letters("s"), Letters(state)
    assert (letters.count("s"), letters.page("s", 0, 10)) == (0, [])
    _write(folder, "b", *({"payload": f"é{n}", "offset": n} for n in range(5, 15)))
    _write(folder, "a", *({"payload": f"é{n}", "offset": n} for n in range(10)))
    assert letters.count("s") == 15
    found = [letter for start in range(0, 20, 4) for letter in letters.page("s", start, 4)]
    assert [letter.found["payload"] for letter in found] == [f"é{n}" for n in range(15)]
    third = found[3]
    assert letters.find("s", {third.id, "nobody"}) == [third]
    assert letters.every("s") == found


def test_rows_of_sinks_have_no_place_and_are_all_there(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    _write(state.dead_letters("k"), "p-1", {"payload": "x"}, {"payload": "x"})
    assert len(Letters(state).page("k", 0, 10)) == 2


def test_a_file_is_read_again_only_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, read = StateFolder(tmp_path), list[str]()
    lines = dead_letters.letter_lines

    def counted(path: Path) -> list[bytes]:
        read.append(path.name)
        return lines(path)

    monkeypatch.setattr(module, "letter_lines", counted)
    folder, letters = state.dead_letters("s"), Letters(state)
    _write(folder, "a", {"payload": "x", "offset": 1})
    _write(folder, "b", {"payload": "y", "offset": 2})
    for _ in range(3):
        assert letters.count("s") == len(letters.page("s", 0, 10)) == 2
    assert sorted(read) == ["a.ndjson", "b.ndjson"]
    _write(folder, "a", {"payload": "longer", "offset": 1})
    assert [letter.found["payload"] for letter in letters.page("s", 0, 10)] == ["longer", "y"]
    (folder / "b.ndjson").unlink()
    assert letters.count("s") == 1
    assert len(read) == 3
