"""A file that is on the disk when it is closed, and mostly before.

Whoever writes a large file and syncs it at the end keeps it in memory until then: the system has to
find new memory for all of it, takes that from what others have cached, and the disk idles while the
processor works. So the system is told now and then that what was written need not stay: it begins
to write that out, and takes back the memory of what has been.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STEP = 16 << 20
"""Smaller files are left in the cache: whoever reads them next is probably not far."""


class SyncedFile(io.BufferedWriter):
    def __init__(self, path: str | Path) -> None:
        super().__init__(io.FileIO(path, "wb"))
        self._waiting = 0
        """Bytes since the system was last told."""

    def write(self, data: ReadableBuffer, /) -> int:
        count = super().write(data)
        self._waiting += count
        if self._waiting >= _STEP:
            self._waiting = 0
            self.flush()
            if hasattr(os, "posix_fadvise"):  # macOS has no such thing
                os.posix_fadvise(self.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return count

    def close_synced(self) -> None:
        self.flush()
        os.fsync(self.fileno())
        self.close()

    def abandon(self) -> None:
        """Closes it without what has not been written yet: it will be removed, and there may be no
        room for that."""
        self.raw.close()
