"""What the benchmarks share: measuring two sides in turns, and one table of what came out.

A figure is a ratio of both sides in one run on the same data. Seconds depend on the machine and on
who else uses it; that is why the spread is shown, too.
"""

from __future__ import annotations

import argparse
import html
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One comparison."""

    case: str
    against: str
    ours: float
    theirs: float
    unit: str = "s"
    """What the figures are: seconds, or rows per second (`rows/s`)."""
    lowest: float | None = None
    highest: float | None = None
    """The least and the best ratio of a repeat."""
    note: str = ""

    @property
    def ratio(self) -> float:
        """How many times faster Narrows is."""
        return self.ours / self.theirs if self.unit.endswith("/s") else self.theirs / self.ours

    @property
    def spread(self) -> str:
        known = self.lowest is not None and self.highest is not None
        return f"{self.lowest:.1f} to {self.highest:.1f}" if known else ""


def compared(
    case: str,
    against: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    *,
    note: str = "",
) -> Row:
    """The row of two sides whose seconds were measured in turns."""
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    medians = statistics.median(ours), statistics.median(theirs)
    return Row(case, against, *medians, lowest=min(ratios), highest=max(ratios), note=note)


def in_turns(sides: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """The seconds of each side, in turns so that a noisy neighbour disturbs all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def machine() -> dict[str, str]:
    from narrows.formats.kernel import chosen_kernel

    return {
        "machine": f"{cores()} cores, {platform.machine()}, {memory()} of memory",
        "python": platform.python_version(),
        "spark": version("pyspark"),
        "narrows": f"{version('narrows')}, {chosen_kernel()} kernel",
    }


def cores() -> int:
    return len(os.sched_getaffinity(0))


def memory() -> str:
    kilobytes = int(Path("/proc/meminfo").read_text().split()[1])
    return f"{kilobytes / 1e6:.0f} GB"


def table(rows: Iterable[Row]) -> str:
    lines = [
        "| case | against | Narrows | other | times faster | spread |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        case = f"{row.case} ({row.note})" if row.note else row.case
        ours, theirs = f"{row.ours:.2f} {row.unit}", f"{row.theirs:.2f} {row.unit}"
        lines.append(
            f"| {case} | {row.against} | {ours} | {theirs} | **{row.ratio:.1f}** | {row.spread} |"
        )
    return "\n".join(lines)


def as_json(row: Row) -> dict[str, object]:
    return {**asdict(row), "ratio": round(row.ratio, 2)}


_BAR, _GAP, _WIDTH = 18, 8, 420
_LETTER = 6.5
"""Mean width of a letter, generously."""


def plot(rows: Sequence[Row]) -> str:
    """Bars of the ratios, on a scale on which each doubling takes the same room."""
    labels = [f"{row.case} / {row.against}" for row in rows]
    left = round(16 + _LETTER * max(map(len, labels), default=0))
    most = max((row.ratio for row in rows), default=1.0)
    step = _WIDTH / max(1.0, math.log2(max(2.0, most)))
    height = (_BAR + _GAP) * len(rows) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + _WIDTH + 80}" height="{height}"'
        ' font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#fff"/>',  # wherever it is looked at
        f'<text x="{left}" y="16">times faster than the other side (1 = the same)</text>',
    ]
    for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
        top = 28 + number * (_BAR + _GAP)
        length = max(1.0, step * math.log2(max(1.0, row.ratio)))
        colour = "#2a7de1" if row.ratio >= 1 else "#c0392b"
        parts += [
            f'<text x="{left - 8}" y="{top + 13}" text-anchor="end">{html.escape(label)}</text>',
            f'<rect x="{left}" y="{top}" width="{length:.1f}" height="{_BAR}" fill="{colour}"/>',
            f'<text x="{left + length + 6:.1f}" y="{top + 13}">{row.ratio:.1f}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def options(description: str | None, **defaults: object) -> argparse.ArgumentParser:
    """The options that all benchmarks have; `defaults` adds some, of the types of their values."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="file to write the rows to as JSON")
    for name, value in defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    return parser


def publish(rows: Sequence[Row], to: Path | None) -> None:
    """Prints the table, and leaves the rows where `narrows bench` collects them."""
    print(table(rows))
    if to is not None:
        to.write_text(json.dumps([asdict(row) for row in rows], indent=2), encoding="utf-8")
