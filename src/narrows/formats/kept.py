"""What a decoder has derived from the last few projections: programs, which cost time to make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from narrows.projection.columns import DecodeProjection

Derived = TypeVar("Derived")

_KEPT = 8


class Kept(Generic[Derived]):
    def __init__(self, derive: Callable[[DecodeProjection], Derived]) -> None:
        self._derive = derive
        self._kept: list[tuple[DecodeProjection, Derived]] = []
        """The most recent one first."""

    def of(self, projection: DecodeProjection) -> Derived:
        place, derived = self._find(projection)
        if place is not None:
            del self._kept[place]
        # Under the object that was asked for: comparing two of 15 000 columns takes a while.
        self._kept.insert(0, (projection, derived))
        del self._kept[_KEPT:]
        return derived

    def _find(self, projection: DecodeProjection) -> tuple[int | None, Derived]:
        for place, (known, derived) in enumerate(self._kept):
            if known is projection or known == projection:
                return place, derived
        return None, self._derive(projection)
