"""What a record encoder is, which ones there are, and what each can do.

An encoder writes rows as the bytes of one format. The planner asks for its capabilities here, so
this module must not load Arrow; an encoder itself is made where rows are written, in the workers.

Formats of third parties come by entry points: see `narrows.formats.plugins`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Protocol

from narrows.formats.plugins import load_plugins
from narrows.projection.fragments import Fragment
from narrows.schema import Struct, is_nested

if TYPE_CHECKING:
    import pyarrow as pa

OptionMap = Mapping[str, object]


@dataclass(frozen=True)
class Values:
    """A column of rows that are to be encoded."""

    name: str
    array: pa.Array


@dataclass(frozen=True)
class Encoded:
    """Fields of rows that a reader has encoded already; NULL where an outer join made the row."""

    fragment: Fragment
    array: pa.Array


Rows = Sequence[Values | Encoded]
"""Rows by columns, in the order of the select list. An encoder that does not support by-index
projection never sees `Encoded`."""


class PayloadWriter(Protocol):
    """One payload that is being written."""

    def add(self, rows: Rows) -> None:
        """Writes rows. Raises ValueError before any of them is written if one cannot be."""

    def close(self) -> None:
        """Writes what a payload ends with. The file is not closed."""


class Encoder(Protocol):
    """Encodes one format under given options."""

    def open(self, file: IO[bytes]) -> PayloadWriter:
        """Starts a payload."""

    def fragment(self, fragment: Fragment, columns: Sequence[pa.Array]) -> pa.Array:
        """Encodes some fields of rows, to be spliced into the row by `PayloadWriter.add`.

        Only asked of encoders that support by-index projection.
        """


@dataclass(frozen=True)
class EncoderSpec:
    """An encoder as the planner sees it."""

    format: str
    make: Callable[[OptionMap], Encoder]
    suffix: str
    """How the names of its files end."""
    supports_by_index_projection: bool = False
    """Can it splice fields that a reader has encoded?"""
    supports_streaming: bool = False
    """Can it write a payload row by row, before the last row is known?"""
    field_options: tuple[str, ...] = ()
    """The options of a sink that change what a field looks like."""
    check_outputs: Callable[[Struct], str | None] = lambda outputs: None
    """Why it cannot write such columns; None if it can."""


def _from(module: str) -> Callable[[OptionMap], Encoder]:
    def make(options: OptionMap) -> Encoder:
        made: Encoder = importlib.import_module(module).make(options)
        return made

    return make


def _flat(outputs: Struct) -> str | None:
    nested = [field.name for field in outputs if is_nested(field.type)]
    return f"csv has no nested values, and `{nested[0]}` is one" if nested else None


_ENCODERS: dict[str, EncoderSpec] = {}


def register_encoder(spec: EncoderSpec) -> None:
    _ENCODERS[spec.format] = spec


def encoder_spec(format: str) -> EncoderSpec:
    if format not in _ENCODERS:
        load_plugins()
    return _ENCODERS[format]


for _spec in (
    EncoderSpec(
        "json",
        _from("narrows.formats.json.encoder"),
        ".json",
        supports_by_index_projection=True,
        supports_streaming=True,
        field_options=("omit_null_columns",),
    ),
    EncoderSpec(
        "csv",
        _from("narrows.formats.csv.encoder"),
        ".csv",
        supports_by_index_projection=True,
        supports_streaming=True,
        field_options=("delimiter",),
        check_outputs=_flat,
    ),
    # A row group is laid out column by column: all its rows must be there before the first byte.
    EncoderSpec("parquet", _from("narrows.formats.parquet.encoder"), ".parquet"),
):
    register_encoder(_spec)
