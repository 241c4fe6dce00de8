"""What an encoder is: it writes rows as the bytes of one format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Protocol, runtime_checkable

from narrows.projection.fragments import Fragment

if TYPE_CHECKING:  # a format's declaration, which the planner loads, names these protocols
    import pyarrow as pa


@dataclass(frozen=True)
class Values:
    """A column of rows that are to be encoded."""

    name: str
    array: pa.Array
    changed: pa.Array | None = None
    """In which rows the value is to be written: a BOOLEAN for each; None: in all. Where it is not
    to be written it is NULL, so a format in which every row has all columns need not look."""


@dataclass(frozen=True)
class Encoded:
    """Fields of rows that a reader has encoded already; NULL where an outer join made the row."""

    fragment: Fragment
    array: pa.Array


RowColumns = Sequence[Values | Encoded]
"""Rows by columns, in the order of the select list. An encoder that does not support by-index
projection never sees `Encoded`."""


class PayloadWriter(Protocol):
    """One payload that is being written."""

    def add(self, rows: RowColumns) -> None:
        """Writes rows. Raises ValueError before any of them is written if one cannot be."""

    def close(self) -> None:
        """Writes what a payload ends with. The file is not closed."""


class Encoder(Protocol):
    """Encodes one format under given options."""

    def open(self, file: IO[bytes]) -> PayloadWriter:
        """Starts a payload."""


@runtime_checkable
class SplicingEncoder(Encoder, Protocol):
    """An encoder that supports by-index projection: it takes fields that are encoded already."""

    def fragment(self, fragment: Fragment, columns: Sequence[pa.Array]) -> pa.Array:
        """Encodes some fields of rows, to be spliced into the row by `PayloadWriter.add`."""


@runtime_checkable
class MessageEncoder(Encoder, Protocol):
    """An encoder that can make a payload of each row."""

    def messages(self, rows: RowColumns) -> pa.Array:
        """The payload of each row, as text or bytes. Raises ValueError if one cannot be made."""
