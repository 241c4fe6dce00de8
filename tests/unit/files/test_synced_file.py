"""Files that are on the disk when they are closed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from narrows.files import synced_file
from narrows.files.synced_file import SyncedFile


def test_what_is_written_is_there_however_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synced_file, "_STEP", 10_000)
    file = SyncedFile(tmp_path / "file")
    pieces = [os.urandom(size) for size in (1, 9_999, 100_000, 3, 20_000)]
    for piece in pieces:
        assert file.write(piece) == len(piece)
    assert file.tell() == sum(map(len, pieces))
    file.close_synced()
    assert file.closed
    assert (tmp_path / "file").read_bytes() == b"".join(pieces)


def test_a_system_that_takes_no_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synced_file, "_STEP", 1)
    monkeypatch.delattr(os, "posix_fadvise", raising=False)
    file = SyncedFile(tmp_path / "file")
    file.write(memoryview(b"abc"))
    file.close_synced()
    assert (tmp_path / "file").read_bytes() == b"abc"
