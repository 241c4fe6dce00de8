"""Which files a stream has taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from narrows.errors import Code, NarrowsError
from narrows.files.listing import FileEntry
from support.file_log import FileLog


def files(*numbers: int, size: int = 10) -> list[FileEntry]:
    return [FileEntry(f"/data/{number:04}", size, mtime_ms=number) for number in numbers]


def test_an_empty_log(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "not" / "yet")
    assert log.last() == -1
    assert log.entries(-1, -1) == []
    assert log.admit([]) == -1
    assert not (tmp_path / "not").exists()


def test_files_are_taken_once(tmp_path: Path) -> None:
    log = FileLog(tmp_path)
    assert log.admit(files(1, 2)) == 0
    assert log.admit(files(1, 2)) == 0
    assert log.admit(files(3, 2, 1, 4, 4)) == 1
    for reader in (log, FileLog(tmp_path)):
        assert reader.last() == 1
        assert reader.entries(-1, 1) == files(1, 2, 3, 4)
        assert reader.entries(0, 1) == files(3, 4)
        assert reader.entries(1, 1) == []


def test_limits(tmp_path: Path) -> None:
    log = FileLog(tmp_path)
    found = files(*range(10))
    assert log.admit(found, max_files=3) == 0
    assert log.admit(found, max_files=3, max_bytes=25) == 1
    assert log.admit(found, max_bytes=5) == 2  # one at least
    assert log.admit(found, max_bytes=20) == 3
    assert [len(log.entries(n - 1, n)) for n in range(4)] == [3, 2, 1, 2]
    assert log.admit(found) == 4
    assert log.entries(-1, 4) == found


def test_order_is_kept_even_if_a_later_file_would_fit(tmp_path: Path) -> None:
    log = FileLog(tmp_path)
    found = [*files(1, size=5), *files(2, size=50), *files(3, size=5)]
    log.admit(found, max_bytes=10)
    assert log.entries(-1, 0) == files(1, size=5)


def test_odd_names(tmp_path: Path) -> None:
    names = ['/a b/é漢\n\r\u2028"\\', "/" + os.fsdecode(b"\xff\xfe")]
    found = [FileEntry(name, 1, 2) for name in names]
    FileLog(tmp_path).admit(found)
    assert FileLog(tmp_path).entries(-1, 0) == found


def test_entries_are_merged(tmp_path: Path) -> None:
    log = FileLog(tmp_path, fanout=3)
    for number in range(31):
        assert log.admit(files(number, 1000 + number)) == number
        reopened = FileLog(tmp_path, fanout=3)
        for n in range(number + 1):
            assert reopened.entries(n - 1, n) == log.entries(n - 1, n) == files(n, 1000 + n)
    assert sorted(os.listdir(tmp_path)) == [
        "000000000000-000000000026.entries",
        "000000000027-000000000029.entries",
        "000000000030-000000000030.entries",
    ]


def test_merging_does_not_depend_on_how_it_was_merged_before(tmp_path: Path) -> None:
    for number in range(50):
        log = FileLog(tmp_path, fanout=2 + number % 5)
        log.admit(files(number))
    assert FileLog(tmp_path).entries(-1, 49) == files(*range(50))


def test_a_reader_follows_the_writer(tmp_path: Path) -> None:
    writer, reader = FileLog(tmp_path, fanout=4), FileLog(tmp_path)
    assert reader.last() == -1
    for number in range(70):
        writer.admit(files(number))
        assert reader.entries(number - 1, number) == files(number)
        assert reader.entries(number // 2 - 1, number // 2) == files(number // 2)


def test_reading_writes_nothing(tmp_path: Path) -> None:
    FileLog(tmp_path).admit(files(1))
    (tmp_path / ".x.0123.tmp").write_bytes(b"half")
    assert FileLog(tmp_path).entries(-1, 0) == files(1)
    assert len(os.listdir(tmp_path)) == 2
    FileLog(tmp_path).admit(files(2))
    assert sorted(os.listdir(tmp_path)) == [f"{n:012}-{n:012}.entries" for n in (0, 1)]


def test_a_second_writer_is_found_out(tmp_path: Path) -> None:
    one, other = FileLog(tmp_path), FileLog(tmp_path)
    assert one.last() == other.last() == -1
    one.admit(files(1))
    with pytest.raises(NarrowsError, match="somebody else writes") as caught:
        other.admit(files(1))
    assert caught.value.code is Code.STATE_IN_USE
    assert FileLog(tmp_path).entries(-1, 0) == files(1)


def test_after_a_full_disk_the_log_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = FileLog(tmp_path)
    log.admit(files(1))
    calls = 0

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls in (1, 3):  # the file's own, then that of its folder, after the rename
            raise OSError(28, "no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        for _ in range(2):
            with pytest.raises(OSError, match="no space"):
                log.admit(files(1, 2))
    assert log.last() == 1
    assert log.admit(files(1, 2, 3)) == 2
    assert FileLog(tmp_path).entries(-1, 2) == files(1, 2, 3)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-3],
        lambda data: b"",
        lambda data: data.replace(b"/data", b"/date"),
        lambda data: data + data[data.index(b"\n") + 1 :],
        lambda data: data[:20],
    ],
)
def test_damage_is_found(tmp_path: Path, damage: object) -> None:
    log = FileLog(tmp_path)
    log.admit(files(1))
    log.admit(files(2))
    path = tmp_path / "000000000001-000000000001.entries"
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(NarrowsError, match="log of what was taken is damaged") as caught:
        FileLog(tmp_path).entries(-1, 1)
    assert caught.value.code is Code.UNREADABLE_FILE


def test_a_missing_entry_is_found(tmp_path: Path) -> None:
    log = FileLog(tmp_path)
    for number in range(4):
        log.admit(files(number))
    (tmp_path / "000000000001-000000000001.entries").unlink()
    (tmp_path / "000000000002-000000000002.entries").unlink()
    with pytest.raises(NarrowsError, match="entries 1 to 2 are missing"):
        FileLog(tmp_path).last()


def test_a_log_that_is_behind_its_checkpoint_is_found(tmp_path: Path) -> None:
    log = FileLog(tmp_path)
    log.admit(files(1))
    with pytest.raises(NarrowsError, match="ends at entry 0, but the checkpoint has come to entry"):
        log.entries(-1, 3)


def test_one_entry_is_read_without_the_others(tmp_path: Path) -> None:
    log = FileLog(tmp_path, fanout=3)
    for number in range(7):
        log.admit(files(number))
    assert [FileLog(tmp_path).entry(number) for number in range(7)] == [files(n) for n in range(7)]
    with pytest.raises(NarrowsError, match="ends at entry 6, but the checkpoint has come to entry"):
        FileLog(tmp_path).entry(7)
