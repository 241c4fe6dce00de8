"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from narrows.files.atomic import is_temporary, sweep, write_atomically


def test_writes_and_replaces(tmp_path: Path) -> None:
    target = tmp_path / "a"
    write_atomically(target, b"one")
    write_atomically(target, b"two" * 1_000_000)
    assert target.read_bytes() == b"two" * 1_000_000
    assert os.listdir(tmp_path) == ["a"]


def test_a_full_disk_keeps_the_old_file_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a"
    write_atomically(target, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_data_is_synced_before_the_name_and_the_name_before_the_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("write", "fsync", "replace"):
        real = getattr(os, name)

        def noted(*args: object, name: str = name, real: object = real) -> object:
            calls.append(name)
            return real(*args)  # type: ignore[operator]

        monkeypatch.setattr(os, name, noted)
    write_atomically(tmp_path / "a", b"x")
    assert calls == ["write", "fsync", "replace", "fsync"]


def test_sweep_takes_only_temporary_files(tmp_path: Path) -> None:
    for name in (".a.0123.tmp", "a", ".hidden", "b.tmp"):
        (tmp_path / name).touch()
    assert is_temporary(".a.0123.tmp")
    sweep(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".hidden", "a", "b.tmp"]
