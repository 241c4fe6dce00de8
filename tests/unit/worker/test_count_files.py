"""Counts: everything once, whatever crashes, in a folder that does not grow."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from narrows.worker import count_files
from narrows.worker.count_files import (
    CountsPart,
    fold_counts,
    forget_entry,
    forget_parts,
    total_counts,
)
from narrows.worker.counts import ReadCounts


def _count(folder: Path, entry: int, task: int, payloads: int = 1) -> None:
    part = CountsPart(str(folder), entry, str(task))
    part.add(ReadCounts(payloads=payloads))
    part.save()


def _payloads(folder: Path) -> int:
    return total_counts(folder).payloads


def test_many_entries_are_few_files(tmp_path: Path) -> None:
    for entry in range(1_000):
        for task in range(2):
            _count(tmp_path, entry, task)
        fold_counts(tmp_path)
        assert len(list(tmp_path.iterdir())) <= count_files._MANY + 1
    assert _payloads(tmp_path) == 2_000


def test_a_task_that_reads_many_ranges_has_one_file(tmp_path: Path) -> None:
    part = CountsPart(str(tmp_path), 0, "0")
    for _ in range(1_000):
        part.add(ReadCounts(payloads=1))
    part.save()
    assert len(list(tmp_path.iterdir())) == 1
    assert _payloads(tmp_path) == 1_000


def test_an_entry_that_is_read_again_counts_once(tmp_path: Path) -> None:
    for _ in range(3):
        _count(tmp_path, 0, 0, payloads=5)
    assert _payloads(tmp_path) == 5
    forget_entry(str(tmp_path), 0)
    _count(tmp_path, 0, 1, payloads=5)
    assert _payloads(tmp_path) == 5, "other tasks than before have read it"


def test_the_newest_entry_is_not_final(tmp_path: Path) -> None:
    for task in range(2 * count_files._MANY):
        _count(tmp_path, 7, task)
    fold_counts(tmp_path)
    _count(tmp_path, 7, 0, payloads=3)  # run again
    assert _payloads(tmp_path) == 2 * count_files._MANY + 2


def test_a_crash_between_the_total_and_its_parts_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for entry in range(100):
        _count(tmp_path, entry, 0)
    with monkeypatch.context() as patched:
        patched.setattr(count_files, "_remove", lambda folder, names: None)
        fold_counts(tmp_path)
    assert len(list(tmp_path.iterdir())) == 101
    assert _payloads(tmp_path) == 100
    fold_counts(tmp_path)
    assert _payloads(tmp_path) == 100
    assert len(list(tmp_path.iterdir())) == 2


def test_a_task_that_nobody_waits_for_does_not_count_again(tmp_path: Path) -> None:
    for entry in range(100):
        _count(tmp_path, entry, 0)
    fold_counts(tmp_path)
    _count(tmp_path, 3, 0)
    assert _payloads(tmp_path) == 100


@pytest.mark.parametrize("damage", [b"", b"narrows", b"\xff\0\xfe", b'narrows-counts-1 0\n{"up'])
@pytest.mark.parametrize("name", ["total.json", f"{99:020d}-0.json"])
def test_what_is_damaged_is_passed_over(
    name: str, damage: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for entry in range(100):
        _count(tmp_path, entry, 0)
    fold_counts(tmp_path)
    (tmp_path / name).write_bytes(damage)
    with caplog.at_level(logging.WARNING, "narrows.state"):
        found = [_payloads(tmp_path) for _ in range(3)]
    assert found == [1 if name == "total.json" else 99] * 3
    assert [name in record.getMessage() for record in caplog.records] == [True], "and said once"
    for entry in range(100, 200):
        _count(tmp_path, entry, 0)
    fold_counts(tmp_path)
    assert _payloads(tmp_path) == found[0] + 100


def test_what_is_left_of_tasks_is_removed(tmp_path: Path) -> None:
    _count(tmp_path, 0, 0)
    (tmp_path / ".x.json.abc.tmp").write_text("killed")
    forget_parts(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
