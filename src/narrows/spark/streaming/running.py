"""What runs: a streaming query of Spark's, one that is fed, a member of a shared stream's group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyspark.sql.streaming.listener import StreamingQueryProgress


class Running(Protocol):
    """To whoever looks they are all alike. The names are those of Spark's queries."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802

    @property
    def recentProgress(self) -> Sequence[StreamingQueryProgress]: ...  # noqa: N802

    def exception(self) -> BaseException | None:
        """Why it ended, if not by itself."""

    def awaitTermination(self, timeout: int | None = None) -> bool | None: ...  # noqa: N802

    def stop(self) -> None: ...
