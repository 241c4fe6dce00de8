"""Files that must be on the disk when they are closed, without a long wait at the end.

What has been written lies in memory until somebody asks for it to be on the disk, and the disk does
nothing until then. So while more is being made, a thread has the disk take what is there already.
"""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO

_STEP = 16 << 20
"""Bytes that are worth a thread's while."""


class EarlySync:
    """Watches over one file that is being written."""

    def __init__(self, file: IO[bytes], step: int = _STEP) -> None:
        self._file = file
        self._step = step
        self._begun = 0
        """Up to where the thread has been told to go."""
        self._thread: ThreadPoolExecutor | None = None
        self._under_way: Future[None] | None = None

    def look(self) -> None:
        """To be called when something has been written."""
        end = self._file.tell()
        if end - self._begun < self._step:
            return
        if self._under_way is not None:
            if not self._under_way.done():
                return
            self._under_way.result()  # a disk that fails says so once
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "narrows-sync")
        self._file.flush()
        self._begun = end
        self._under_way = self._thread.submit(os.fsync, self._file.fileno())

    def close(self) -> None:
        """Closes the file when all of it is on the disk."""
        try:
            if self._under_way is not None:
                self._under_way.result()
            self._file.flush()
            os.fsync(self._file.fileno())
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Closes the file, wherever its bytes may be."""
        if self._thread is not None:
            self._thread.shutdown()
        self._file.close()
