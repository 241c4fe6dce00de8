"""How the laws for sources make data, read it as tasks do, and see what became of it."""

from __future__ import annotations

import json
import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from narrows import Catalog
from narrows.connectors.base import Available, SourceConnector, find_connector
from narrows.connectors.entry_log import Entry, EntryLog
from narrows.connectors.opening import open_source
from narrows.demand import ALL, Demand, fields
from narrows.plugins.options import OptionValue
from narrows.projection.columns import DecodeProjection
from narrows.schema import Field, Struct
from narrows.sql.parser.types import read_schema
from narrows.sql.scope import Name
from narrows.worker.count_files import total_counts
from narrows.worker.counts import ReadCounts
from narrows.worker.dead_letters import read_dead_letters
from narrows.worker.read import read_entry
from narrows.worker.read_spec import ReadSpec

COLUMNS = "n BIGINT, s STRING"
SCHEMA = read_schema(COLUMNS)
DECLARED = fields({"n": ALL, "s": ALL})
PARTITIONS = 3
_ORDER = "place"


class Limit(NamedTuple):
    """Options under which an entry has so many payloads at most, when each is put by itself."""

    options: Mapping[str, OptionValue]
    payloads: int


class SourceCase(ABC):
    """A source that the laws are held against; it is made anew for every test."""

    connector: str
    format = "json"
    limit: Limit
    tight: Mapping[str, OptionValue] | None = None
    """Options under which even the first payload is too much. It must be taken some day."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def kept(self) -> Path:
        """Where its connector may keep things, for all who read it."""
        return self.folder / "kept"

    @property
    @abstractmethod
    def options(self) -> Mapping[str, OptionValue]:
        """How a statement declares the source, but for connector and format."""

    @abstractmethod
    def put(self, payloads: Sequence[bytes]) -> None:
        """Adds payloads, behind all that are there."""

    def payload_at(self, position: Mapping[str, Any]) -> bytes:
        """What stands where a dead letter says that it was found."""
        raise NotImplementedError

    def metadata_at(self, position: Mapping[str, Any]) -> dict[str, Any]:
        """All metadata of the payload that stands at a position."""
        raise NotImplementedError

    def lose(self) -> int:
        """Takes away what was put; how many letters tell of it."""
        raise NotImplementedError

    def declared(self, more: Mapping[str, OptionValue]) -> Mapping[str, OptionValue]:
        """All options, with defaults: as a statement would have them."""
        given = {"connector": self.connector, **self.options, **more}
        if find_connector(self.connector).source_format is None:
            given["format"] = self.format
        texts = [f"{name} = {_literal(value)}" for name, value in given.items()]
        catalog = Catalog()
        catalog.execute(f"CREATE STREAM s ({COLUMNS}) WITH ({', '.join(texts)})")
        return catalog.find_source(Name("s", None)).options


def _literal(value: OptionValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


@dataclass
class Reading:
    """A pipeline that reads the source: what it takes, and what becomes of that."""

    case: SourceCase
    name: str = "p"
    more: Mapping[str, OptionValue] | None = None
    """Options beside those of the case."""
    demand: Demand = DECLARED

    def __post_init__(self) -> None:
        self.folder = self.case.folder / "state" / self.name
        self._dead_letters = self.case.folder / "state" / "dead letters"  # of all who read it
        projection = DecodeProjection(SCHEMA, self.demand, metadata=metadata_of(self.case))
        options = self.case.declared(self.more or {})
        self.spec = ReadSpec(
            source="s",
            connector=self.case.connector,
            format=self.case.format,
            projection=projection,
            names=tuple(column.text for column in projection.columns),
            options=options,
            on_error=str(options.get("on_error", "dead_letter")),
            dead_letters=str(self._dead_letters),
            statistics=str(self.folder / "counts"),
            entry_log=str(self.folder / "log"),
            folder=str(self.case.kept),
            partitions=PARTITIONS,
            order=_ORDER,
        )
        self.restart()

    def restart(self) -> None:
        """What was in memory is gone."""
        self.source: SourceConnector = open_source(self.spec.connector, self.spec.declared)
        self.log = EntryLog(self.folder / "log")

    # --- taking -----------------------------------------------------------------------------------

    def admit(self, available: Available = None) -> Entry | None:
        """Takes one entry; None if there is nothing new."""
        seen = self.source.available() if available is None else available
        entry = self.source.admit(self.log, seen)
        return None if entry is None else self.log.entry(self.log.append(entry))

    def drain(self, *, restarting: bool = False) -> list[Entry]:
        """Takes what is there, entry by entry."""
        taken = []
        while (entry := self.admit()) is not None:
            taken.append(entry)
            assert len(taken) < 10_000, "it takes on and on"
            if restarting:
                self.restart()
        return taken

    # --- reading ----------------------------------------------------------------------------------

    def rows(self, entry: Entry, number: int = 0, tasks: int = PARTITIONS) -> list[dict[str, Any]]:
        """The rows of an entry, in their order. As in a pipeline: the driver says how many tasks
        there are, each finds its share in the entry that it reads from the log."""
        carried = json.loads(json.dumps(entry))
        shared_out = max(1, len(self.source.split(entry, tasks)))
        spec: ReadSpec = pickle.loads(pickle.dumps(self.spec))
        batches = [
            batch
            for task in range(shared_out)
            for batch in read_entry(spec, carried, number, task, shared_out)
        ]
        rows = pa.Table.from_batches(batches).to_pylist() if batches else []
        ordered = sorted(rows, key=lambda row: (row[_ORDER]["batch"], row[_ORDER]["row"]))
        places = [tuple(row.pop(_ORDER).values()) for row in ordered]
        assert len(set(places)) == len(places), "two rows have one place"
        return ordered

    def all_rows(self) -> list[dict[str, Any]]:
        """The rows of all entries of the log, in their order."""
        return [row for n, entry in self.numbered() for row in self.rows(entry, n)]

    def numbered(self) -> Iterator[tuple[int, Entry]]:
        return ((number, self.log.entry(number)) for number in range(self.log.last() + 1))

    # --- looking ----------------------------------------------------------------------------------

    @property
    def letters(self) -> list[dict[str, Any]]:
        return list(read_dead_letters(self._dead_letters))

    @property
    def counts(self) -> ReadCounts:
        return total_counts(self.folder / "counts")

    def on_error(self, value: str) -> None:
        self.spec = replace(self.spec, on_error=value)


def metadata_of(case: SourceCase) -> Struct:
    declared = find_connector(case.connector).metadata
    return Struct(tuple(Field(name, dtype) for name, dtype in declared.items()))


def document(n: int) -> bytes:
    return json.dumps({"n": n, "s": f"text {n}"}).encode()


def row(n: int) -> dict[str, Any]:
    return {"n": n, "s": f"text {n}"}
