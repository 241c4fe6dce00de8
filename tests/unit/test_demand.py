"""What demands are, by example. The laws they obey are in `property/test_demand_laws.py`."""

from __future__ import annotations

import pytest

from narrows.demand import (
    ALL,
    LENGTH,
    NOTHING,
    PRESENCE,
    Demand,
    Depth,
    coarsen,
    conform,
    count_demanded_leaves,
    fields,
    items,
    keys,
    prune,
)
from narrows.sql.parser.types import read_schema

X = fields({"x": ALL})
Y = fields({"y": ALL})
XY = fields({"x": ALL, "y": ALL})


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        # `b->c` beside `b->d`, beside `b`, beside `b IS NULL`
        (fields({"c": ALL}), fields({"d": ALL}), fields({"c": ALL, "d": ALL})),
        (fields({"c": ALL}), ALL, ALL),
        (fields({"c": ALL}), PRESENCE, fields({"c": ALL}, presence=True)),
        # `items[0]->x` beside `items[3]->x`, and beside all of `items[0]`
        (items({0: X}), items({3: X}), items({0: X, 3: X})),
        (items({0: X}), items({0: ALL}), items({0: ALL})),
        # each index keeps its own shape
        (items({0: X}), items({1: XY}), items({0: X, 1: XY})),
        # `items[i]->x` may be any element, so it takes in `items[0]->x`, but not `items[0]->y`
        (items(rest=X), items({0: X}), items(rest=X)),
        (items(rest=X), items({0: Y}), items({0: XY}, rest=X)),
        # `size(items)` beside `items[0]->x`, beside `items[i]->x` (which sees every element)
        (LENGTH, items({0: X}), items({0: X}, length=True)),
        (LENGTH, items(rest=X), items(rest=X)),
        # a list that is asked for NULL is asked for its length
        (PRESENCE, LENGTH, LENGTH),
        (PRESENCE, items({0: X}), items({0: X}, length=True)),
        # maps go by key
        (keys({"k": X}), keys({"k": Y, "l": X}), keys({"k": XY, "l": X})),
        # a value cannot be both a struct and a list: to be safe, all of it
        (fields({"c": ALL}), items({0: ALL}), ALL),
        (items({0: ALL}), keys({"k": ALL}), ALL),
    ],
)
def test_union(first: Demand, second: Demand, both: Demand) -> None:
    """What two queries need together; and that covers what each needs."""
    assert first | second == second | first == both
    assert both.covers(first)
    assert both.covers(second)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (fields({"c": ALL}), PRESENCE),  # `b->c` is NULL when `b` is, and when only `c` is
        (items({0: ALL}), LENGTH),
        (items({0: X}, length=True), items({1: X})),
        (items({0: ALL, 1: ALL}), items(rest=X)),
        (LENGTH, items({0: X})),
        (fields({"c": ALL, "d": ALL}, presence=True), ALL),  # until it meets a type: see `conform`
    ],
)
def test_does_not_cover(wide: Demand, narrow: Demand) -> None:
    """What a demand does not imply: presence of its struct, length of its list, other places."""
    assert not wide.covers(narrow)


@pytest.mark.parametrize(
    ("demand", "canonical"),
    [
        (fields({}), NOTHING),
        (fields({"c": NOTHING}, presence=True), PRESENCE),
        (items({0: NOTHING}), NOTHING),
        (items({}, length=True), LENGTH),
        (items({0: X}, rest=X), items(rest=X)),
        (items({0: Y}, rest=X), items({0: XY}, rest=X)),
        (items(rest=X), items(rest=X, length=True)),
        (keys({"k": NOTHING}, rest=X), keys(rest=X)),
    ],
)
def test_there_is_one_way_to_say_it(demand: Demand, canonical: Demand) -> None:
    assert demand == canonical


SCHEMA = read_schema(
    "a BIGINT, b STRUCT<c: BIGINT, items: ARRAY<STRUCT<x: BIGINT, y: STRING>>>,"
    " m MAP<STRING, STRUCT<x: BIGINT, y: STRING>>"
)
DEMAND = fields(
    {"a": PRESENCE, "b": fields({"items": items({0: X, 3: X})}), "m": keys({"k": Y}, length=True)}
)


def test_conform() -> None:
    """A scalar's presence is its value; a struct of which all is known is known as a whole."""
    assert conform(PRESENCE, SCHEMA.fields[0].type) is ALL
    assert conform(PRESENCE, SCHEMA.fields[1].type) is PRESENCE
    assert conform(fields({"c": ALL, "items": ALL}, presence=True), SCHEMA.fields[1].type) is ALL
    parts = fields({"c": ALL, "items": ALL})
    assert conform(parts, SCHEMA.fields[1].type) == parts


def test_prune() -> None:
    """The type that is left, and how many of its 6 leaves."""
    left = prune(SCHEMA, conform(DEMAND, SCHEMA))
    assert left == read_schema(
        "a BIGINT, b STRUCT<items: ARRAY<STRUCT<x: BIGINT>>>, m MAP<STRING, STRUCT<y: STRING>>"
    )
    assert count_demanded_leaves(SCHEMA, conform(DEMAND, SCHEMA)) == 3
    assert prune(SCHEMA, fields({"b": PRESENCE})) == read_schema("b STRUCT<>")
    assert prune(SCHEMA, fields({"m": LENGTH})).sql() == "STRUCT<m: MAP<STRING, VOID>>"
    assert count_demanded_leaves(SCHEMA, fields({"b": PRESENCE, "m": LENGTH})) == 0


def test_coarsen() -> None:
    """One demand at the three depths that the pruning rules look at it."""
    row = fields({"b": fields({"c": ALL, "items": items({0: X})})})
    assert coarsen(row, Depth.COLUMN) == fields({"b": ALL})
    assert coarsen(row, Depth.STRUCT) == fields({"b": fields({"c": ALL, "items": ALL})})
    assert coarsen(row, Depth.ELEMENT) == row
    assert coarsen(NOTHING, Depth.COLUMN) is NOTHING
