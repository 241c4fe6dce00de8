"""What a catalog does not have itself, and whoever runs queries does: views and tables of a Spark
session, and the functions that were registered there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from narrows.catalog.objects import Source
from narrows.expressions.function import Function
from narrows.schema import Struct
from narrows.sql.scope import Name


@dataclass(frozen=True)
class ElsewhereTable:
    """A table that somebody else reads."""

    name: str
    schema: Struct
    text: str
    """How SQL text names it."""
    path: tuple[str, ...] = ()
    """Its whole name, by parts: `spark_catalog.shop.orders`."""
    hidden: int = 0
    """How many columns, the last ones, are known by name only: Spark's `_metadata`."""


class Elsewhere(Protocol):
    """Where a catalog looks for names that nobody declared."""

    def table(self, parts: Sequence[Name]) -> Source | ElsewhereTable | None: ...

    def function(self, name: str) -> Function | None: ...
