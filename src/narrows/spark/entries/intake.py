"""What a pipeline takes of one source: asked for what is new, journaled, told what is published.

    what is there ─► an entry, in the log ─► (somebody reads and publishes it) ─► the source is told

How an entry gets to whoever reads it is not its business: by a marker for a query of Spark's
(`feed.py`), or straight to tasks (`entry_loop.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from narrows.connectors.base import Available, Lag, SourceConnector
from narrows.connectors.entry_log import EMPTY, Entry, EntryLog
from narrows.connectors.opening import open_source
from narrows.errors import Code, NarrowsError, fail
from narrows.spark.running.patience import Patience
from narrows.worker.count_files import forget_entry, sweep_counts
from narrows.worker.read_spec import ReadSpec

T = TypeVar("T")


class Taking(Protocol):
    """What takes entries: of one source, or of several (`joint_intake.py`)."""

    @property
    def log(self) -> EntryLog:
        """What was taken."""

    @property
    def intakes(self) -> Sequence[Intake]:
        """Of each source."""

    @property
    def problem(self) -> str | None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def ask(self, question: Callable[[], T]) -> T | None: ...

    def look(self) -> Any: ...

    def look_patiently(self) -> Any:
        """The same while a pipeline runs: of several sources, one that is away is left out."""

    @property
    def seconds_since_look(self) -> float: ...

    def new(self, available: Any) -> Entry | None: ...

    def take(self, entry: Entry) -> int: ...

    def begin_reading(self) -> None: ...

    def read_again(self, number: int) -> None: ...

    def read_with(self, entry: Entry) -> Sequence[int | None]: ...

    def shares(self, entry: Entry) -> int: ...

    def tell(self, committed: int) -> None: ...

    def fold(self, published: int) -> None: ...

    def gone(self) -> NarrowsError: ...


class Intake:
    """One source of one pipeline. One thread takes; any may ask how far behind it is."""

    def __init__(self, spec: ReadSpec) -> None:
        assert spec.entry_log is not None
        self.spec = spec
        self.log = EntryLog(spec.entry_log)
        self.connector: SourceConnector = open_source(spec.connector, spec.declared)
        self._patience = Patience(spec.source)
        self._told = EMPTY
        """The entry up to which the source knows that all is published. A run before this one may
        have ended before it could tell, so it is told again."""
        self._available: Available | None = None
        """What the source had when it was last asked."""
        self._asked = 0.0
        self._taking = threading.Lock()
        """Whoever feeds the pipeline takes; whoever looks at its progress asks what is left to
        take. Neither source nor log can be asked while somebody takes."""

    @property
    def source(self) -> str:
        return self.spec.source

    @property
    def intakes(self) -> Sequence[Intake]:
        return [self]

    @property
    def problem(self) -> str | None:
        """Why its source cannot be asked, or nothing new comes, at the moment; else None."""
        return self._patience.problem or self.connector.problem

    def start(self) -> None:
        """A source that must listen does so from now on."""
        self.connector.start()

    def stop(self) -> None:
        self.connector.stop()

    def ask(self, question: Callable[[], T]) -> T | None:
        """An answer of the source; None while it is unavailable."""
        return self._patience.ask(question)

    def look(self) -> Available:
        """What the source has now."""
        available = self.connector.available()
        with self._taking:
            self._available, self._asked = available, time.monotonic()
        return available

    @property
    def seconds_since_look(self) -> float:
        return time.monotonic() - self._asked

    def look_patiently(self) -> Available:
        """There is no other source; whoever asks has patience (`ask`)."""
        return self.look()

    def new(self, available: Available) -> Entry | None:
        """As much of it as is new, and one micro-batch may have; None if that is nothing."""
        with self._taking:
            return self.connector.admit(self.log, available)

    def take(self, entry: Entry) -> int:
        """Journals what is new; its number."""
        with self._taking:
            return self.log.append(entry)

    def begin_reading(self) -> None:
        """What a run before this one may have left of counts is cleared away."""
        sweep_counts(self.spec.statistics)

    def read_again(self, number: int) -> None:
        """An entry that was read before, perhaps, by other tasks: their counts do not count."""
        forget_entry(self.spec.statistics, number)

    def read_with(self, entry: Entry) -> Sequence[int | None]:
        """The entry of each of several sources that is read with it: here there is one source."""
        return ()

    def shares(self, entry: Entry) -> int:
        """How many tasks it is worth to read it."""
        return max(1, len(self.connector.split(entry, self.spec.partitions)))

    def tell(self, committed: int) -> None:
        """Everything up to this entry is published."""
        if committed > self._told:
            with self._taking:
                entry = self.log.entry(committed)
                self._patience.tell(lambda: self.connector.committed(entry))
            self._told = committed

    def fold(self, published: int) -> None:
        """Keeps less of what was published long ago."""
        with self._taking:
            self.log.fold(published, self.connector.folded)

    def gone(self) -> NarrowsError:
        """What is wrong when the state folder is no longer there."""
        return fail(
            Code.UNREADABLE_FILE,
            f"the state of `{self.source}` in `{self.spec.entry_log}` is gone: somebody has"
            " removed or moved the state folder while the pipeline ran",
            hint="put it back, and start again: it goes on from there",
        )

    def lag(self) -> Lag:
        """How far behind it was when the source was last asked, less what was taken since: whoever
        looks at progress asks no source, which may be far away or have a million files."""
        with self._taking:
            if self._asked == 0.0:
                return Lag()
            return self.connector.lag(self.log, self._available)
