"""The rendering grammar of EXPLAIN, line by line: DESIGN 9 and the docstring of `demand_text`."""

from __future__ import annotations

import pytest

from narrows.demand import ALL, LENGTH, NOTHING, PRESENCE, Demand, fields, items, keys
from narrows.demand_text import cut_list, row_parts, row_text, type_text
from narrows.schema import BIGINT, STRING, Array, DataType, Decimal, Field, Map, Struct
from narrows.sql.parser.types import read_schema

SCHEMA = read_schema(
    "a BIGINT,"
    " b STRUCT<c: BIGINT, d: STRING>,"
    " items ARRAY<STRUCT<x: BIGINT, y: STRING>>,"
    " nums ARRAY<BIGINT>,"
    " lists ARRAY<ARRAY<STRUCT<x: BIGINT, y: STRING>>>,"
    " m MAP<STRING, STRUCT<x: BIGINT, y: STRING>>,"
    " n MAP<BIGINT, STRING>,"
    " deep STRUCT<items: ARRAY<STRUCT<m: MAP<STRING, ARRAY<BIGINT>>, s: STRUCT<t: BIGINT>>>>,"
    " maps ARRAY<MAP<STRING, BIGINT>>"
)
X = fields({"x": ALL})
XY = fields({"x": ALL, "y": ALL})


@pytest.mark.parametrize(
    ("column", "demand", "text"),
    [
        # scalars and structs
        ("a", ALL, "a"),
        ("b", ALL, "b{c, d}"),
        ("b", fields({"c": ALL}), "b{c}"),
        ("b", fields({"d": ALL, "c": ALL}), "b{c, d}"),
        ("b", PRESENCE, "b?"),
        ("b", fields({"c": ALL}, presence=True), "b?{c}"),
        # lists
        ("items", ALL, "items[struct{x, y}]"),
        ("items", items({3: X, 0: X}), "items[0,3][struct{x}]"),
        ("items", items({10: X, 9: X}), "items[9,10][struct{x}]"),
        ("items", items(rest=X), "items[*][struct{x}]"),
        ("items", items(rest=ALL), "items[*][struct{x, y}]"),
        ("items", LENGTH, "items[#]"),
        ("items", PRESENCE, "items?"),
        ("items", items({0: X}, length=True), "items[#,0][struct{x}]"),
        ("items", items({0: PRESENCE}), "items[0][struct?]"),
        ("items", items({0: fields({"x": ALL}, presence=True)}), "items[0][struct?{x}]"),
        # indices of different shapes: ascending, equal shapes share one bracket
        ("items", items({0: X, 1: XY}), "items[0][struct{x}],[1][struct{x, y}]"),
        ("items", items({0: X, 1: XY, 2: X}), "items[0,2][struct{x}],[1][struct{x, y}]"),
        ("items", items({2: XY, 5: X}, length=True), "items[#,2][struct{x, y}],[5][struct{x}]"),
        ("items", items({1: ALL}, rest=X), "items[1][struct{x, y}],[*][struct{x}]"),
        # lists of scalars, of lists, of maps
        ("nums", ALL, "nums"),
        ("nums", items({2: ALL}), "nums[2]"),
        ("nums", items({2: ALL, 4: ALL}, length=True), "nums[#,2,4]"),
        ("nums", items(rest=ALL), "nums[*]"),
        ("nums", LENGTH, "nums[#]"),
        ("lists", ALL, "lists[list[struct{x, y}]]"),
        ("lists", items({0: items({1: X})}), "lists[0][list[1][struct{x}]]"),
        ("lists", items(rest=LENGTH), "lists[*][list[#]]"),
        ("maps", ALL, "maps[map]"),
        ("maps", items({0: keys({"k": ALL})}), "maps[0][map{'k'}]"),
        # maps
        ("m", ALL, "m{*{x, y}}"),
        ("m", keys({"k": X}), "m{'k'{x}}"),
        ("m", keys({"k": X, "j": ALL}), "m{'j'{x, y}, 'k'{x}}"),
        ("m", keys(rest=X), "m{*{x}}"),
        ("m", keys({"k": XY}, rest=X), "m{'k'{x, y}, *{x}}"),
        ("m", LENGTH, "m{#}"),
        ("m", PRESENCE, "m?"),
        ("m", keys({"k": X}, length=True), "m{#, 'k'{x}}"),
        ("m", keys({"k": PRESENCE}), "m{'k'?}"),
        ("n", ALL, "n"),
        ("n", keys({7: ALL}), "n{7}"),
        ("n", keys({10: ALL, 9: ALL}), "n{9, 10}"),
        ("n", keys(rest=ALL), "n{*}"),
        # all of it together
        (
            "deep",
            fields({"items": items({0: fields({"m": keys({"k": items({1: ALL})})})})}),
            "deep{items[0][struct{m{'k'[1]}}]}",
        ),
        (
            "deep",
            fields({"items": items(rest=fields({"s": fields({"t": ALL}), "m": LENGTH}))}),
            "deep{items[*][struct{m{#}, s{t}}]}",
        ),
    ],
)
def test_grammar(column: str, demand: Demand, text: str) -> None:
    assert row_text(fields({column: demand}), SCHEMA) == f"[{text}]"


