"""The state folder: what must survive a restart, and who may use it.

lock                              held while pipelines run: one process at a time
pipelines/<pipeline>.json         what the checkpoint was made for
checkpoints/<pipeline>/           Spark's
files/<pipeline>/<relation>/      which files a stream has taken, and whose turn it is
clocks/<pipeline>/                when the input of a bounded run had ended
dead_letters/<source>/            payloads that could not be read
statistics/<pipeline>/<source>/   what readers counted
tables/<table>.json               what ANALYZE TABLE counted
rows/<sink>/                      rows of console and memory sinks
shared/<stream>/                  registry, log and segments of a shared stream
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from pathlib import Path
from typing import IO

from narrows.errors import Code, fail
from narrows.logical.nodes import (
    Aggregation,
    Decoded,
    Distinct,
    Join,
    Node,
    StatefulFunction,
    Window,
)
from narrows.logical.walk import topological
from narrows.shared.registry import Registry

_STATEFUL = (Aggregation, Distinct, Join, StatefulFunction, Window)


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

    def checkpoint(self, pipeline: str) -> Path:
        return self.path / "checkpoints" / pipeline

    def file_log(self, pipeline: str, relation: int) -> Path:
        return self.path / "files" / pipeline / str(relation)

    def clock(self, pipeline: str) -> Path:
        return self.path / "clocks" / pipeline

    def dead_letters(self, source: str) -> Path:
        return self.path / "dead_letters" / source

    def statistics(self, pipeline: str, source: str) -> Path:
        return self.path / "statistics" / pipeline / source

    def table_statistics(self, table: str) -> Path:
        return self.path / "tables" / f"{table}.json"

    def rows(self, sink: str) -> Path:
        return self.path / "rows" / sink

    def shared(self, stream: str) -> Path:
        return self.path / "shared" / stream

    # --- does the checkpoint fit? -----------------------------------------------------------------

    def claim(self, pipeline: str, plan: Node) -> None:
        """Checks that the pipeline's checkpoint, if there is one, was made for such a plan."""
        record = self.path / "pipelines" / f"{pipeline}.json"
        now = _fingerprint(plan)
        before = json.loads(record.read_text("utf-8")) if record.exists() else {}
        # On a shared stream a pipeline without state has a place, but no checkpoint.
        shared = any(source.endswith(_SHARED) for source in before.get("sources", ()))
        if before and (shared or self.checkpoint(pipeline).exists()):
            for part, what in _PARTS.items():
                was = before.get(part, [])
                if was != now[part]:
                    raise fail(
                        Code.CHECKPOINT_MISMATCH,
                        f"the checkpoint of pipeline `{pipeline}` does not fit: {what} changed,"
                        f" from {was} to {now[part]}",
                        hint="give the changed pipeline another name, or forget what the old one"
                        f" has done: `narrows reset {pipeline}`",
                    )
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(now, indent=2), encoding="utf-8")

    def knows(self, pipeline: str) -> bool:
        """Has a pipeline of this name ever been started here?"""
        return (self.path / "pipelines" / f"{pipeline}.json").exists()

    def closed_mark(self, pipeline: str) -> Path:
        return self.path / "pipelines" / f"{pipeline}.closed"

    def reset(self, pipeline: str) -> None:
        """Forgets what a pipeline has done; its output stays."""
        folders = (self.checkpoint(pipeline), self.path / "files" / pipeline, self.clock(pipeline))
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(self.path / "statistics" / pipeline, ignore_errors=True)
        for stream in (self.path / "shared").glob("*"):
            registry = Registry(stream)
            for consumer in registry.snapshot().positions:
                if consumer.partition("#")[0] == pipeline:
                    registry.forget(consumer)
        (self.path / "pipelines" / f"{pipeline}.json").unlink(missing_ok=True)
        self.closed_mark(pipeline).unlink(missing_ok=True)

    def reset_stream(self, stream: str) -> None:
        """Forgets what a shared stream has taken and decoded, and where its pipelines were."""
        shutil.rmtree(self.shared(stream), ignore_errors=True)


_SHARED = ", shared)"
_PARTS = {
    "sources": "what it reads",
    "offsets": "how its place in a stream of files is kept",
    "state": "what it remembers between rows",
}


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
        elif isinstance(node, _STATEFUL):
            parts = [f"{key}={value}" for key, value in node.info().items()]
            state.append(f"{node.operator} {', '.join(parts)}".strip())
    return {"sources": sources, "offsets": offsets, "state": state}
