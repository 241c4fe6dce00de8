"""Payloads in a table of SQLite, and rows into one: a connector that Narrows does not have.

A source reads `CREATE TABLE payloads (id INTEGER PRIMARY KEY, payload BLOB)`, into which somebody
inserts. A sink writes rows as JSON into `CREATE TABLE written (pipeline, batch, row)`.
"""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from narrows.connectors import (
    Connector,
    Decoding,
    Entry,
    Lag,
    LostRangeError,
    OptionSpec,
    Part,
    Share,
    SinkConnector,
    SinkTarget,
    SourceConnector,
    SourceDeclaration,
    TakenEntries,
)
from narrows.schema import BIGINT

if TYPE_CHECKING:  # planning loads this file, and must not load Arrow
    import pyarrow as pa

_AT_ONCE = 1_000
"""Payloads of a range: the same entry is always cut in the same places."""


# --- source: an entry is {"after": 3, "upto": 7}, the payloads with the ids 4 to 7 ----------------


@dataclass(frozen=True)
class Ids:
    """A range: what one task reads in one go."""

    path: str
    after: int
    upto: int

    @property
    def key(self) -> str:
        return f"{self.path}:{self.after}:{self.upto}"


class SqliteSource(SourceConnector):
    def __init__(self, declared: SourceDeclaration) -> None:
        self._path = str(declared.options["path"])
        self._most = declared.limit("max_payloads_per_trigger")

    def available(self) -> int:
        found = _select(self._path, "SELECT max(id) FROM payloads") if self._exists else [(0,)]
        return int(found[0][0] or 0)

    def admit(self, log: TakenEntries, available: int) -> Entry | None:
        after = self._taken(log)
        if available <= after:
            return None
        upto = available if self._most is None else min(available, after + max(1, self._most))
        return {"after": after, "upto": upto}

    def whole(self, available: int) -> Entry:
        return {"after": 0, "upto": available}

    def split(self, entry: Entry, tasks: int) -> list[Share]:
        first, last = entry["after"], entry["upto"]
        cuts = [*range(first, last, _AT_ONCE), last]
        ranges = [Ids(self._path, *cut) for cut in pairwise(cuts)]
        each = -(-len(ranges) // tasks)
        starts = range(0, len(ranges), each) if ranges else ()
        places = range(len(ranges))
        return [Share(ranges[at : at + each], places[at : at + each]) for at in starts]

    def size(self, entry: Entry) -> int:
        if not self._exists:
            return 0
        sizes = "SELECT total(length(payload)) FROM payloads WHERE id > ? AND id <= ?"
        return int(_select(self._path, sizes, entry["after"], entry["upto"])[0][0])

    def version(self, available: int) -> str:
        return str(available)

    def lag(self, log: TakenEntries, available: int) -> Lag:
        return Lag(payloads=available - self._taken(log))

    @property
    def _exists(self) -> bool:
        return os.path.exists(self._path)

    def _taken(self, log: TakenEntries) -> int:
        last = log.last()
        return int(log.entry(last)["upto"]) if last >= 0 else 0


class SqliteReader:
    """Made in the workers, for the ranges of a share."""

    def __init__(self, decoding: Decoding) -> None:
        self._decoding = decoding

    def parts(self, read: Ids) -> Iterator[Part]:
        import pyarrow as pa

        if not os.path.exists(read.path):
            where = {"path": read.path, "id": read.after + 1}
            raise LostRangeError(read.key, where, "the database is gone", damaged=False)
        query = "SELECT id, payload FROM payloads WHERE id > ? AND id <= ? ORDER BY id"
        rows = _select(read.path, query, read.after, read.upto)
        found = Found(read.path, [row[0] for row in rows], [bytes(row[1]) for row in rows])
        decoder = self._decoding.decoder()
        decoded = decoder.decode_with_projection(found.payloads, self._decoding.projection)
        metadata = [pa.array(found.ids) for _ in self._decoding.metadata]  # there is but `_id`
        yield Part(decoded, sum(map(len, found.payloads)), found, metadata)


@dataclass(frozen=True)
class Found:
    """Payloads that were decoded together, for the letters of those that are bad."""

    path: str
    ids: Sequence[int]
    payloads: Sequence[bytes]

    def payload(self, number: int) -> bytes:
        return self.payloads[number]

    def position(self, number: int) -> dict[str, Any]:
        return {"path": self.path, "id": self.ids[number]}


# --- sink: tasks stage their rows, and publishing moves them, in one transaction ------------------


class SqliteSink(SinkConnector):
    def __init__(self, target: SinkTarget) -> None:
        self._target = target

    def open_task(self, batch: int, task: int) -> SqliteTask:
        return SqliteTask(self._target)

    def publish(self, batch: int, receipts: Sequence[Any]) -> None:
        pipeline = self._target.pipeline
        with closing(_opened(self._target.place)) as database, database:
            database.execute(
                "DELETE FROM written WHERE pipeline = ? AND batch = ?", (pipeline, batch)
            )
            for task in receipts:
                database.execute(
                    "INSERT INTO written SELECT ?, ?, row FROM staged WHERE task = ?",
                    (pipeline, batch, task),
                )
                database.execute("DELETE FROM staged WHERE task = ?", (task,))

    def discard(self, receipts: Sequence[Any]) -> None:
        with closing(_opened(self._target.place)) as database, database:
            for task in receipts:
                database.execute("DELETE FROM staged WHERE task = ?", (task,))

    def sweep(self) -> None:
        with closing(_opened(self._target.place)) as database, database:
            database.execute("DELETE FROM staged WHERE pipeline = ?", (self._target.pipeline,))


class SqliteTask:
    def __init__(self, target: SinkTarget) -> None:
        self._target = target
        self._task = uuid.uuid4().hex
        self._rows: list[str] = []

    def add(self, batch: pa.RecordBatch) -> None:
        named = {part.name: batch.column(part.column).to_pylist() for part in self._target.parts}
        for values in zip(*named.values(), strict=True):
            self._rows.append(json.dumps(dict(zip(named, values, strict=True)), default=str))

    def close(self) -> str:
        with closing(_opened(self._target.place)) as database, database:
            staged = [(self._target.pipeline, self._task, row) for row in self._rows]
            database.executemany("INSERT INTO staged VALUES (?, ?, ?)", staged)
        return self._task

    def discard(self) -> None:
        SqliteSink(self._target).discard([self._task])


def _opened(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=60)  # others write, too
    database.execute("CREATE TABLE IF NOT EXISTS written (pipeline TEXT, batch INT, row TEXT)")
    database.execute("CREATE TABLE IF NOT EXISTS staged (pipeline TEXT, task TEXT, row TEXT)")
    return database


def _select(path: str, query: str, *values: int) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path, timeout=60)) as database:
        return database.execute(query, values).fetchall()


# --- all of it, under the name that statements use ------------------------------------------------


PATH = OptionSpec("path", "the file of the database", required=True)

CONNECTOR = Connector(
    name="sqlite",
    delivers="messages",
    source_options=(
        PATH,
        OptionSpec(
            "max_payloads_per_trigger", "payloads that one micro-batch takes", type=int, least=1
        ),
    ),
    sink_options=(PATH,),
    metadata={"_id": BIGINT},
    identity=("path",),
    guarantee="exactly once",
    takes_rows=True,
    source=SqliteSource,
    reader=lambda declared, decoding: SqliteReader(decoding),
    sink=SqliteSink,
    place=lambda options, folder: os.path.abspath(str(options["path"])),
)
