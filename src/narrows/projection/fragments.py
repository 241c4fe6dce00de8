"""Fragments: fields of a row that the reader encodes, because nobody computes with them.

A select list of plain columns says nothing but where bytes go. So the columns are not shipped; the
reader writes them as the sink's format has them, and they cross Spark as one opaque value:

    SELECT a, b->c AS c, upper(d), e          sink format json
    fragments   ,"a":1,"c":"x"      ,"e":true
    the row     {"a":1,"c":"x","upper(d)":"D","e":true}

Every field starts with its separator, so fragments and computed fields can be strung together in
any order, also where some are left out (`omit_null_columns`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.schema import DataType

if TYPE_CHECKING:
    from narrows.projection.columns import Path

OptionItems = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class FragmentField:
    """A value of the source, and what it is called in the output."""

    path: Path
    name: str
    dtype: DataType


@dataclass(frozen=True)
class Fragment:
    """Fields that stand next to each other in the output, encoded together."""

    format: str
    options: OptionItems
    """Of the sink, as far as they change what a field looks like."""
    fields: tuple[FragmentField, ...]
