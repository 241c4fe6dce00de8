"""How many rows a reader ships at most: `projection/row_limit.py`, in words of the plan."""

from __future__ import annotations

from dataclasses import dataclass

from narrows.expressions.nodes import SortKey
from narrows.expressions.text import sort_key_text


@dataclass(frozen=True)
class ReaderLimit:
    """So many rows of each task: the first in this order; without one, any."""

    count: int
    keys: tuple[SortKey, ...] = ()

    def __str__(self) -> str:
        by = f" by {', '.join(map(sort_key_text, self.keys))}" if self.keys else ""
        return f"{self.count}{by}"
