"""What is known of the sides of joins: how much they have, and what is left of it.

By this `JoinFilterIntoReader` chooses who tests by whose keys.
"""

from __future__ import annotations

from dataclasses import dataclass

from narrows.logical.nodes import Aggregation
from narrows.logical.relational_nodes import Subquery
from narrows.logical.walk import topological
from narrows.optimizer.estimates import Estimates, type_width
from narrows.physical.join_filters import JoinFilter
from narrows.physical.nodes import PhysicalReader

_SELECTIVE = 0.5
"""What must be dropped for it to be worth a look: half of the rows."""
_MUCH_SMALLER = 0.5
"""What reading the keys may cost, as a share of reading what is tested by them."""
_CHEAP = 4 << 20
"""Bytes that may be read once more whatever it is for."""
_WORTH_TESTING = 128 << 20
"""Bytes below which a reader ships what it has rather than wait."""
_MOST_KEYS = 1_000_000
_HANDED_ON = 12 << 20
"""Bytes of rows that are handed on rather than read once more: three quarters of what tasks may
hand on (`spark/compile/key_queries.py`)."""
_ENDLESS = 1e18
"""Bytes, and rows, of a stream."""
_TEXT_PER_BYTE = 2.0
"""Bytes of payload for a byte of a value, about."""


def shipped_width(reader: PhysicalReader) -> float:
    """Bytes of what is shipped of a row, as Arrow has it, about."""
    return sum(type_width(column.dtype) for column in reader.outputs)


def rows_of_files(reader: PhysicalReader, estimates: Estimates, size: int | None) -> float:
    """How many rows a reader has before any test: counted ones, or else by how large files are."""
    if size is None or reader.source.statistics is not None:
        return estimates.rows(reader)
    return size / max(_row_bytes(reader), 1.0)


def _row_bytes(reader: PhysicalReader) -> float:
    """Bytes of the payload of a row, about."""
    return type_width(reader.source.schema) * _TEXT_PER_BYTE


def mega(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


@dataclass(frozen=True)
class Side:
    """A reader, and what becomes of its rows; or a subquery that has some."""

    name: str
    relation: int
    rows: float
    bytes: float
    is_measured: bool
    is_filtered: bool
    """By tests of its own."""
    kept: float
    """The share of its rows that is left by what was decided so far."""
    tests: bool
    """Does it test by its filters itself?"""
    filters: tuple[JoinFilter, ...] = ()
    is_stream: bool = False
    width: float | None = None
    """Bytes of a row that is shipped; None where none is."""

    @staticmethod
    def of_stream(reader: PhysicalReader, estimates: Estimates) -> Side:
        """A reader in a pipeline, to which new rows come for ever."""
        kept = max(estimates.kept(reader.filter), 1e-9)
        name, filtered = str(reader.relation.name), bool(reader.filter)
        return Side(
            name, reader.relation.id, _ENDLESS, _ENDLESS, True, filtered, kept, True, is_stream=True
        )

    @staticmethod
    def of(reader: PhysicalReader, estimates: Estimates, size: int | None, *, runs: bool) -> Side:
        """A reader of a table; `runs` if that is joined with a stream, which tests for it."""
        rows = rows_of_files(reader, estimates, size)
        return Side(
            str(reader.relation.name),
            reader.relation.id,
            rows,
            rows * _row_bytes(reader) if size is None else float(size),
            size is not None,
            bool(reader.filter),
            estimates.kept(reader.filter),
            not runs and (size is None or size >= _WORTH_TESTING),
            width=None if runs or size is None else shipped_width(reader),
        )

    @staticmethod
    def of_groups(subquery: Subquery, estimates: Estimates) -> Side:
        """The groups that a subquery has chosen. Spark makes them once, for this and the join."""
        groups = next(n for n in topological(subquery.subplan) if isinstance(n, Aggregation))
        rows, chosen = estimates.rows(groups), estimates.rows(subquery.subplan)
        return Side(
            subquery.relation.schema.names[0],
            subquery.relation.id,
            rows,
            0.0,
            is_measured=True,
            is_filtered=True,
            kept=chosen / max(rows, 1.0),
            tests=False,
        )

    @property
    def givers(self) -> set[int]:
        return {made.keys.relation for made in self.filters}

    @property
    def hands_on(self) -> bool:
        """Are its rows so few that, once it is read for its keys, it need not be read again?"""
        if self.width is None or not (self.is_filtered or self.filters):
            return False
        if self.bytes <= _CHEAP:
            # Where its rows come from is a query inside of a query, and Spark plans each of them
            # anew wherever it is asked: that takes longer than reading so little again.
            return False
        return self.rows * self.kept * self.width <= _HANDED_ON

    @property
    def merit(self) -> tuple[float, int, float]:
        """What leaves least goes first; then what waits for nobody; then what is cheapest."""
        return self.kept, len(self.filters), self.bytes

    def why_not_give_keys_to(self, other: Side) -> str | None:
        """Why its keys are not worth asking for; None if they are."""
        if self.is_stream:
            return f"{self.name} is a stream, whose keys are never all there"
        if not self.is_filtered and self.givers <= other.givers:
            dropped = f"what {self.name} drops is dropped already"
            return dropped if self.givers else f"{self.name} has no filter"
        if self.kept > _SELECTIVE:
            return f"about {self.kept:.0%} of {self.name} is left"
        if self.rows * self.kept > _MOST_KEYS:
            return f"{self.name} may have {self.rows * self.kept:,.0f} keys"
        if other.is_stream and self.bytes > _CHEAP:
            return f"{self.name} has {mega(self.bytes)}, and each micro-batch would read them"
        if self.hands_on:
            return None
        if self.is_measured and other.is_measured:
            if self.bytes <= max(_CHEAP, _MUCH_SMALLER * other.bytes):
                return None
            return f"{self.name} has {mega(self.bytes)}, {other.name} {mega(other.bytes)}"
        if self.rows * self.kept <= _MUCH_SMALLER * other.rows * other.kept:
            return None
        return f"{self.name} has nearly as many rows as {other.name}, or more"
