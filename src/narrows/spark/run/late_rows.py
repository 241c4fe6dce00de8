"""Rows that came too late for their window, as Spark counts them.

Spark counts what reaches its state store. Rows of one task that go into the same window under the
same key meet before that, so of such rows it counts one: the number says that rows were late, and
how often, but it is a lower bound.
"""

from __future__ import annotations

from narrows.spark.running.running import Running


class LateRows:
    """Adds up what a query's progress reports say, batch by batch."""

    def __init__(self) -> None:
        self._by_batch: dict[tuple[str, int], int] = {}

    def look(self, query: Running) -> int:
        """The rows that were late so far. Spark keeps only the last reports, so look often."""
        for report in query.recentProgress:
            operators = report["stateOperators"]
            late = sum(operator["numRowsDroppedByWatermark"] for operator in operators)
            self._by_batch[str(report["runId"]), int(report["batchId"])] = late
        return sum(self._by_batch.values())
