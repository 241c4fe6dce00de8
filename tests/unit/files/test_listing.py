"""Which files a source has."""

from __future__ import annotations

import errno
import logging
import os
import socket
from pathlib import Path

import pytest

from narrows.errors import Code, NarrowsError
from narrows.files.listing import FileEntry, Skipped, list_files


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


@pytest.mark.parametrize("pattern", ["", "*", "**", "**/*"])
def test_what_is_no_file_is_skipped(tmp_path: Path, pattern: str) -> None:
    put(tmp_path / "a.json")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "good").symlink_to("a.json")
    (tmp_path / "_hidden").symlink_to("_hidden")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket"))  # absolute, it may be too long a name
        skipped: Skipped = {}
        found = list_files(os.path.join(tmp_path, pattern), skipped=skipped)
    assert sorted(names(found, tmp_path)) == ["a.json", "good"]
    assert {os.path.basename(path): why for path, why in skipped.items()} == {
        "pipe": "it is not a regular file",
        "socket": "it is not a regular file",
        "loop": "Too many levels of symbolic links",
        "broken": "it is a link to nothing",
    }


def test_links_to_folders_around_them_do_not_lead_in_circles(tmp_path: Path) -> None:
    put(tmp_path / "a.json")
    put(tmp_path / "one" / "b.json")
    put(tmp_path / "two" / "c.json")
    (tmp_path / "self").symlink_to(".")
    (tmp_path / "one" / "other").symlink_to("../two")
    (tmp_path / "two" / "other").symlink_to("../one")
    skipped: Skipped = {}
    for pattern in ("**", "**/*.json"):
        found = list_files(str(tmp_path / pattern), skipped=skipped)
        assert sorted(names(found, tmp_path)) == [
            *("a.json", "one/b.json", "one/other/c.json", "two/c.json", "two/other/b.json")
        ]
    assert {os.path.relpath(path, tmp_path) for path in skipped} == {
        *("self", "one/other/other", "two/other/other")
    }
    assert names(list_files(str(tmp_path)), tmp_path) == ["a.json"]


def refuse(monkeypatch: pytest.MonkeyPatch, function: str, refused: str, number: int) -> None:
    """Root may look at everything, so a refusal has to be played."""
    real = getattr(os, function)

    def refusing(path: str, **options: object) -> object:
        if path == refused:
            raise OSError(number, os.strerror(number), path)
        return real(path, **options)

    monkeypatch.setattr(f"narrows.files.listing.os.{function}", refusing)


@pytest.mark.parametrize("function", ["stat", "scandir"])
def test_what_is_closed_to_us_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    put(tmp_path / "a.json")
    put(tmp_path / "closed" / "b.json")
    closed = tmp_path / "closed" / ("b.json" if function == "stat" else "")
    refuse(monkeypatch, function, str(closed), errno.EACCES)
    skipped: Skipped = {}
    assert names(list_files(str(tmp_path / "**"), skipped=skipped), tmp_path) == ["a.json"]
    assert skipped == {str(closed): "Permission denied"}


def test_a_place_that_is_closed_itself_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, "scandir", str(tmp_path), errno.EACCES)
    with pytest.raises(NarrowsError, match="Permission denied"):
        list_files(str(tmp_path), missing_ok=True)


@pytest.mark.parametrize("function", ["stat", "scandir"])
def test_a_bad_moment_is_no_reason_to_skip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    put(tmp_path / "x" / "b.json")
    refuse(monkeypatch, function, str(tmp_path / "x"), errno.EIO)
    with pytest.raises(NarrowsError, match="Input/output error"):
        list_files(str(tmp_path / "**"))


def test_names_that_are_not_utf8(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    odd = os.fsencode(tmp_path) + b"/\xff"
    os.symlink(odd, odd)
    put(Path(os.fsdecode(odd + b".json")))
    for pattern in ("", "*", "**"):
        (found,) = list_files(os.path.join(tmp_path, pattern))
        assert os.fsencode(found.path) == odd + b".json"
    assert all(r"`" + str(tmp_path) + r"/\xff`" in text for text in caplog.messages)


def test_what_is_skipped_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in "pqrst":
        os.mkfifo(tmp_path / name)
        list_files(str(tmp_path))
        list_files(str(tmp_path))
    assert len(caplog.records) == 5
    assert {(r.name, r.levelno) for r in caplog.records} == {("narrows.files", logging.WARNING)}
    assert caplog.messages[0] == (
        f"skipped 1 of what is at `{tmp_path}`: `{tmp_path}/p` (it is not a regular file)"
    )
    assert caplog.messages[4].startswith(f"skipped 5 of what is at `{tmp_path}`")
    assert caplog.messages[4].endswith("2 more")


def test_that_nothing_is_there_yet_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for where in ("in", "in", "in/*.json", "in/*.json"):
        list_files(where, missing_ok=True)
    assert caplog.messages == [
        f"there is no file or folder `in` yet (looked for {tmp_path}/in)",
        f"no file matches `in/*.json` yet (looked for {tmp_path}/in/*.json)",
    ]
    put(tmp_path / "in" / "a.json")
    list_files("in", missing_ok=True)
    assert len(caplog.messages) == 2
