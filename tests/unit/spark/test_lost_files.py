"""Files that are gone, shorter or not ours to read when their turn comes: one dead letter each."""

from __future__ import annotations

import builtins
import errno
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from narrows.connectors.base import LostRangeError
from narrows.demand import ALL
from narrows.errors import Code, NarrowsError
from narrows.files.faults import LostFileError, damaged_or_unreadable, shown, unreadable
from narrows.files.listing import FileEntry, list_files
from narrows.files.ranges import FileRange, split
from narrows.formats.kernel import NATIVE, PORTABLE, is_native_usable, load_native
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema
from narrows.worker.count_files import total_counts
from narrows.worker.counts import ReadCounts
from narrows.worker.dead_letters import BadPayloadError, key_name, read_dead_letters
from narrows.worker.read_spec import ReadSpec
from support.file_log import FileLog
from support.kernels import needs_native, use_kernel
from support.reading import read_ranges

SCHEMA = read_schema("a BIGINT, s STRING")
KERNELS = [PORTABLE, pytest.param(NATIVE, marks=needs_native)]
KINDS = ["json", "csv", "json.gz", "parquet"]


def spec_for(kind: str, folder: Path, on_error: str = "dead_letter", **options: str) -> ReadSpec:
    more: dict[str, Any] = {"header": True} if kind == "csv" else {}
    return ReadSpec(
        *("s", "file", kind.removesuffix(".gz"), DecodeProjection(SCHEMA, ALL), ("a", "s")),
        options={**more, **options},
        on_error=on_error,
        dead_letters=str(folder / "dead"),
        statistics=str(folder / "counts"),
    )


def write(path: Path, kind: str, rows: int) -> None:
    numbers = range(rows)
    if kind == "parquet":
        pq.write_table(pa.table({"a": numbers, "s": [str(n) for n in numbers]}), str(path))
        return
    if kind == "csv":
        text = "a,s\n" + "".join(f"{n},{n}\n" for n in numbers)
    else:
        text = "".join(json.dumps({"a": n, "s": str(n)}) + "\n" for n in numbers)
    path.write_bytes(gzip.compress(text.encode()) if kind.endswith(".gz") else text.encode())


def read(
    spec: ReadSpec, ranges: list[FileRange], total: ReadCounts | None = None
) -> list[dict[str, object]]:
    batches = list(read_ranges(spec, ranges, total=total))
    return pa.Table.from_batches(batches).to_pylist() if batches else []


def numbers(rows: list[dict[str, object]]) -> list[object]:
    return [row["a"] for row in rows]


def letters(folder: Path) -> list[dict[str, Any]]:
    return list(read_dead_letters(folder / "dead"))


def removed(path: Path) -> None:
    path.unlink()


