"""Who reads a shared stream, what each needs of it, and what is decoded for all of them.

The registry is a small file in the state folder, and every operation reads it, changes it and
writes it back under a lock: the processes of Spark that plan the ingest and the readers are not the
user's process, and this file is how they talk. A crash leaves it as it was before or after.

**Applied.** What is decoded from the next entry on is public: `version`, which grows whenever the
union of all demands changes, and the union itself. The ingest takes it when it plans a micro-batch
(`apply`), and whoever registers with a running ingest need not wait for that. `planned` is the
entry that the ingest is working on or has last worked on, and `planned_demand` what it decodes of
that one.

**Positions.** A consumer's position is the last entry it is done with. Registering decides it, once
and for all: from the entry after it on, every entry covers the consumer's demand. That is so
because entries planned later take the consumer into account, and because the one that may be under
way is known to cover the demand, or is left out.

    known before, and nothing is missing since    goes on where it was
    `latest`                                      after the newest entry
    `earliest`                                    before the oldest entries that cover it

**Leases.** A consumer whose process is gone cannot say so. It stays registered until its lease has
run out, so that a restart finds everything that was kept for it; then it is forgotten, except for
its position. The same holds for one that has failed, and for one that was stopped together with all
others before it had read everything.

**Names.** A consumer is called by the file name of its pipeline, which has no `#` in it, and a
number where the pipeline reads the stream more than once.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import socket
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from narrows.demand import Demand
from narrows.errors import Code, fail
from narrows.files.atomic import sweep, write_atomically
from narrows.files.names import file_name, name_of
from narrows.files.small import damaged
from narrows.plugins.start_at import EARLIEST as EARLIEST
from narrows.plugins.start_at import LATEST as LATEST
from narrows.shared.log import EMPTY, SharedLog
from narrows.shared.snapshot import Applied, Consumer, Snapshot

LEASE_SECONDS = 60.0
CONSUMER_LOGS = "consumers"
"""The folder beside the registry where consumers with a query of their own keep what they took."""
TASKS, TASKS_SUFFIX = "tasks", ".plan"
"""The folder where those without one are told what to read, and how the files there end."""
_NUMBER = "#"


def consumers_of(pipeline: str, count: int) -> list[str]:
    """What a pipeline that reads shared streams so many times is called in their registries."""
    name = file_name(pipeline)
    return [f"{name}{_NUMBER}{n}" for n in range(1, count + 1)] if count > 1 else [name]


def pipeline_of(consumer: str) -> str:
    """The file name of the pipeline that a consumer is part of."""
    return consumer.partition(_NUMBER)[0]


@dataclass(frozen=True)
class Registered:
    """Where a consumer begins."""

    position: int
    missed: int = 0
    """Entries that it has missed since it was last registered; they are gone, or without what it
    needs."""


class ConsumerRegistry:
    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        clock: Callable[[], float] = time.time,
        lease: float = LEASE_SECONDS,
        owner: str | None = None,
    ) -> None:
        self._folder = Path(folder)
        self._clock = clock
        self._lease = lease
        self._owner = owner or f"{socket.gethostname()}:{os.getpid()}"
        self._log = SharedLog(folder)
        self._seen: tuple[bytes, Snapshot] | None = None
        """What was in the file when it was last looked at."""

    # --- consumers --------------------------------------------------------------------------------

    def register(
        self, demands: Mapping[str, Demand], start_at: str = LATEST
    ) -> dict[str, Registered]:
        """Registers consumers, all at once; a consumer that is registered already begins anew."""
        with self._changing() as state:
            found: dict[str, Registered] = {}
            for name, demand in demands.items():
                known = state.positions.get(name)
                position = self._first_position(state.applied, demand, known, start_at)
                if known is None:
                    found[name] = Registered(position)
                else:  # never back: it may have begun after an entry that was still under way
                    position = max(position, known)
                    found[name] = Registered(position, missed=position - known)
            consumers = {
                name: Consumer(demands[name], found[name].position, self._owner, self._alive_until)
                for name in demands
            }
            state.consumers = {**state.consumers, **consumers}
            state.positions = {**state.positions, **{n: f.position for n, f in found.items()}}
            return found

    def unregister(self, *names: str, keep_unread: bool = False) -> None:
        """Takes consumers out; where they were is remembered. Those that are to have later what
        they have not read are abandoned instead."""
        with self._changing() as state:
            last = self._log.last()
            behind = [
                n for n in names if n in state.consumers and state.consumers[n].position < last
            ]
            kept = behind if keep_unread else []
            self._abandon(state, kept)
            gone = set(names) - set(kept)
            state.consumers = {n: c for n, c in state.consumers.items() if n not in gone}

    def abandon(self, *names: str) -> None:
        """Says that nobody runs these consumers any more, though they were not done.

        They stay registered for the time of a lease, so that nothing is lost to whoever mends what
        was wrong and starts them again.
        """
        with self._changing() as state:
            self._abandon(state, names)

    def _abandon(self, state: _Changing, names: Collection[str]) -> None:
        abandoned = {
            name: replace(consumer, owner="", alive_until=self._alive_until)
            for name, consumer in state.consumers.items()
            if name in names
        }
        state.consumers = {**state.consumers, **abandoned}

    def forget(self, name: str) -> None:
        """Takes a consumer out, and its position with it."""
        with self._changing() as state:
            state.consumers = {n: c for n, c in state.consumers.items() if n != name}
            state.positions = {n: p for n, p in state.positions.items() if n != name}

    def advance(self, positions: Mapping[str, int]) -> None:
        """Says that consumers are done with all entries up to these."""
        with self._changing() as state:
            moved = {
                name: replace(state.consumers[name], position=position)
                for name, position in positions.items()
                if name in state.consumers and position > state.consumers[name].position
            }
            state.consumers = {**state.consumers, **moved}
            state.positions = {**state.positions, **{n: c.position for n, c in moved.items()}}

    def renew(self, *names: str) -> None:
        """Extends leases."""
        with self._changing() as state:
            renewed = {
                name: replace(consumer, alive_until=self._alive_until)
                for name, consumer in state.consumers.items()
                if name in names
            }
            state.consumers = {**state.consumers, **renewed}

    def _first_position(
        self, applied: Applied, demand: Demand, known: int | None, start_at: str
    ) -> int:
        numbers = self._log.numbers()
        last = numbers[-1] if numbers else EMPTY
        under_way = applied.planned > last
        if under_way and not applied.planned_demand.covers(demand):
            return applied.planned
        covering = last  # from the entry after this one on, all are there and cover the demand
        for number in reversed(numbers):
            if number != covering or not self._log.entry(number).demand.covers(demand):
                break
            covering = number - 1
        if known is not None and covering <= known <= last:
            return known
        return covering if start_at == EARLIEST else last

    # --- the ingest -------------------------------------------------------------------------------

    def begin(self, definition: str) -> None:
        """Says that no ingest is under way: what one had planned and not published is void. While
        there was none, nobody's lease has run.

        The definition says what the entries are made of; it cannot change while there are some.
        """
        with self._changing() as state:
            last = self._log.last()
            if state.definition not in (None, definition) and last != EMPTY:
                name = name_of(self._folder.name)
                raise fail(
                    Code.CHECKPOINT_MISMATCH,
                    f"shared stream `{name}` was another one before: its schema, format or path"
                    " is not what its entries were made from",
                    None,
                    "give the changed stream another name, or forget what the old one has"
                    f" decoded: `narrows reset {shlex.quote(name)}`",
                )
            state.definition = definition
            state.applied = replace(state.applied, planned=last)
            state.consumers = {
                name: replace(consumer, alive_until=self._alive_until)
                for name, consumer in state.consumers.items()
            }

    def apply(self, entry: int | None = None) -> Applied:
        """Takes the union of now; with an entry, for that one, which is under way from now on."""
        with self._changing() as state:
            self._expire(state)
            applied, union = state.applied, state.union
            if union != applied.demand:
                applied = replace(applied, version=applied.version + 1, demand=union)
            if entry is not None:
                applied = replace(applied, planned=entry, planned_demand=applied.demand)
            state.applied = applied
            return applied

    def retain(self) -> None:
        """Removes the entries that every consumer has passed."""
        with self._changing() as state:
            self._expire(state)
            positions = [consumer.position for consumer in state.consumers.values()]
            self._log.retain(min(positions, default=self._log.last()))

    def snapshot(self) -> Snapshot:
        if not self._path.exists() and self._log.last() == EMPTY:
            return Snapshot()  # whoever only looks leaves no trace
        with self._locked(fcntl.LOCK_SH):
            return self._load()

    def _expire(self, state: _Changing) -> None:
        now = self._clock()
        state.consumers = {
            name: consumer
            for name, consumer in state.consumers.items()
            if consumer.alive_until > now or _is_alive(consumer.owner)
        }

    @property
    def _alive_until(self) -> float:
        return self._clock() + self._lease

    # --- the file ---------------------------------------------------------------------------------

    @property
    def _path(self) -> Path:
        return self._folder / "registry"

    @contextmanager
    def _locked(self, kind: int) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._folder / "registry.lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, kind)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def _changing(self) -> Iterator[_Changing]:
        with self._locked(fcntl.LOCK_EX):
            before = self._load()
            state = _Changing(before)
            yield state
            after = state.snapshot()
            if after != before:
                sweep(self._folder)
                write_atomically(self._path, after.to_bytes())

    def _load(self) -> Snapshot:
        try:
            data = self._path.read_bytes()
            seen = self._seen
            if seen is None or seen[0] != data:  # everybody looks at it, all the time
                self._seen = seen = data, Snapshot.from_bytes(data, str(self._path))
            return seen[1]
        except FileNotFoundError:
            if self._log.last() == EMPTY:
                return Snapshot()
            hint = "restore the state folder, or give the stream a new start with `narrows reset`"
            what = "the registry of a shared stream"
            raise damaged(self._path, what, "it is missing", hint) from None


class _Changing:
    """A snapshot that is being changed."""

    def __init__(self, before: Snapshot) -> None:
        self.applied = before.applied
        self.consumers = before.consumers
        self.positions = before.positions
        self.definition = before.definition

    @property
    def union(self) -> Demand:
        return self.snapshot().union

    def snapshot(self) -> Snapshot:
        return Snapshot(self.applied, self.consumers, self.positions, self.definition)


def _is_alive(owner: str) -> bool:
    """Is the process there, as far as we can see? A process that was suspended has not gone."""
    host, _, pid = owner.rpartition(":")
    if host != socket.gethostname():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
