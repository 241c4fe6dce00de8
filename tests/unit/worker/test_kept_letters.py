"""`max_dead_letters`: the newest are kept, and what goes is counted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from narrows.cli.remarks import remarks
from narrows.demand import ALL
from narrows.files.ranges import FileRange
from narrows.planner.catalog import Catalog
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema
from narrows.sql.scope import Name
from narrows.state.folder import StateFolder
from narrows.worker.counts import ReadCounts
from narrows.worker.dead_letters import read_dead_letters
from narrows.worker.kept_letters import KeptLetters, letters_gone
from narrows.worker.read_spec import ReadSpec
from support.reading import read_ranges


class Source:
    """Files of bad lines, read one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.letters = StateFolder(folder / "state").dead_letters("s")

    def read(self, name: str, bad: int, most: int | None = 10) -> None:
        path = self._folder / name
        path.write_text("".join(f"{name} {number}\n" for number in range(bad)))
        options = {"path": str(self._folder)} | ({"max_dead_letters": most} if most else {})
        spec = ReadSpec(
            source="s",
            connector="file",
            format="json",
            projection=DecodeProjection(read_schema("a INT"), ALL),
            names=("a",),
            options=options,
            dead_letters=str(self.letters),
        )
        counts = ReadCounts()
        list(read_ranges(spec, [FileRange(str(path), 0, path.stat().st_size)], counts))
        assert counts.bad == bad

    @property
    def kept(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for letter in read_dead_letters(self.letters):
            name = Path(letter["file"]).name
            found[name] = found.get(name, 0) + 1
        return found


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(tmp_path)


def test_the_newest_are_kept(source: Source) -> None:
    for name in ("a", "b", "c"):
        source.read(name, bad=4)
    assert source.kept == {"b": 4, "c": 4}
    assert letters_gone(source.letters) == 4


def test_of_one_range_the_first(source: Source) -> None:
    source.read("a", bad=25)
    assert source.kept == {"a": 10}
    assert letters_gone(source.letters) == 15


def test_reading_again_counts_nothing_twice(source: Source) -> None:
    for _ in range(3):
        source.read("a", bad=25)
    assert source.kept == {"a": 10}
    assert letters_gone(source.letters) == 15


def test_a_limit_that_comes_later_holds_for_what_is_there(source: Source) -> None:
    for name in ("a", "b", "c"):
        source.read(name, bad=4, most=None)
    assert sum(source.kept.values()) == 12
    source.read("d", bad=1, most=5)
    assert source.kept == {"c": 4, "d": 1}
    assert letters_gone(source.letters) == 8


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"files": 1, "gone": 2}', None])
def test_an_index_that_is_damaged_is_made_anew(source: Source, damage: bytes | None) -> None:
    source.read("a", bad=6)
    index = source.letters / ".kept.json"
    if damage is None:
        index.unlink()
    else:
        index.write_bytes(damage)
    assert letters_gone(source.letters) == 0
    source.read("b", bad=6)
    assert source.kept == {"b": 6}
    assert letters_gone(source.letters) == 6


def test_the_folder_does_not_grow(source: Source) -> None:
    for number in range(100):
        source.read(f"f{number:03}", bad=1)
    assert source.kept == {f"f{number:03}": 1 for number in range(90, 100)}
    assert len(list(source.letters.iterdir())) == 12
    assert letters_gone(source.letters) == 90


def test_tasks_that_publish_at_the_same_time(tmp_path: Path) -> None:
    def publish(number: int) -> None:
        written = tmp_path / f".{number}"
        written.write_text('{"reason": "bad"}\n')
        KeptLetters(tmp_path, 10).publish(written, f"{number}.ndjson", letters=1, beyond=0)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(publish, range(50)))
    assert len(list(read_dead_letters(tmp_path))) == 10
    assert letters_gone(tmp_path) == 40


def test_what_is_said_of_it(source: Source, tmp_path: Path) -> None:
    source.read("a", bad=25)
    catalog = Catalog()
    catalog.execute(
        "CREATE STREAM s (a INT) WITH (connector = 'file', path = 'x', max_dead_letters = 10)"
    )
    state = StateFolder(tmp_path / "state")
    found = remarks(catalog.find_source(Name("s", None)), state, ReadCounts(payloads=30, bad=25))
    assert next(found).endswith("; the newest 10 are kept, 15 are gone")
