"""What must be looked at while it happens: how long micro-batches took.

What runs knows its last ones, and no sum of them. So one thread looks every few seconds, and
counts each batch that it has not seen into a histogram.
"""

from __future__ import annotations

import logging
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from narrows.spark.run.pipeline_run import PipelineRun

LOG = logging.getLogger("narrows.service")
BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds: upper bounds of the histogram's buckets."""
_EVERY = 5.0


@dataclass
class Histogram:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def buckets(self) -> Iterable[tuple[str, int]]:
        """How many took so long or less, as Prometheus counts: `("0.5", 17)`."""
        sum_so_far = 0
        for bound, count in zip((*BOUNDS, None), self.counts, strict=True):
            sum_so_far += count
            yield ("+Inf" if bound is None else f"{bound:g}"), sum_so_far


class BatchTimes:
    """The histograms of all pipelines, by name."""

    def __init__(self, runs: Callable[[], Iterable[PipelineRun]]) -> None:
        self._runs = runs
        self.by_pipeline: dict[str, Histogram] = {}
        self.last: dict[str, float] = {}
        """How long the last one took, in seconds."""
        self._seen: dict[str, tuple[str, int]] = {}

    def watch(self, until: threading.Event) -> None:
        def look() -> None:
            while not until.wait(_EVERY):
                try:
                    self.look()
                except Exception as error:
                    LOG.warning("batch durations could not be read: %s", error)

        threading.Thread(target=look, name="narrows-samples", daemon=True).start()

    def look(self) -> None:
        for run in self._runs():
            times = self.by_pipeline.setdefault(run.name, Histogram())
            for life, number, seconds in run.query.batches:
                seen = self._seen.get(run.name)
                if seen is not None and seen[0] == life and number <= seen[1]:
                    continue
                self._seen[run.name] = life, number
                times.add(seconds)
                self.last[run.name] = seconds
