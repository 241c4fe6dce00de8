"""Cores of Spark's that tasks occupy which last (`lasting.py`).

Spark would wait for ever for a core that nobody gives back, and so would everything else that runs
there. So they are counted, and one is always left for the others. Where nobody can tell how many
there are, on a cluster that grows and shrinks, Spark's own patience has to do.
"""

from __future__ import annotations

import threading
from collections import Counter

from pyspark.sql import SparkSession

from narrows.errors import Code, fail
from narrows.spark.read.cores import known_cores

_OCCUPIED: Counter[str] = Counter()
"""By application of Spark's: sessions of one process share its cores."""
_LOCK = threading.Lock()


class Slots:
    """The cores of a pipeline or of a shared stream, until they are given back."""

    def __init__(self, spark: SparkSession, who: str, count: int) -> None:
        """Takes so many; says so where there are not enough."""
        self._application = spark.conf.get("spark.app.id", "") or ""
        self._count = count
        total = known_cores(spark)
        with _LOCK:
            occupied = _OCCUPIED[self._application]
            if total is not None and occupied + count > total - 1:
                raise fail(
                    Code.NO_FREE_CORE,
                    f"{who}, for low latency, would occupy {_cores(count)} of Spark's"
                    f" for as long as it runs: of {total}, {occupied} are occupied so already, and"
                    " one must be left for everything else",
                    hint="start Spark with more, for example with `--master 'local[8]'`: they are"
                    " threads, and may be more than the machine's own",
                )
            _OCCUPIED[self._application] += count

    def give_back(self) -> None:
        with _LOCK:
            _OCCUPIED[self._application] -= self._count
            self._count = 0


def _cores(count: int) -> str:
    return "a core" if count == 1 else f"{count} cores"
