"""The processes of a run, as Linux shows them in /proc.

narrows run (driver) ──► java (JVM) ──► pyspark.daemon ──► pyspark.daemon, one for each worker
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import NamedTuple

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Process(NamedTuple):
    pid: int
    started: str
    """When, in ticks: a process of the same number that started at another time is another one."""

    @property
    def is_alive(self) -> bool:
        return self.started != "" and _started(self.pid) == self.started

    def kill(self) -> bool:
        """Was there anything left to kill?"""
        if not self.is_alive:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
            return True
        return False

    @property
    def work(self) -> int:
        """Ticks that it has been running on a core so far."""
        fields = _stat(self.pid)
        return int(fields[11]) + int(fields[12]) if fields else 0

    @property
    def memory(self) -> int:
        """Bytes of main memory."""
        with contextlib.suppress(OSError):
            return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * _PAGE
        return 0

    @property
    def descriptors(self) -> int:
        with contextlib.suppress(OSError):
            return len(os.listdir(f"/proc/{self.pid}/fd"))
        return 0


class Tree(NamedTuple):
    """A run, by what its processes are."""

    driver: Process
    jvm: list[Process]
    daemons: list[Process]
    workers: list[Process]

    @property
    def all(self) -> list[Process]:
        return [self.driver, *self.jvm, *self.daemons, *self.workers]


def tree(pid: int) -> Tree:
    """A driver's descendants that are there now."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat(int(name))):
            children.setdefault(int(fields[1]), []).append(int(name))
    found = Tree(Process(pid, _started(pid)), [], [], [])
    for jvm in children.get(pid, []):
        if "java" not in _command(jvm):
            continue
        found.jvm.append(Process(jvm, _started(jvm)))
        for daemon in children.get(jvm, []):
            if "pyspark.daemon" in _command(daemon):
                found.daemons.append(Process(daemon, _started(daemon)))
                found.workers.extend(Process(w, _started(w)) for w in children.get(daemon, []))
    return found


def _stat(pid: int) -> list[str]:
    """What stands behind the command's name, from the state on; nothing of one that has ended."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return [] if fields[0] in ("Z", "X") else fields
    return []


def _started(pid: int) -> str:
    fields = _stat(pid)
    return fields[19] if fields else ""


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    return ""
