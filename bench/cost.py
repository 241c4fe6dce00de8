"""What something costs: seconds, and CPU time of all processes that have a part in it.

with measured() as cost:
    ...
print(cost.wall, cost.cpu)
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Cost:
    wall: float = 0.0
    cpu: float = 0.0


@contextmanager
def measured(besides: Collection[int] = ()) -> Iterator[Cost]:
    """The cost of what is done inside; the CPU time of processes `besides` does not count."""
    cost = Cost()
    wall, cpu = time.perf_counter(), cpu_seconds(besides)
    yield cost
    cost.wall, cost.cpu = time.perf_counter() - wall, cpu_seconds(besides) - cpu


def cpu_seconds(besides: Collection[int] = ()) -> float:
    """CPU time of this process and all below it, those that have ended included: the driver, the
    JVM, the Python workers."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            text = (folder / "stat").read_text()
        except OSError:
            continue
        after_name = text.rpartition(")")[2].split()
        parents[int(folder.name)] = int(after_name[1])
        ticks[int(folder.name)] = sum(map(int, after_name[11:15]))
    total = 0
    for process in ticks:
        ancestor: int | None = process
        while ancestor is not None and ancestor != os.getpid() and ancestor not in besides:
            ancestor = parents.get(ancestor)
        if ancestor == os.getpid():
            total += ticks[process]
    return total / os.sysconf("SC_CLK_TCK")
