"""A real file system that is full soon, or that nobody may write to: a tmpfs of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    def __init__(self, path: Path) -> None:
        self.path = path

    def resize(self, size: str) -> None:
        """Gives it so much room: `64k`, `8m`."""
        self._remount(f"size={size},rw")

    def read_only(self) -> None:
        self._remount("ro")

    def _remount(self, options: str) -> None:
        subprocess.run(
            ["mount", "-o", f"remount,{options}", str(self.path)], check=True, capture_output=True
        )


@contextmanager
def small_disk(path: Path, size: str) -> Iterator[SmallDisk]:
    """Needs the rights to mount; skips, and says so, where there are none."""
    path.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "narrows-test", str(path)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"NOT TESTED: a full disk. This needs the right to mount a tmpfs: {error}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True, capture_output=True)
