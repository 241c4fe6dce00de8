from __future__ import annotations

import os
from pathlib import Path

import pytest

from narrows.files.early_sync import EarlySync


def test_all_bytes_are_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    file = path.open("wb")
    sync = EarlySync(file, step=10)
    for number in range(1000):
        file.write(b"%04d" % number)
        sync.look()
    sync.close()
    assert path.read_bytes() == b"".join(b"%04d" % number for number in range(1000))
    assert file.closed


def test_a_failure_of_the_thread_is_not_lost(tmp_path: Path) -> None:
    """A pipe cannot be synced: the thread fails, and whoever closes the file is told."""
    reading, writing = os.pipe()
    file = os.fdopen(writing, "wb", buffering=0)
    place = {"tell": 0}

    class Pipe:
        """A pipe that knows how much went into it."""

        fileno, flush, close = file.fileno, file.flush, file.close

        def tell(self) -> int:
            return place["tell"]

    sync = EarlySync(Pipe(), step=1)  # type: ignore[arg-type]
    place["tell"] = file.write(b"x")
    sync.look()
    with pytest.raises(OSError, match="Invalid argument"):
        sync.close()
    assert file.closed
    os.close(reading)


def test_abandoned_files_are_closed(tmp_path: Path) -> None:
    file = (tmp_path / "file").open("wb")
    sync = EarlySync(file, step=1)
    file.write(b"text")
    sync.look()
    sync.abandon()
    assert file.closed