def broken_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def parent_removed(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()


def parent_is_a_file(path: Path) -> None:
    parent_removed(path)
    path.parent.write_text("")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("lose", "reason"),
    [
        (removed, "No such file or directory"),
        (broken_link, "No such file or directory"),
        (parent_removed, "No such file or directory"),
        (parent_is_a_file, "Not a directory"),
        (loop, "Too many levels of symbolic links"),
        (folder, "it is not a regular file"),
        (pipe, "it is not a regular file"),
    ],
)
def test_a_file_that_cannot_be_had_is_one_dead_letter(
    lose: Callable[[Path], None],
    reason: str,
    kind: str,
    kernel: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_kernel(monkeypatch, kernel)
    lost, other = tmp_path / "x" / f"lost.{kind}", tmp_path / f"other.{kind}"
    lost.parent.mkdir()
    for path in (lost, other):
        write(path, kind, 3)
    ranges = [one for path in (lost, other) for one in split(list_files(str(path)))]
    lose(lost)
    spec = spec_for(kind, tmp_path)
    for _ in range(2):  # a replayed batch writes the same once more
        assert numbers(read(spec, ranges)) == [0, 1, 2]
        (letter,) = letters(tmp_path)
        assert letter == {
            "source": "s",
            "reason": f"cannot read file `{lost}`: {reason}",
            "file": str(lost),
            "offset": 0,
        }
        counts = total_counts(tmp_path / "counts")
        assert (counts.payloads, counts.bad, counts.rows_decoded) == (4, 1, 3)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_must_not_be_read_is_one_dead_letter(
    kind: str, kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read everything, so that the system refuses is played: for all who open files."""
    use_kernel(monkeypatch, kernel)
    path = tmp_path / f"lost.{kind}"
    write(path, kind, 3)
    refuse_to_open(monkeypatch, errno.EACCES)
    assert read(spec_for(kind, tmp_path), split(list_files(str(path)))) == []
    (letter,) = letters(tmp_path)
    assert letter["reason"] == f"cannot read file `{path}`: Permission denied"


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE, errno.ESTALE, errno.ENOMEM])
def test_what_may_be_better_tomorrow_fails_the_batch(
    number: int, kind: str, kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_kernel(monkeypatch, kernel)
    path = tmp_path / f"f.{kind}"
    write(path, kind, 3)
    ranges = split(list_files(str(path)))
    refuse_to_open(monkeypatch, number)
    with pytest.raises(NarrowsError, match="cannot read file") as caught:
        read(spec_for(kind, tmp_path), ranges)
    assert caught.value.code is Code.UNREADABLE_FILE
    assert not isinstance(caught.value, LostFileError)
    assert letters(tmp_path) == []


def refuse_to_open(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    reason = os.strerror(number)
    opened = builtins.open

    def portable(path: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
        if mode == "rb":
            raise OSError(number, reason)
        return opened(path, mode, *args, **more)

    def arrow(path: bytes, *args: Any) -> Any:
        raise OSError(number, f"Failed to open local file '{path!r}'. Detail: {reason}")

    def native(*args: object) -> Any:
        # As Rust says it: without a number, and with a type for common ones only.
        kind = PermissionError if number == errno.EACCES else OSError
        raise kind(f"{reason} (os error {number})")

    monkeypatch.setattr(builtins, "open", portable)
    monkeypatch.setattr(pa, "OSFile", arrow)
    if is_native_usable():
        monkeypatch.setattr(load_native(), "LineReader", native)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_of_a_shorter_file_whole_lines_are_read(
    parts: int, kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_kernel(monkeypatch, kernel)
    path = tmp_path / "f.json"
    write(path, "json", 40)
    whole = path.read_bytes()
    ranges = split(list_files(str(path)), target=-(-len(whole) // parts))
    assert len(ranges) == parts
    for size in range(0, len(whole), 13):
        path.write_bytes(whole[:size])
        for old in (tmp_path / "dead", tmp_path / "counts"):
            for file in old.glob("*"):
                file.unlink()
        lines, total = whole[:size].count(b"\n"), ReadCounts()
        assert numbers(read(spec_for("json", tmp_path), ranges, total)) == list(range(lines))
        (letter,) = letters(tmp_path)
        assert letter["offset"] == size
        assert f"{size} bytes are left of {len(whole)}" in letter["reason"]
        for counts in (total, total_counts(tmp_path / "counts")):
            assert (counts.payloads, counts.bad) == (lines + 1, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_was_replaced_by_a_shorter_one_is_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"f.{kind}"
    write(path, kind, 2_000)
    was = path.stat().st_size
    ranges = split(list_files(str(path)))
    write(path, kind, 10)
    assert numbers(read(spec_for(kind, tmp_path), ranges)) == list(range(10))
    (letter,) = letters(tmp_path)
    assert f"{path.stat().st_size} bytes are left of {was}" in letter["reason"]


@pytest.mark.parametrize("kind", ["json.gz", "parquet"])
def test_a_file_that_was_cut_off_since_is_shorter_rather_than_damaged(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / f"f.{kind}"
    write(path, kind, 2_000)
    ranges = split(list_files(str(path)))
    path.write_bytes(path.read_bytes()[:-100])
    read(spec_for(kind, tmp_path), ranges)
    (letter,) = letters(tmp_path)
    assert "is shorter than it was when it was listed" in letter["reason"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gone", [True, False])
def test_what_options_say(gone: bool, kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"f.{kind}"
    write(path, kind, 20)
    ranges = split(list_files(str(path)))
    if gone:
        path.unlink()
    else:
        write(path, kind, 2)
    with pytest.raises(LostRangeError, match="No such file" if gone else "is shorter"):
        read(spec_for(kind, tmp_path, on_missing="fail"), ranges)
    with pytest.raises(BadPayloadError, match="No such file" if gone else "is shorter"):
        read(spec_for(kind, tmp_path, on_error="fail"), ranges)
    assert letters(tmp_path) == []
    read(spec_for(kind, tmp_path, on_error="drop"), ranges)
    assert letters(tmp_path) == []
    assert total_counts(tmp_path / "counts").bad == 1


def test_ranges_that_were_read_before_the_file_went_do_not_hide_the_loss(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    write(path, "json", 40)
    ranges = split(list_files(str(path)), target=200)
    spec = spec_for("json", tmp_path)
    read(spec, ranges[:1])
    path.unlink()
    read(spec, ranges[1:])
    assert len(letters(tmp_path)) == 1
    assert total_counts(tmp_path / "counts").bad == 1


# --- names that are not UTF-8 ---------------------------------------------------------------------

ODD = b"a\xff\xfe\xed\xa0\x80\xc3\xa9"


def odd_path(folder: Path, kind: str) -> str:
    return os.fsdecode(os.fsencode(folder) + b"/" + ODD + b"." + kind.encode())


@pytest.fixture
def odd_names(tmp_path: Path) -> None:
    try:
        os.mkdir(os.fsencode(tmp_path) + b"/" + ODD)
    except OSError:  # pragma: no cover
        pytest.skip("this file system takes UTF-8 names only")


@pytest.mark.usefixtures("odd_names")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_name_need_not_be_utf8(
    kind: str, kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_kernel(monkeypatch, kernel)
    (tmp_path / "in").mkdir()
    plain, path = tmp_path / f"plain.{kind}", odd_path(tmp_path / "in", kind)
    write(plain, kind, 3)
    plain.rename(path)
    log = FileLog(tmp_path / "log")
    log.admit(list_files(str(tmp_path / "in")))
    (entry,) = FileLog(tmp_path / "log").entry(0)
    assert entry.path == path
    spec = spec_for(kind, tmp_path)
    assert numbers(read(spec, split([entry]))) == [0, 1, 2]
    os.unlink(path)
    assert read(spec, split([entry])) == []
    (letter,) = letters(tmp_path)
    assert letter["file"].encode("utf-8").decode("utf-8").endswith(rf"\xff\xfe\xed\xa0\x80é.{kind}")
    for strict in (spec_for(kind, tmp_path, "fail"), spec_for(kind, tmp_path, on_missing="fail")):
        with pytest.raises((BadPayloadError, NarrowsError)) as caught:
            read(strict, split([entry]))
        assert str(caught.value).encode("utf-8")  # a worker must be able to say it


@pytest.mark.usefixtures("odd_names")
def test_bad_payloads_of_such_a_file_are_dead_letters(tmp_path: Path) -> None:
    path = odd_path(tmp_path, "json")
    with open(path, "wb") as file:
        file.write(b"bad\n")
    read(spec_for("json", tmp_path), [FileRange(path, 0, 4)])
    (letter,) = letters(tmp_path)
    assert (letter["payload"], letter["offset"]) == ("bad", 0)


def test_names_of_ranges_are_as_they_were() -> None:
    """Dead letters and counts of old are found again under the same names."""
    assert key_name(FileRange("/data/é.json", 0, 10).key) == "4659187d48452aea0afbd6d6"
    assert split([FileEntry("f", 10, 0)]) == [FileRange("f", 0, 10)]


# --- what is lost, and what is not ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "is_lost"),
    [
        (FileNotFoundError("in words only"), True),
        (OSError(errno.EPERM, ""), True),
        (OSError(errno.ENAMETOOLONG, ""), True),
        (OSError("File name too long (os error 36)"), True),
        (OSError(errno.EIO, ""), False),
        (OSError(errno.ENFILE, ""), False),
        (OSError(errno.ETIMEDOUT, ""), False),
        (OSError("Input/output error (os error 5)"), False),
        (OSError("of some other kind"), False),
    ],
)
def test_faults(error: OSError, is_lost: bool) -> None:
    assert isinstance(unreadable("f", error), LostFileError) is is_lost
    assert isinstance(damaged_or_unreadable("f", error), LostFileError) is is_lost


def test_paths_are_shown_as_text() -> None:
    assert shown("/a/é") == "/a/é"
    assert shown(os.fsdecode(b"/a/\xff")) == r"/a/\xff"
