"""A demand as JSON and back, for what is kept on disk: the registry and the log of shared streams.

    ALL                       "all"             (and "nothing", "presence", "length")
    Fields{x: ALL}            {"fields": {"x": "all"}, "presence": false}
    Items{0: ALL; rest}       {"items": [[0, "all"]], "rest": "nothing", "length": false}
    Keys{'k': ALL; rest}      {"keys": [["k", "all"]], "rest": "nothing", "length": false}

Places are pairs, not members of an object, because a map's keys may be numbers.
"""

from __future__ import annotations

from typing import Any

from narrows.demand import (
    ALL,
    LENGTH,
    NOTHING,
    PRESENCE,
    Demand,
    Fields,
    Items,
    Keys,
    fields,
    items,
    keys,
)
from narrows.errors import InternalError

_NAMES: dict[str, Demand] = {
    "nothing": NOTHING,
    "presence": PRESENCE,
    "length": LENGTH,
    "all": ALL,
}
_TEXTS = {demand: text for text, demand in _NAMES.items()}


def demand_to_json(demand: Demand) -> Any:
    match demand:
        case Fields(parts, presence):
            members = {name: demand_to_json(part) for name, part in parts.items()}
            return {"fields": members, "presence": presence}
        case Items(parts, rest, length) | Keys(parts, rest, length):
            pairs = [[place, demand_to_json(part)] for place, part in parts.items()]
            kind = "items" if isinstance(demand, Items) else "keys"
            return {kind: pairs, "rest": demand_to_json(rest), "length": length}
        case _:
            return _TEXTS[demand]


def demand_from_json(value: Any) -> Demand:
    match value:
        case str() if value in _NAMES:
            return _NAMES[value]
        case {"fields": dict(members), "presence": bool(presence)}:
            return fields({n: demand_from_json(part) for n, part in members.items()}, presence)
        case {"items": list(pairs), "rest": rest, "length": bool(length)}:
            return items(_parts(pairs), demand_from_json(rest), length)
        case {"keys": list(pairs), "rest": rest, "length": bool(length)}:
            return keys(_parts(pairs), demand_from_json(rest), length)
        case _:
            raise InternalError(f"no demand: {value!r}")


def _parts(pairs: list[Any]) -> dict[Any, Demand]:
    return {place: demand_from_json(part) for place, part in pairs}
