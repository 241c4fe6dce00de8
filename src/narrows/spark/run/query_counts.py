"""What the readers of a session's queries have counted."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from narrows.state.folder import StateFolder
from narrows.worker.count_files import counts_since
from narrows.worker.counts import ReadCounts

_BEGUN = ".begun"


class QueryCounts:
    """Each reader leaves a small file. Those that are older than the last query are of others.

    They are not removed when the next one begins: a reader may be about to write one.
    """

    def __init__(self, state: StateFolder, name: str) -> None:
        self._state, self._name = state, name
        self._sources: Sequence[str] = ()

    def begin(self, sources: Sequence[str]) -> None:
        """A query over these sources comes next."""
        self._sources = list(dict.fromkeys(sources))
        if self._sources:
            mark = self._state.all_statistics(self._name) / _BEGUN
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()  # by the clock of those who write the files

    def read(self) -> dict[str, ReadCounts]:
        if not self._sources:
            return {}
        begun = (self._state.all_statistics(self._name) / _BEGUN).stat().st_mtime_ns
        return {
            source: counts_since(self._state.statistics(self._name, source), begun)
            for source in self._sources
        }

    def forget(self) -> None:
        shutil.rmtree(self._state.all_statistics(self._name), ignore_errors=True)
