"""What a catalog holds: sources (streams and tables), views, sinks and pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from narrows.catalog.options import LATENCY, LOW, STREAM_OPTIONS, TASKS
from narrows.catalog.statistics import TableStatistics
from narrows.expressions.function import Body, Function, Kind
from narrows.plugins.options import DEFAULT_FORMAT, Options, OptionSpec, OptionValue
from narrows.plugins.registry import CONNECTORS, FORMATS
from narrows.plugins.row_text import columns_of_list
from narrows.schema import TIMESTAMP, DataType, Field, Struct, joined
from narrows.secrets import without_passwords
from narrows.sql.parser.converted_types import Converted
from narrows.sql.parser.statements import ObjectKind, Query
from narrows.sql.scope import Name


@dataclass(frozen=True)
class TableProjection:
    """A narrow, sorted copy of a table as Parquet."""

    name: str
    table: str
    columns: tuple[str, ...]
    order_by: tuple[str, ...]
    path: str
    files: str
    """Which files of the table it is a copy of."""
    stale: bool = False
    """Whether the table has other files by now."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A stream, or a table when it is bounded."""

    name: str
    schema: Struct
    bounded: bool = False
    connector: str = "file"
    format: str = DEFAULT_FORMAT
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    statistics: TableStatistics | None = None
    """What ANALYZE TABLE counted."""
    projections: tuple[TableProjection, ...] = ()
    """Copies of the table that a query may read instead."""
    converted: Mapping[str, Converted] = field(default_factory=dict)
    """What Spark makes of columns that are read as texts, by their names."""

    def type_text(self, column: Field) -> str:
        """The type of a column, as it was declared."""
        made = self.converted.get(column.name)
        return column.type.sql() if made is None else made.type

    @cached_property
    def metadata(self) -> Struct:
        """The columns that come with its payloads. One that is declared goes before one of them:
        what is in a payload could not be had by any other name."""
        made = CONNECTORS.find(self.connector).metadata.items()
        return Struct(tuple(Field(n, dtype) for n, dtype in made if not self.schema.find(n)))

    @cached_property
    def row(self) -> Struct:
        """All columns that a query may name: those that are declared, then the metadata."""
        return joined(self.schema, self.metadata)

    @property
    def kind(self) -> ObjectKind:
        return ObjectKind.TABLE if self.bounded else ObjectKind.STREAM

    @property
    def shared(self) -> bool:
        return self.options.get("shared") is True

    @property
    def comes_as_frame(self) -> bool:
        """Does Spark read its payloads, and keep how far it has come?"""
        return not CONNECTORS.find(self.connector).has_entries

    @property
    def identity(self) -> str:
        """What it reads, as far as options say that."""
        names = CONNECTORS.find(self.connector).identity
        return ", ".join(without_passwords(str(self.options.get(name, ""))) for name in names)

    @property
    def is_fed(self) -> bool:
        """Is what a micro-batch of it reads an entry in our log? Of a shared stream it always is:
        its pipelines read what was decoded, entry by entry."""
        return not self.bounded and (self.shared or not self.comes_as_frame)

    @property
    def eventtime(self) -> str | None:
        """The column that says when a row happened, by its exact name."""
        column = self.options.get("eventtime")
        return column if isinstance(column, str) else None

    @property
    def eventtime_unit(self) -> str | None:
        """What an epoch in the event-time column counts; None where it is a TIMESTAMP."""
        if self.eventtime is None:
            return None
        dtype = self.row.fields[self.row.ordinal(self.eventtime)].type
        return None if dtype == TIMESTAMP else str(self.options.get("eventtime_unit", "ms"))

    @property
    def explained_options(self) -> dict[str, str]:
        """Options that change what is read, as they were given."""
        given = [spec.name for spec in self._option_specs if spec.explained]
        return {name: str(self.options[name]) for name in given if name in self.options}

    @property
    def entry_form(self) -> tuple[str, ...]:
        """The options that make its entries others than those of a stream without."""
        special = [spec.name for spec in self._option_specs if spec.of_entries]
        return tuple(name for name in special if name in self.options)

    @property
    def _option_specs(self) -> tuple[OptionSpec, ...]:
        return (*STREAM_OPTIONS, *(CONNECTORS.find(self.connector).source_options or ()))

    @property
    def watermark(self) -> str:
        """How late a row may come."""
        return str(self.options.get("watermark", "0 seconds"))


