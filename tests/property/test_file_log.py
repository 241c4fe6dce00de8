"""The log of files taken survives a crash between any two system calls."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.connectors import entry_log
from narrows.connectors.entry_log import EntryLog
from narrows.errors import NarrowsError
from narrows.files.atomic import is_temporary
from narrows.files.listing import FileEntry
from support.file_log import FileLog


@pytest.fixture(autouse=True, scope="module")
def _no_waiting_for_the_disk() -> Iterator[None]:
    """What a crash leaves is played here, and the disk has no part in it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: None)
        yield


CALLS = ("open", "write", "fsync", "close", "replace", "unlink", "mkdir")


class Crash(BaseException):
    """Not an `Exception`: a dead process cleans nothing up."""


@contextmanager
def crash_at(step: int | None, torn: bool) -> Iterator[None]:
    """Ends the process, as it were, before the system call with this number.

    A write may get half of its bytes out before that.
    """
    count = 0
    dead = False
    real = {name: getattr(os, name) for name in CALLS}

    def wrapped(name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal count, dead
            if dead:
                # `finally` blocks of the dead: nothing happens but that descriptors are closed.
                return real[name](*args, **options) if name == "close" else None
            if count == step:
                dead = True
                if torn and name == "write":
                    real[name](args[0], bytes(args[1])[: len(args[1]) // 2])
                raise Crash
            count += 1
            return real[name](*args, **options)

        return call

    for name in CALLS:
        setattr(os, name, wrapped(name))
    try:
        yield
    finally:
        for name, function in real.items():
            setattr(os, name, function)


def entry(number: int) -> FileEntry:
    return FileEntry(f"/data/{number:03}", size=number % 5, mtime_ms=number)


def read(folder: Path) -> list[list[FileEntry]]:
    log = FileLog(folder, fanout=3)
    return [log.entries(number - 1, number) for number in range(log.last() + 1)]


def test_every_step(tmp_path: Path) -> None:
    """An entry that also merges, and sweeps what the last crash left, cut off at every call."""
    step = 0
    crashed = True
    while crashed:
        for torn in (False, True):
            folder = tmp_path / f"{step}-{torn}"
            log = FileLog(folder, fanout=3)
            for number in range(8):
                log.admit([entry(number)])
            (folder / ".old.tmp").touch()
            before = [[entry(number)] for number in range(8)]
            try:
                with crash_at(step, torn):
                    FileLog(folder, fanout=3).admit([entry(7), entry(8)])
                crashed = False
            except Crash:
                pass
            after = [*before, [entry(8)]]
            assert read(folder) in (before, after) if crashed else read(folder) == after
            FileLog(folder, fanout=3).admit([entry(8), entry(9)])
            assert [file for files in read(folder) for file in files] == list(map(entry, range(10)))
            names = sorted(os.listdir(folder))
            assert not any(is_temporary(name) for name in names)
            covered = [range(int(name[:12]), int(name[13:25]) + 1) for name in names]
            assert [n for numbers in covered for n in numbers] == list(range(len(read(folder))))
        step += 1
    assert step > 20  # there was something to cut off


actions = st.tuples(
    st.lists(st.integers(0, 40), max_size=12),
    st.one_of(st.none(), st.integers(1, 4)),
    st.one_of(st.none(), st.integers(0, 10)),
    st.one_of(st.none(), st.integers(0, 25)),
    st.booleans(),
)


def chosen(
    candidates: Sequence[FileEntry], seen: set[str], max_files: int | None, max_bytes: int | None
) -> list[FileEntry]:
    fresh = [f for n, f in enumerate(candidates) if f.path not in seen and f not in candidates[:n]]
    fitting = [
        n
        for n in range(1, len(fresh) + 1)
        if n == 1
        or (
            (max_files is None or n <= max_files)
            and (max_bytes is None or sum(f.size for f in fresh[:n]) <= max_bytes)
        )
    ]
    return fresh[: max(fitting, default=0)]


@settings(max_examples=150)
@given(st.lists(actions, min_size=1, max_size=25))
def test_entries_never_change_and_no_file_comes_twice(script: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, "log")
        log = FileLog(folder, fanout=3)
        model: list[list[FileEntry]] = []
        for numbers, max_files, max_bytes, crash, torn in script:
            candidates = [entry(number) for number in numbers]
            seen = {file.path for files in model for file in files}
            taken = chosen(candidates, seen, max_files, max_bytes)
            following = [*model, taken] if taken else model
            try:
                with crash_at(crash, torn):
                    assert log.admit(candidates, max_files, max_bytes) == len(following) - 1
                model = following
            except Crash:
                found = read(folder)
                assert found in (model, following)
                model = found
                log = FileLog(folder, fanout=3)
            assert log.last() == len(model) - 1
            assert read(folder) == model


# --- folding --------------------------------------------------------------------------------------


def _folded(entries: Iterable[Any]) -> Any:
    """The connector's part: what was taken is a sum."""
    return sum(entries)


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=12),
    st.integers(0, 40),
    st.booleans(),
)
def test_what_was_taken_is_the_same_however_often_it_is_folded(
    steps: Sequence[int], step: int, torn: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(entry_log, "_KEPT", 2)
        patched.setattr(entry_log, "_WORTH_FOLDING", 4)
        log, count = EntryLog(folder, fanout=3), 0
        for appended in steps:
            for _ in range(appended):
                log.append(count)
                count += 1
            try:
                with crash_at(step, torn):
                    log.fold(count - 1, _folded)
            except Crash:
                log = EntryLog(folder, fanout=3)
            assert log.last() == count - 1
            assert sum(log.entries()) == sum(range(count)), "what was taken"
            for after in range(max(0, count - 3), count):
                left = list(EntryLog(folder, fanout=3).numbered(after))
                assert left == [(number, number) for number in range(after + 1, count)]
        log.append(count)
        log.fold(count, _folded)
        assert len(os.listdir(folder)) <= 12, "what is folded is not kept"


def test_what_is_folded_is_not_to_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_log, "_KEPT", 1)
    monkeypatch.setattr(entry_log, "_WORTH_FOLDING", 3)
    log = EntryLog(tmp_path, fanout=3)
    for number in range(8):
        log.append(number)
    log.fold(7, lambda entries: None)
    assert log.entry(0) == 0, "its connector cannot fold"
    log.fold(7, _folded)
    assert list(log.numbered()) == [(6, 21), (7, 7)]
    with pytest.raises(NarrowsError, match="entry 3 was published, and is not kept"):
        log.entry(3)
