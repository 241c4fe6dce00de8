"""What a reader must know: made by the planner on the driver, carried to the workers.

Nobody tells a reader which columns a query uses but the planner, which says it here: which flat
columns to decode, which rows to keep, what to ship.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from narrows.connectors.base import SourceDeclaration
from narrows.projection.columns import DecodeProjection
from narrows.projection.partial_aggregation import PartialAggregation
from narrows.projection.predicate import Predicate
from narrows.projection.row_limit import RowLimit
from narrows.projection.values import Value
from narrows.schema import DataType
from narrows.worker.event_time import EventTime
from narrows.worker.input_end import InputEnd

if TYPE_CHECKING:  # else every worker would load the SQL parser
    from narrows.plugins.options import OptionValue
    from narrows.worker.keys.handed_rows import HandsOn
    from narrows.worker.table_keys import TableKeys

ROWS_ONLY = "rows"
"""The name of the column that stands for rows when no column of theirs is needed."""


class ComputedColumn(NamedTuple):
    name: str
    value: Value
    dtype: DataType


class KeyValues(NamedTuple):
    """Where the values of a join's key come from."""

    asked: str | TableKeys
    """A query, in Spark's words: Spark runs it, and tells tasks what to read and the answer. Or, in
    a stream, what tasks read by themselves."""
    handed: HandsOn | None = None
    """What the answer is, if it is rows and no lists of values; then those are in this place."""
    place: int = 0


class KeyTest(NamedTuple):
    """Rows are kept whose column has one of the values that another table gives."""

    place: int
    values: KeyValues


class Gathered(Enum):
    """What a task ships in place of its rows, by the name of its column."""

    KEYS = "keys"
    """A list of the values of the first column, each once."""
    ROWS = "rows"
    """All of them in one value, behind the task's number (`worker/keys/handed_rows.py`)."""


@dataclass(frozen=True)
class ReadSpec:
    source: str
    connector: str
    format: str
    projection: DecodeProjection
    names: tuple[str, ...]
    """Names of the shipped columns in the data frame."""
    fragments: tuple[str, ...] = ()
    """Names of the encoded fragments in the data frame; they stand behind the columns."""
    takes_null_payloads: bool = False
    """Are payloads that are NULL rows? Where metadata is all that a query asks for."""
    predicate: Predicate | None = None
    skipping: Predicate | None = None
    """As much of the predicate as can be told from the payload alone, on the columns of that."""
    gathers: Gathered | None = None
    hands_on: HandsOn | None = None
    """Others test by keys of its rows. Then what they ask for are the rows, and who asks for the
    rows gets them from there, if they are few."""
    kept: float = 1.0
    """The share of rows that pass all tests, about."""
    keys: tuple[KeyTest, ...] = ()
    """Which columns are tested by values that are not known before the query runs."""
    computed: tuple[ComputedColumn, ...] | None = None
    """What is made of a row; then these columns are shipped, in place of those that have names."""
    partial: PartialAggregation | None = None
    """What is made of the rows in the task; then its columns are shipped, and no others."""
    limit: RowLimit | None = None
    """How many rows a task ships at most, and which."""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    bounded: bool = False
    pipeline: str | None = None
    on_error: str = "dead_letter"
    dead_letters: str | None = None
    """The folder of this source's dead letters."""
    statistics: str | None = None
    """The folder where readers leave what they counted."""
    entry_log: str | None = None
    """The folder of the log of what a stream has taken."""
    folder: str | None = None
    """Where sources of its connector may keep things."""
    partitions: int = 1
    event_time: EventTime | None = None
    end: InputEnd | None = None
    """How readers say the end of the input of a bounded run; None where nobody waits for it."""
    place: int | None = None
    """Its place among the streams that a pipeline reads; None where that is the only one, and where
    each has batches of its own."""
    newest: str | None = None
    """The folder where tasks leave the newest event time that they have read; None where nobody
    asks for it."""
    order: str | None = None
    """The name of a hidden column that holds each row's place in the source; None for no such."""

    @property
    def declared(self) -> SourceDeclaration:
        """The source, as its connector knows it."""
        return SourceDeclaration(
            self.source,
            self.format,
            self.options,
            self.bounded,
            self.pipeline,
            # What the log of entries is called in the state folder, wherever that is.
            None if self.entry_log is None else "/".join(Path(self.entry_log).parts[-3:]),
            self.projection.schema,
            self.folder,
        )

    @property
    def on_missing(self) -> str:
        """What becomes of what is gone when its turn comes: `dead_letter`, `fail`."""
        return str(self.options.get("on_missing", "dead_letter"))

    @property
    def max_dead_letters(self) -> int | None:
        """How many dead letters of the source are kept; None: all."""
        return self.declared.limit("max_dead_letters")
