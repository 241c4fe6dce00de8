"""A projection out of the columns of a wider one.

A shared stream decodes for the union of its pipelines; what one of them wants may be there in
another shape: `items[0].x` beside a pipeline that uses `items` as a whole is a leaf of a built
list, and whether `items` is there can be told from its length.

    union's columns                    wanted                  how
    a                                  a                       as it is
    b, a struct                        b.c                     a part of the built value
    items, a list of structs {x, y}    items[0].x, items.#     the first elements; the lengths
    items.#                            items.?                 is there a length?
    b, a struct of {c, d}              b, a struct of {c}      built anew

Whatever a demand covers can be made in this way. A wanted value is a built one only where every
demand that covers it is built too, at the same place or above it; so there is always a union's
column at the path or at a prefix of it, and never a value to be put together from parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from narrows.arrow.nested import Projector
from narrows.errors import InternalError
from narrows.projection.columns import Aspect, DecodeProjection, FlatColumn, Path


class Extraction:
    """How to make the wanted columns from the union's; compiled once, applied batch by batch."""

    def __init__(self, union: DecodeProjection, wanted: DecodeProjection) -> None:
        self._wanted = wanted
        self._serving = [_serving(union, column) for column in wanted.columns]
        self.needs: list[int] = sorted(set(self._serving))
        """The places of the union's columns that are looked at."""
        self._union = [union.columns[place] for place in self.needs]
        self._places = {place: rank for rank, place in enumerate(self.needs)}

    def apply(self, columns: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        """The wanted columns from those that are needed, in the order of `needs`."""
        projector: _BuiltValues | None = None
        made = []
        for wanted, place in zip(self._wanted.columns, self._serving, strict=True):
            rank = self._places[place]
            held, array = self._union[rank], columns[rank]
            if (held.path, held.aspect, held.demand) == (wanted.path, wanted.aspect, wanted.demand):
                made.append(array)
            elif held.aspect is Aspect.LENGTH:
                # A presence; a length would have been the same column.
                made.append(array if wanted.aspect is Aspect.LENGTH else array.is_valid())
            else:
                if projector is None:
                    projector = _BuiltValues(self._wanted, self._union, columns, rows)
                made.append(projector.column(wanted))
        return made


def _serving(union: DecodeProjection, wanted: FlatColumn) -> int:
    """The place of the union's column that holds what is wanted."""
    aspects = {
        Aspect.VALUE: (Aspect.VALUE,),
        Aspect.LENGTH: (Aspect.LENGTH, Aspect.VALUE),
        Aspect.PRESENCE: (Aspect.PRESENCE, Aspect.LENGTH, Aspect.VALUE),
    }
    for aspect in aspects[wanted.aspect]:
        place = union.by_place.get((wanted.path, aspect))
        if place is not None:
            return place
    for depth in range(len(wanted.path) - 1, 0, -1):
        place = union.by_place.get((wanted.path[:depth], Aspect.VALUE))
        if place is not None:
            return place
    raise InternalError(f"`{wanted.text}` is wanted of a projection that does not cover it")


class _BuiltValues(Projector):
    """Finds what is wanted inside of values that are built already."""

    def __init__(
        self,
        wanted: DecodeProjection,
        held: Sequence[FlatColumn],
        columns: Sequence[pa.Array],
        rows: int,
    ) -> None:
        super().__init__(pa.RecordBatch.from_arrays([], names=[]), wanted, "a shared stream")
        self._rows = rows
        found: dict[Path, pa.Array | None] = {
            column.path: array
            for column, array in zip(held, columns, strict=True)
            if column.aspect is Aspect.VALUE
        }
        self._found = found

    def column(self, wanted: FlatColumn) -> pa.Array:
        return self._column(wanted)