@dataclass(frozen=True, kw_only=True)
class Delta:
    """What a sink with `mode = 'delta'` says of its rows; columns as they were written."""

    key: tuple[str, ...]
    columns: tuple[str, ...]
    """Those that are compared; none: all that may be."""
    mask: str | None
    omit_if_empty: bool


@dataclass(frozen=True, kw_only=True)
class Sink:
    name: str
    connector: str
    format: str = DEFAULT_FORMAT
    options: Mapping[str, OptionValue] = field(default_factory=dict)

    @property
    def kind(self) -> ObjectKind:
        return ObjectKind.SINK

    @property
    def takes_rows(self) -> bool:
        """Are rows handed to it as they are, instead of payloads in some format?"""
        return CONNECTORS.find(self.connector).takes_rows

    @property
    def columns_in_options(self) -> dict[str, tuple[str, ...]]:
        """The columns of its rows that its options name, by option: it needs their values."""
        found = CONNECTORS.find(self.connector).columns_in(self.options)
        if self.takes_rows:
            return found
        return found | FORMATS.find(self.format).columns_in(self.options)

    @property
    def routing(self) -> tuple[str, ...]:
        """The columns that say where a row goes."""
        by_option = CONNECTORS.find(self.connector).columns_in(self.options)
        return tuple(name for names in by_option.values() for name in names)

    @property
    def delta(self) -> Delta | None:
        """How rows are compared, where only what has changed is written."""
        if self.options.get("mode") != "delta":
            return None
        given = {name: str(self.options.get(name, "")) for name in ("delta_key", "delta_columns")}
        return Delta(
            key=columns_of_list(given["delta_key"]),
            columns=columns_of_list(given["delta_columns"]),
            mask=str(self.options["delta_mask"]) if "delta_mask" in self.options else None,
            omit_if_empty=self.options.get("omit_if_empty") is True,
        )


@dataclass(frozen=True, kw_only=True)
class View:
    """A query by a name, planned wherever that stands in FROM."""

    name: str
    query: Query
    columns: tuple[Name, ...] = ()
    """Other names for the columns of the query; none: its own."""

    @property
    def kind(self) -> ObjectKind:
        return ObjectKind.VIEW


@dataclass(frozen=True, kw_only=True)
class SqlFunction:
    """An expression by a name, written out wherever it is called."""

    name: str
    parameters: Struct
    returns: DataType | None
    """What its value is cast to; None: its value is what the expression gives."""
    body: Query

    @property
    def kind(self) -> ObjectKind:
        return ObjectKind.FUNCTION

    @property
    def sql(self) -> str:
        """The expression."""
        return self.body.sql

    def called(self) -> Function:
        """The function, as the binder knows functions."""
        count, text = len(self.parameters), self.sql
        body = Body(lambda args: text, self.parameters, self.returns)
        return Function(self.name.lower(), Kind.SCALAR, count, count, body=body)


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    name: str
    sinks: tuple[str, ...]
    query: Query
    options: Options = field(default_factory=dict)
    """What its WITH clause says, checked; each where it stands, for who has to refuse it later."""

    @property
    def kind(self) -> ObjectKind:
        return ObjectKind.PIPELINE

    @property
    def wants_low_latency(self) -> bool:
        return LATENCY in self.options and self.options[LATENCY].value == LOW

    @property
    def tasks(self) -> int:
        """How many tasks it has, where they last as long as it runs."""
        given = self.options.get(TASKS)
        return 1 if given is None else int(str(given.value))
