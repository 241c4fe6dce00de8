"""Which values of a join's key can find a partner: what a reader tests rows by.

    lineitem.l_suppkey in supplier.s_suppkey where supplier.s_nationkey in nation.n_nationkey

The values are those of another reader's leaf, which are asked for before this one reads. Of that
one, too, rows may not matter, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from narrows.expressions.nodes import Expr
from narrows.expressions.text import expression_text
from narrows.optimizer.estimates import Estimates


@dataclass(frozen=True)
class Keys:
    """The values of a leaf, of the rows that pass the reader's tests and these; or of a column of a
    subquery."""

    of: Expr
    relation: int
    """The reader, or the subquery, by its relation."""
    filters: tuple[JoinFilter, ...] = ()
    share: float = field(default=1.0, compare=False)
    """How many of all values these are, about."""

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


def kept_share(tests: Sequence[Expr], filters: Sequence[JoinFilter], estimates: Estimates) -> float:
    """The share of a reader's rows that passes its tests and these filters, about."""
    return estimates.kept(tests) * prod(made.keys.share for made in filters)
