"""What a planner can ask about what sources have now, beside what `ANALYZE TABLE` has counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from narrows.catalog.objects import Source
from narrows.expressions.nodes import Expr
from narrows.sql.scope import Relation


@dataclass(frozen=True)
class Measured:
    """Without a session nobody has looked, and nothing is known."""

    size: Callable[[Source], int | None] = lambda source: None
    """Bytes of payload, about."""
    repeats: Callable[[Source, Relation, Sequence[Expr]], float | None] = (
        lambda source, relation, keys: None
    )
    """How many rows of a source, known as this relation, have the same keys, on average."""


NOTHING_MEASURED = Measured()
