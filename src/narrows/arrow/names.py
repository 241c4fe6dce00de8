"""Which column of a file is meant by a declared one."""

from __future__ import annotations

from collections.abc import Sequence

from narrows.schema import Struct


def places_by_name(found: Sequence[str], declared: Struct) -> dict[str, int]:
    """Where the declared names stand among those that were found: as they are spelt, else in
    another case, if nobody else is called that. Of a name that repeats the first is meant.
    """
    left = {name: place for place, name in reversed(list(enumerate(found)))}
    places = {name: left.pop(name) for name in declared.names if name in left}
    folded = {name.casefold(): place for name, place in left.items()}
    for name in declared.names:
        if name not in places and name.casefold() in folded:
            places[name] = folded.pop(name.casefold())
    return places
