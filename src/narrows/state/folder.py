"""The state folder: what must survive a restart, and who may use it.

version                           of what is kept here
lock                              held while pipelines run: one process at a time
pipelines/<pipeline>.json         what the checkpoint was made for
pipelines/<pipeline>.first.json   the number of its first batch, if it was reset
pipelines/<pipeline>.life         which life of the pipeline this is: another one after a reset
checkpoints/<pipeline>/           Spark's
entries/<pipeline>/<source>/      what was taken of a stream, entry by entry; markers or a position
clocks/<pipeline>/                when the input of a bounded run had ended
newest/<pipeline>/<source>/       the newest event time of streams, for those who close windows
windows/<pipeline>/               what tasks have folded into windows that are open
remembered/<pipeline>/<place>/    what tasks remember of rows, key by key
failures/<pipeline>.log           why it failed, with everything that Spark had to say
dead_letters/<source>/            payloads that could not be read
statistics/<pipeline>/<source>/   what readers counted
tables/<table>.json               what ANALYZE TABLE counted
projections/<projection>/         copies of a table; beside it, a file that says what they are of
rows/<sink>/                      rows of console and memory sinks
shared/<stream>/                  registry, log and segments of a shared stream
received/<connector>/             what was received and could not be had again; topics in memory

A name stands there as a file name (`files/names.py`): whatever it is, nothing leaves the folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import secrets
import shlex
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from narrows.connectors.entry_log import newest_entry
from narrows.connectors.received.consumers import Consumers
from narrows.errors import Code, fail
from narrows.files.atomic import make_private, write_atomically
from narrows.files.names import file_name, name_of
from narrows.files.small import damaged, disk_errors, read_small, write_small
from narrows.logical.nodes import Node
from narrows.shared.log import SharedLog
from narrows.shared.registry import (
    CONSUMER_LOGS,
    TASKS,
    TASKS_SUFFIX,
    ConsumerRegistry,
    pipeline_of,
)
from narrows.state.entry_position import had_position
from narrows.state.plan_shape import Shape, fits, shape_of
from narrows.worker.keeping.steps import StepLog

VERSION = "2"
_RECORD = "narrows-pipeline-1"
_FIRST = "narrows-first-batch-1"
_LIFE = "narrows-life-1"
_KINDS_SINCE_VERSION_2 = ("entries",)
_KINDS_OF_VERSION_1 = ("pipelines", "files", "checkpoints")


class StateFolder:
    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock: IO[str] | None = None
        self._locking = threading.Lock()
        """Several threads may start pipelines at the same time."""

    def check_version(self) -> None:
        """Refuses what another version of Narrows has kept: to begin anew without a word would
        write everything twice."""
        found = self._version()
        if found is not None and not found.isdecimal():
            raise damaged(
                self.path / "version",
                "the file",
                "it holds no version",
                f"write `{VERSION}` into it, if this Narrows has made the state folder",
            )
        if found not in (None, VERSION):
            raise fail(
                Code.CHECKPOINT_MISMATCH,
                f"the state folder `{self.path}` is of version {found}, and this Narrows keeps"
                f" version {VERSION}",
                hint="finish with the Narrows that made it, or move it away to begin anew:"
                " pipelines then read everything again, so give their sinks new folders",
            )

    def _version(self) -> str | None:
        """The version of what is kept here; None when that is nothing."""
        try:
            found = (self.path / "version").read_text("utf-8", "replace").strip()
            return found or "unknown"
        except FileNotFoundError:
            if any((self.path / kind).exists() for kind in _KINDS_SINCE_VERSION_2):
                return VERSION  # it got lost, and is written again
            older = any((self.path / kind).exists() for kind in _KINDS_OF_VERSION_1)
            return "1" if older else None

    def lock(self) -> None:
        """Makes this process the only one that runs pipelines here."""
        with self._locking:
            if self._lock is None:
                with disk_errors(self.path):
                    self._take_lock()

    def _take_lock(self) -> None:
        self.check_version()
        make_private(self.path)  # dead letters hold payloads
        file = (self.path / "lock").open("a+", encoding="utf-8", errors="replace")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            file.close()
            raise fail(
                Code.STATE_IN_USE,
                f"process {owner} is running pipelines on the state folder `{self.path}`",
                hint="stop it first, or use another folder with `--state`",
            ) from None
        try:
            file.seek(0)
            file.truncate()
            file.write(str(os.getpid()))
            file.flush()
            if not (self.path / "version").exists():
                write_atomically(self.path / "version", VERSION.encode())
        except OSError:
            with contextlib.suppress(OSError):  # what could not be written is tried once more
                file.close()
            raise
        self._lock = file

    def unlock(self) -> None:
        with self._locking:
            if self._lock is not None:
                self._lock.close()
                self._lock = None

    # --- places -----------------------------------------------------------------------------------

    def _place(self, kind: str, *names: str, suffix: str = "") -> Path:
        """The only way from names to a path. It ends in the folder of its kind, always."""
        *outer, last = map(file_name, names)
        return self.path.joinpath(kind, *outer, f"{last}{suffix}")

    def checkpoint(self, pipeline: str) -> Path:
        return self._place("checkpoints", pipeline)

    def entry_logs(self, pipeline: str) -> Path:
        return self._place("entries", pipeline)

    def entry_log(self, pipeline: str, source: str, number: int = 0) -> Path:
        """What a pipeline has taken of a source that it may read several times."""
        return _numbered(self._place("entries", pipeline, source), number)

    def clock(self, pipeline: str) -> Path:
        return self._place("clocks", pipeline)

    def all_newest(self, pipeline: str) -> Path:
        return self._place("newest", pipeline)

    def newest(self, pipeline: str, source: str, number: int = 0) -> Path:
        """How far a stream has come, at each of the places where it is read."""
        return _numbered(self._place("newest", pipeline, source), number)

    def windows(self, pipeline: str) -> Path:
        """What its tasks keep: windows, or groups that none ends."""
        return self._place("windows", pipeline)

    def remembered(self, pipeline: str) -> Path:
        return self._place("remembered", pipeline)

    def record(self, pipeline: str) -> Path:
        return self._place("pipelines", pipeline, suffix=".json")

    def closed_mark(self, pipeline: str) -> Path:
        return self._place("pipelines", pipeline, suffix=".closed")

    def failures(self, pipeline: str) -> Path:
        return self._place("failures", pipeline, suffix=".log")

    def dead_letters(self, source: str) -> Path:
        return self._place("dead_letters", source)

    def all_statistics(self, pipeline: str) -> Path:
        return self._place("statistics", pipeline)

    def statistics(self, pipeline: str, source: str, number: int = 0) -> Path:
        """What was counted of a source, at each of the places where it is read."""
        return _numbered(self._place("statistics", pipeline, source), number)

    def table_statistics(self, table: str) -> Path:
        return self._place("tables", table, suffix=".json")

    @property
    def projections(self) -> Path:
        return self.path / "projections"

    def projection(self, name: str) -> Path:
        return self._place("projections", name)

    def projection_record(self, name: str) -> Path:
        return self._place("projections", name, suffix=".json")

    def rows(self, sink: str) -> Path:
        return self._place("rows", sink)

    def shared(self, stream: str) -> Path:
        return self._place("shared", stream)

    def received(self, connector: str) -> Path:
        return self._place("received", connector)

    def life(self, pipeline: str) -> str:
        """What tells this life of a pipeline from all others of its name, here or elsewhere: it
        begins when the pipeline is first started, and ends when it is reset. Its batches have
        numbers, so a sink outside knows by both what it has taken."""
        path = self._place("pipelines", pipeline, suffix=".life")
        what, hint = "the file that tells a pipeline's lives apart", "restore it from a backup"
        found: str | None = read_small(path, _LIFE, what, hint)
        if found is None:
            found = secrets.token_hex(8)
            with disk_errors(self.path):
                write_small(path, _LIFE, found)
        return found

    # --- does the checkpoint fit? -----------------------------------------------------------------

    def claim(self, pipeline: str, plan: Node) -> None:
        """Makes the pipeline's checkpoint that of such a plan, if it is not of another."""
        now = self.check_fits(pipeline, plan)
        with disk_errors(self.path):
            write_small(self.record(pipeline), _RECORD, now)

    def check_fits(self, pipeline: str, plan: Node) -> Shape:
        """Checks that the pipeline's checkpoint, if there is one, was made for such a plan."""
        now = shape_of(plan)
        before = self._read_record(self.record(pipeline))
        if before is not None:
            for part, what in _PARTS.items():
                was = before.get(part, [])
                if not fits(was, now[part]):
                    raise fail(
                        Code.CHECKPOINT_MISMATCH,
                        f"the checkpoint of pipeline `{pipeline}` does not fit: {what} changed,"
                        f" from {_texts(was)} to {_texts(now[part])}",
                        hint="give the changed pipeline another name, or forget what the old one"
                        f" has done: `narrows reset {shlex.quote(pipeline)}`",
                    )
        return now

    def _read_record(self, record: Path) -> Shape | None:
        what = "the record of what a checkpoint was made for"
        hint = "restore it from a backup; or remove it, if the pipeline has not changed"
        found: Shape | None = read_small(record, _RECORD, what, hint)
        return found

    def knows(self, pipeline: str) -> bool:
        """Has a pipeline of this name ever been started here?"""
        return self.record(pipeline).exists() or self.checkpoint(pipeline).exists()

    def first_batch(self, pipeline: str) -> int:
        """What the first batch of a pipeline is called in its sinks: those of its earlier lives
        have the numbers before it."""
        hint = "restore it from a backup; without it output of before the reset is overwritten"
        found = read_small(self._first(pipeline), _FIRST, "the number of a first batch", hint)
        return 0 if found is None else int(found)

    def _first(self, pipeline: str) -> Path:
        return self._place("pipelines", pipeline, suffix=".first.json")

    def _end_life(self, pipeline: str, positions: Iterable[int]) -> None:
        """Has the next life of a pipeline number its batches from after those of this one: of its
        query's batches, one that was begun may be published; on a shared stream a batch has the
        number of an entry, which is at most the one after the position; and of one that has had
        low latency every entry may be a batch."""
        offsets = self.checkpoint(pipeline) / "offsets"
        begun = os.listdir(offsets) if offsets.is_dir() else ()
        numbers = [int(name) for name in begun if name.isdecimal()]
        logs = self.entry_logs(pipeline)
        numbers += [newest_entry(log) for log in logs.glob("*/") if had_position(log)]
        kept = [self.windows(pipeline), *self.remembered(pipeline).glob("*/")]
        steps = [StepLog(folder).last() for folder in kept]
        numbers += [step.number + 1 for step in steps if step is not None]  # of closing ones, too
        last = max([*numbers, *(position + 1 for position in positions)], default=-1)
        if last >= 0:
            write_small(self._first(pipeline), _FIRST, self.first_batch(pipeline) + last + 1)

    def reset(self, pipeline: str) -> None:
        """Forgets what a pipeline has done; its output stays, and what it writes from now on is
        beside it: the numbers of its batches go on."""
        streams = list((self.path / "shared").glob("*"))
        known = [(stream, ConsumerRegistry(stream).snapshot().positions) for stream in streams]
        mine = [p for _, found in known for c, p in found.items() if _is_of(c, pipeline)]
        self._end_life(pipeline, mine)
        for folder in (
            self.checkpoint(pipeline),
            self.entry_logs(pipeline),
            self.clock(pipeline),
            self.all_newest(pipeline),
            self.windows(pipeline),
            self.remembered(pipeline),
            self.all_statistics(pipeline),
        ):
            shutil.rmtree(folder, ignore_errors=True)
        for stream, positions in known:
            logs = stream / CONSUMER_LOGS
            for consumer in {*positions, *(log.name for log in logs.glob("*"))}:
                if _is_of(consumer, pipeline):
                    ConsumerRegistry(stream).forget(consumer)
                    shutil.rmtree(logs / consumer, ignore_errors=True)
        self._forget_reader("entries", pipeline)
        self.record(pipeline).unlink(missing_ok=True)
        self.closed_mark(pipeline).unlink(missing_ok=True)
        self._place("pipelines", pipeline, suffix=".life").unlink(missing_ok=True)

    def reset_stream(self, stream: str) -> None:
        """Forgets what a shared stream has taken and decoded, and where its pipelines were. Their
        output stays, as it does when they are reset."""
        folder = self.shared(stream)
        for tasks in (folder / TASKS).glob(f"*{TASKS_SUFFIX}"):  # of those without a query
            self._end_life(name_of(tasks.stem), [SharedLog(folder).last()])
        shutil.rmtree(self.shared(stream), ignore_errors=True)
        self._forget_reader("shared", stream)

    def forget_pushed(self, stream: str) -> None:
        """Removes what was pushed to a stream: nobody will read it."""
        for log in self.path.glob(f"received/*/{glob.escape(file_name(stream))}/"):
            shutil.rmtree(log, ignore_errors=True)

    def _forget_reader(self, kind: str, name: str) -> None:
        """Nothing that was received is kept for it any more."""
        for log in self.path.glob("received/*/*/"):
            Consumers(log).forget(f"{kind}/{file_name(name)}/")


_PARTS = {"sources": "what it reads", "state": "what it remembers between rows"}


def _is_of(consumer: str, pipeline: str) -> bool:
    """Is this what the pipeline is called in the registry of a shared stream?"""
    return pipeline_of(consumer) == file_name(pipeline)


def _numbered(folder: Path, number: int) -> Path:
    """No name of ours has a dot in it."""
    return folder.with_name(f"{folder.name}.{number}") if number else folder


def _texts(parts: list[dict[str, Any]]) -> str:
    return "; ".join(str(part["text"]) for part in parts) or "nothing"
