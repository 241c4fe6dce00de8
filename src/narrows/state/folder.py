"""The state folder: what must survive a restart, and who may use it.

lock                              held while pipelines run: one process at a time
pipelines/<pipeline>.json         what the checkpoint was made for
checkpoints/<pipeline>/           Spark's
files/<pipeline>/<relation>/      which files a stream has taken, and whose turn it is
clocks/<pipeline>/                when the input of a bounded run had ended
dead_letters/<source>/            payloads that could not be read
statistics/<pipeline>/<source>/   what readers counted
tables/<table>.json               what ANALYZE TABLE counted
projections/<projection>/         copies of a table; beside it, a file that says what they are of
rows/<sink>/                      rows of console and memory sinks
shared/<stream>/                  registry, log and segments of a shared stream

A name stands there as a file name (`files/names.py`): whatever it is, nothing leaves the folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from narrows.errors import Code, fail
from narrows.files.names import file_name
from narrows.logical.nodes import Decoded, Node
from narrows.logical.walk import topological
from narrows.schema import quoted
from narrows.shared.registry import Registry, pipeline_of
from narrows.stateful.stored import FORM


class StateFolder:
    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock: IO[str] | None = None

    def lock(self) -> None:
        """Makes this process the only one that runs pipelines here."""
        if self._lock is not None:
            return
        self.path.mkdir(parents=True, exist_ok=True)
        file = (self.path / "lock").open("a+", encoding="utf-8")
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
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        self._lock = file

    def unlock(self) -> None:
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

    def file_logs(self, pipeline: str) -> Path:
        return self._place("files", pipeline)

    def file_log(self, pipeline: str, relation: int) -> Path:
        return self.file_logs(pipeline) / f"{relation:d}"

    def clock(self, pipeline: str) -> Path:
        return self._place("clocks", pipeline)

    def record(self, pipeline: str) -> Path:
        return self._place("pipelines", pipeline, suffix=".json")

    def closed_mark(self, pipeline: str) -> Path:
        return self._place("pipelines", pipeline, suffix=".closed")

    def dead_letters(self, source: str) -> Path:
        return self._place("dead_letters", source)

    def all_statistics(self, pipeline: str) -> Path:
        return self._place("statistics", pipeline)

    def statistics(self, pipeline: str, source: str) -> Path:
        return self._place("statistics", pipeline, source)

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

    # --- does the checkpoint fit? -----------------------------------------------------------------

    def claim(self, pipeline: str, plan: Node) -> None:
        """Checks that the pipeline's checkpoint, if there is one, was made for such a plan."""
        record = self.record(pipeline)
        self._refuse_older("pipelines", pipeline, record)
        reads = [node for node in topological(plan) if isinstance(node, Decoded)]
        for source in (node.source for node in reads if node.source.shared):
            self._refuse_older("shared", source.name, self.shared(source.name))
        names = {n for node in reads for n in (node.source.name, node.relation.name) if n}
        now = _fingerprint(plan)
        before = json.loads(record.read_text("utf-8")) if record.exists() else {}
        # On a shared stream a pipeline without state has a place, but no checkpoint.
        shared = any(source.endswith(_SHARED) for source in before.get("sources", ()))
        if before and (shared or self.checkpoint(pipeline).exists()):
            for part, (what, named) in _PARTS.items():
                was = before.get(part, [])
                if _folded(was, named, names) != _folded(now[part], named, names):
                    raise fail(
                        Code.CHECKPOINT_MISMATCH,
                        f"the checkpoint of pipeline `{pipeline}` does not fit: {what} changed,"
                        f" from {was} to {now[part]}",
                        hint="give the changed pipeline another name, or forget what the old one"
                        f" has done: `narrows reset {shlex.quote(pipeline)}`",
                    )
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(now, indent=2), encoding="utf-8")

    def _refuse_older(self, kind: str, name: str, place: Path) -> None:
        """An older Narrows kept names as they were written. What it kept is not found under the
        file name, and to begin anew without a word would write everything twice."""
        for found in (self.path / kind).glob("*") if not place.exists() else ():
            older = found.name.removesuffix(".json")
            if older.casefold() == name.casefold() and "~" not in older:
                raise fail(
                    Code.CHECKPOINT_MISMATCH,
                    f"an older Narrows has kept what `{name}` has done, under the name `{older}`",
                    hint=f"to begin anew, remove `{found}`; or give it another name",
                )

    def knows(self, pipeline: str) -> bool:
        """Has a pipeline of this name ever been started here?"""
        return self.record(pipeline).exists()

    def reset(self, pipeline: str) -> None:
        """Forgets what a pipeline has done; its output stays."""
        for folder in (
            self.checkpoint(pipeline),
            self.file_logs(pipeline),
            self.clock(pipeline),
            self.all_statistics(pipeline),
        ):
            shutil.rmtree(folder, ignore_errors=True)
        for stream in (self.path / "shared").glob("*"):
            registry = Registry(stream)
            for consumer in registry.snapshot().positions:
                if pipeline_of(consumer) == file_name(pipeline):
                    registry.forget(consumer)
        self.record(pipeline).unlink(missing_ok=True)
        self.closed_mark(pipeline).unlink(missing_ok=True)

    def reset_stream(self, stream: str) -> None:
        """Forgets what a shared stream has taken and decoded, and where its pipelines were."""
        shutil.rmtree(self.shared(stream), ignore_errors=True)


_SHARED = ", shared)"
_NOWHERE = "(?!)"
_PARTS = {
    "sources": ("what it reads", r"^(?:{})(?= \()"),
    "offsets": ("how its place in a stream of files is kept", r"^(?:{})(?= by turns)"),
    "state": ("what it remembers between rows", r"(?<!\w)(?:{})(?=\.)"),
    "form": ("the form in which it keeps what it remembers", _NOWHERE),
}
"""What a checkpoint depends on, and where sources stand in it by their names, which have no case.
Nothing else loses its case: paths and constants have one."""


def _folded(texts: Iterable[str], named: str, names: Iterable[str]) -> list[str]:
    spelt = {re.escape(spelling) for name in names for spelling in (name, quoted(name))}
    pattern = re.compile(named.format("|".join(spelt)), re.IGNORECASE)
    return [pattern.sub(lambda found: found[0].casefold(), text) for text in texts]


def _fingerprint(plan: Node) -> dict[str, list[str]]:
    """What a checkpoint depends on: offsets belong to sources, state belongs to operators.

    Filters and projections may change freely: a stateless pipeline goes on where it left off.
    """
    sources, offsets, state = [], [], []
    for node in topological(plan):
        if isinstance(node, Decoded):
            path = node.source.options.get("path", "")
            kind = _SHARED if node.source.shared else ")"
            sources.append(f"{node.source.name} ({node.source.format}, {path}{kind}")
            if node.source.is_file_stream:
                offsets.append(f"{node.source.name} by turns")
        elif node.keeps_state:
            parts = [f"{key}={value}" for key, value in node.info().items()]
            state.append(f"{node.operator} {', '.join(parts)}".strip())
    form = [FORM] if any(node.remembers_rows for node in topological(plan)) else []
    return {"sources": sources, "offsets": offsets, "state": state, "form": form}
