"""Which values of a join's key can find a partner: what a reader tests rows by.

    lineitem.l_suppkey in supplier.s_suppkey where supplier.s_nationkey in nation.n_nationkey

The values are those of another reader's leaf, which are asked for before this one reads. Of that
one, too, rows may not matter, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass

from narrows.expressions.nodes import Expr
from narrows.expressions.text import expression_text


@dataclass(frozen=True)
class Keys:
    """The values of a leaf, of the rows that pass the reader's tests and these."""

    of: Expr
    relation: int
    """The reader, by its relation."""
    filters: tuple[JoinFilter, ...] = ()

    def __str__(self) -> str:
        where = f" where {' and '.join(map(str, self.filters))}" if self.filters else ""
        return f"{expression_text(self.of)}{where}"


@dataclass(frozen=True)
class JoinFilter:
    """Keeps rows whose leaf has one of these values; more than those may be kept."""

    tested: Expr
    keys: Keys

    def __str__(self) -> str:
        return f"{expression_text(self.tested)} in {self.keys}"