def test_columns_stand_in_the_order_of_the_schema() -> None:
    row = fields({"nums": ALL, "b": fields({"c": ALL}), "a": ALL})
    assert list(row_parts(row, SCHEMA)) == ["a", "b{c}", "nums"]
    assert row_text(ALL, SCHEMA).startswith("[a, b{c, d}, items[struct{x, y}], nums, ")
    assert row_text(NOTHING, SCHEMA) == "[]"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain", "plain"),
        ("odd name", "`odd name`"),
        ("a,b", "`a,b`"),
        ("b{c}", "`b{c}`"),
        ("a[0]", "`a[0]`"),
        ("b?", "`b?`"),
        ("a`, `b", "`a``, ``b`"),
        ("", "``"),
    ],
)
def test_odd_names_are_quoted(name: str, text: str) -> None:
    """A name that looks like grammar would make the text mean something else."""
    inside = Struct((Field(name, BIGINT),))
    schema = Struct((Field(name, BIGINT), Field("s", inside)))
    assert row_text(ALL, schema) == f"[{text}, s{{{text}}}]"


@pytest.mark.parametrize(("key", "text"), [("it's", '"it\'s"'), ("a, b", "'a, b'"), ("", "''")])
def test_keys_are_quoted(key: str, text: str) -> None:
    assert row_text(fields({"m": keys({key: X})}), SCHEMA) == f"[m{{{text}{{x}}}}]"


def test_wide_rows_are_cut() -> None:
    """Ten names and a count say more than 15 000 names."""
    schema = Struct(tuple(Field(f"c{number}", BIGINT) for number in range(15_000)))
    shown = ", ".join(f"c{number}" for number in range(10))
    assert row_text(ALL, schema) == f"[{shown}, ... 14 990 more]"
    wide = Struct((Field("s", schema),))
    assert row_text(ALL, wide) == f"[s{{{shown}, ... 14 990 more}}]"
    some = fields({f"c{number}": ALL for number in range(0, 15_000, 15)})
    assert row_text(some, schema).endswith("c120, c135, ... 990 more]")


def test_only_very_wide_lists_are_cut() -> None:
    assert cut_list([], ", ") == ""
    assert cut_list(["a"] * 40, "; ") == "; ".join(["a"] * 40)
    assert cut_list(["a"] * 41, "; ") == "; ".join(["a"] * 10) + "; ... 31 more"


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        (BIGINT, "BIGINT"),
        (Decimal(10, 2), "DECIMAL(10,2)"),
        (Struct((Field("c", BIGINT), Field("d", STRING))), "struct{c, d}"),
        (Array(Struct((Field("x", BIGINT),))), "list[struct{x}]"),
        (Array(BIGINT), "list"),
        (Map(STRING, BIGINT), "map"),
        (Map(STRING, Struct((Field("x", BIGINT),))), "map{*{x}}"),
    ],
)
def test_types_in_messages(dtype: DataType, text: str) -> None:
    assert type_text(dtype) == text
