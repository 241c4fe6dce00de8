"""Which files a source has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from narrows.errors import Code, NarrowsError
from narrows.files.listing import FileEntry, list_files


def put(path: Path, seconds: int = 1_000, content: bytes = b"x\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (seconds, seconds))
    return str(path)


def names(found: list[FileEntry], folder: Path) -> list[str]:
    return [os.path.relpath(entry.path, folder) for entry in found]


def test_a_folder_is_its_files_oldest_first(tmp_path: Path) -> None:
    put(tmp_path / "b", 20)
    put(tmp_path / "c", 10, b"four")
    put(tmp_path / "a", 20)
    found = list_files(str(tmp_path))
    assert names(found, tmp_path) == ["c", "a", "b"]
    assert found[0] == FileEntry(str(tmp_path / "c"), size=4, mtime_ms=10_000)


def test_hidden_names_and_folders_below_are_left_out(tmp_path: Path) -> None:
    for name in ("_SUCCESS", ".part.crc", "below/deep.json", "_temporary/x.json", "a.json"):
        put(tmp_path / name)
    assert names(list_files(str(tmp_path)), tmp_path) == ["a.json"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.json", ["a.json"]),
        ("**", ["a.json", "b.csv", "below/c.json", "below/deep/d.json"]),
        ("**/*.json", ["a.json", "below/c.json", "below/deep/d.json"]),
        ("bel*", ["below/c.json"]),  # a folder that matches is the files in it
        ("below/[cd].json", ["below/c.json"]),
        ("_temporary/*.json", ["_temporary/e.json"]),  # asked for by name
        ("?.csv", ["b.csv"]),
    ],
)
def test_globs(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    for name in ("a.json", "b.csv", "below/c.json", "below/deep/d.json", "_temporary/e.json"):
        put(tmp_path / name)
    put(tmp_path / ".hidden" / "f.json")
    assert names(list_files(str(tmp_path / pattern)), tmp_path) == expected


def test_a_file_is_itself_even_if_hidden(tmp_path: Path) -> None:
    path = put(tmp_path / "_one.json")
    assert [entry.path for entry in list_files(path)] == [path]


def test_a_name_that_only_looks_like_a_glob(tmp_path: Path) -> None:
    path = put(tmp_path / "day[1]" / "a.json")
    assert [entry.path for entry in list_files(str(tmp_path / "day[1]"))] == [path]


def test_paths_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "data" / "a.json")
    monkeypatch.chdir(tmp_path)
    for where in ("data", "data/*", "./data/../data/a.json", f"file://{tmp_path}/data"):
        assert [entry.path for entry in list_files(where)] == [path], where


def test_nothing_there_is_an_error_for_tables_only(tmp_path: Path) -> None:
    for where, message in (("missing", "there is no file or folder"), ("*.x", "no file matches")):
        path = str(tmp_path / where)
        assert list_files(path, missing_ok=True) == []
        with pytest.raises(NarrowsError, match=message) as caught:
            list_files(path)
        assert caught.value.code is Code.UNREADABLE_FILE
    assert list_files(str(tmp_path)) == []  # an empty folder is a table without rows


def test_other_file_systems_are_refused() -> None:
    with pytest.raises(NarrowsError, match="files at `s3a://` are not supported") as caught:
        list_files("s3a://bucket/data")
    assert caught.value.code is Code.NOT_SUPPORTED


def test_a_file_that_goes_away_meanwhile_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "a")
    gone = put(tmp_path / "b")
    stat = os.stat

    def vanishing(path: str, **options: object) -> os.stat_result:
        if path == gone:
            raise FileNotFoundError(path)
        return stat(path)

    monkeypatch.setattr("narrows.files.listing.os.stat", vanishing)
    assert names(list_files(str(tmp_path)), tmp_path) == ["a"]
