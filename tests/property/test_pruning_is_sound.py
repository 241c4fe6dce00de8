"""Pruning never changes an answer: whatever a plan does not demand may be anything.

How queries are held to that is in `support/pruning.py`; `tools/random_queries.py` tries a million.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import narrows
from narrows.catalog.objects import Source
from narrows.demand import ALL, Demand, conform, fields
from narrows.expressions.function import whole
from narrows.expressions.nodes import Call, walk
from narrows.functions import builtin_functions
from narrows.functions.looks import whole_generator
from narrows.functions.operators import OPERATORS
from narrows.logical.nodes import DecodedSource, Node
from narrows.logical.walk import topological
from narrows.plugins.declared import ConnectorSpec
from narrows.plugins.registry import CONNECTORS
from narrows.schema import Struct
from narrows.sql.parser.types import read_schema
from support.kernels import KERNELS, MakeDecoder
from support.pruning import catalog_of, check, check_many, check_several
from support.queries import SOURCE, write_query
from support.reference import Document, cut_row
from support.strategies import KEY, make_schema, make_value, paths, schemas

CARRIER = "carrier"


@contextmanager
def catalog_with_metadata(schema: Struct) -> Iterator[tuple[narrows.Catalog, Struct]]:
    """A stream of which every second column comes with the payloads; and all of its columns."""
    with_payload = [column for column in schema.fields[1::2] if column.name != KEY.name]
    declared = Struct(tuple(column for column in schema if column not in with_payload))
    metadata = {f"_{column.name}": column.type for column in with_payload}
    spec = ConnectorSpec(name=CARRIER, source_options=(), metadata=metadata)
    with patch.object(CONNECTORS, "_loaded", {**CONNECTORS._loaded, CARRIER: spec}):
        catalog, source = narrows.Catalog(), Source(name=SOURCE, schema=declared, connector=CARRIER)
        catalog.add_source(source)
        yield catalog, source.row


seeds = st.integers(0, 2**64 - 1)


@settings(max_examples=150)
@given(seeds)
def test_queries_cannot_tell_what_was_pruned(seed: int) -> None:
    """SELECT and WHERE, with every kind of access, conditional, constructor and lambda."""
    check_several(seed, relational=False)


@settings(max_examples=100)
@given(seeds)
def test_relational_queries_cannot_tell_what_was_pruned(seed: int) -> None:
    """Joins, LATERAL VIEW, GROUP BY, DISTINCT and functions that remember earlier rows."""
    check_several(seed, relational=True)


@settings(max_examples=100)
@given(seeds, st.booleans())
def test_queries_that_name_metadata_cannot_tell_what_was_pruned(
    seed: int, relational: bool
) -> None:
    choose = Random(seed).choice
    with catalog_with_metadata(make_schema(choose)) as (catalog, row):
        rows = [make_value(row, choose) or {} for _ in range(6)]
        pairs = list(zip(rows, reversed(rows), strict=True))
        for _ in range(6):
            check(write_query(row, choose, relational), row, pairs, catalog)


@pytest.mark.parametrize("make", KERNELS)
@pytest.mark.parametrize("seed", range(15))
def test_queries_cannot_tell_what_was_not_decoded(make: MakeDecoder, seed: int) -> None:
    check_many(seed, queries=10, rows=10, decoders=[make()])


def test_random_queries_call_every_function_that_looks_at_less() -> None:
    """Whoever gives a function a look of its own teaches it to `queries.py` and `reference.py`."""
    called: set[str] = set()
    for seed in range(60):
        choose = Random(seed).choice
        schema = make_schema(choose)
        catalog = catalog_of(schema)
        for relational in (False, True) * 5:
            plan = narrows.plan(write_query(schema, choose, relational), catalog)
            for node in topological(plan.bound):
                parts = [part for expr in node.expressions for part in walk(expr)]
                called.update(part.function.name for part in parts if isinstance(part, Call))
    special = {
        function.name
        for function in (*builtin_functions(), *OPERATORS)
        if function.look is not whole or function.generator is not None
        if function.generator is None or function.generator.look is not whole_generator
    }
    assert special - called == {"shuffle"}  # gives another answer each time


@settings(max_examples=100)
@given(seeds)
def test_each_rule_only_narrows(seed: int) -> None:
    """Three depths of the same demand: what a rule leaves out, no later rule brings back."""
    choose = Random(seed).choice
    schema = make_schema(choose)
    plan = narrows.plan(write_query(schema, choose), catalog_of(schema))
    before = fields(dict.fromkeys(schema.names, ALL))  # and of the metadata nothing
    for rule in plan.rule_runs:
        if rule.plan is None:
            continue
        after = decode_projection(rule.plan)
        assert before.covers(after)
        before = after
    assert before == decode_projection(plan.logical) == decode_projection(plan.physical)


@settings(max_examples=150)
@given(st.data())
def test_constant_paths_demand_no_more_than_themselves(data: st.DataObject) -> None:
    """In any spelling, alone and side by side: the demand is the union of the paths."""
    schema = data.draw(schemas())
    chosen = data.draw(st.lists(paths(schema), min_size=1, max_size=3))
    sql = f"SELECT {', '.join(path.text for path in chosen)} FROM {SOURCE}"
    plan = narrows.plan(sql, catalog_of(schema))
    expected = fields({})
    for path in chosen:
        expected |= path.demand(ALL)
    expected = conform(expected, schema)
    assert decode_projection(plan.logical) == expected


def decode_projection(plan: Node) -> Demand:
    (source,) = [node for node in topological(plan) if isinstance(node, DecodedSource)]
    return source.decode_projection


# --- examples that went wrong once, or nearly ---------------------------------------------------

SCHEMA = read_schema(
    "a BIGINT, b STRUCT<c: BIGINT, items: ARRAY<STRUCT<x: BIGINT, y: STRING>>>,"
    " list ARRAY<BIGINT>, m MAP<STRING, STRUCT<x: BIGINT>>, n MAP<BIGINT, STRING>"
)
ROWS: list[Document] = [
    {},
    {"a": 1, "b": {}, "list": [], "m": {}, "n": {}},
    {"a": 0, "b": {"items": []}, "list": [None], "m": {"k": None}, "n": {1: None}},
    {"a": 0, "b": {"items": [None, {}]}, "list": [4], "m": {"k": {}}, "n": {1: "p", 2: "q"}},
    {"b": {"c": 2, "items": [{"x": 3, "y": "u"}, {"x": 5}]}, "list": [7, 8, None, 9]},
    {"a": 2, "b": {"items": [{"y": "v"}]}, "m": {"k": {"x": 6}, "1": {"x": 8}, "l": None}},
]
PAIRS = [(row, other) for row in ROWS for other in ROWS]


@pytest.mark.parametrize(
    ("sql", "schema"),
    [
        # What a lambda makes of an element may be there although the element holds nothing.
        ("SELECT transform(b->items, e -> 1)[0]", "[b{items[#]}]"),
        ("SELECT transform(b->items, e -> coalesce(e->x, 0))[0]", "[b{items[#,0][struct{x}]}]"),
        ("SELECT transform(b->items, e -> e->x IS NULL)[1]", "[b{items[#,1][struct{x}]}]"),
        ("SELECT transform(b->items, e -> e->x)[0]", None),
        ("SELECT b.items.x[0]", None),
        ("SELECT transform(list, (e, i) -> i)[0]", "[list[#]]"),
        # Names that SQL knows as words.
        ("SELECT list[0]", "[list[0]]"),
        ("SELECT s.list[a]", "[a, list[*]]"),
        ("SELECT array(a, list[0])[1]", "[list[0]]"),
        # Two parameters.
        ("SELECT transform(b->items, (e, i) -> e->x + i)", "[b{items[*][struct{x}]}]"),
        ("SELECT filter(b->items, (e, i) -> i > 0)[0]->x", "[b{items[*][struct{x}]}]"),
        # A parameter hides a column, and a parameter of a lambda around it.
        ("SELECT transform(list, a -> a + 1)", "[list[*]]"),
        ("SELECT transform(b->items, b -> transform(list, b -> b + 1))", "[b{items[#]}, list[*]]"),
        # Presence asked for through a function that hands its argument on.
        ("SELECT coalesce(b, b)->c IS NULL", "[b?{c}]"),
        ("SELECT (CASE WHEN a > 0 THEN b END) IS NULL", "[a, b?]"),
        ("SELECT size(coalesce(b->items, b->items))", "[b{items[#]}]"),
        ("SELECT named_struct('f', b->items, 'g', a).f[0].x", "[b{items[0][struct{x}]}]"),
        ("SELECT named_struct('f', b) IS NULL", "[]"),
        ("SELECT m['k']->x, m IS NULL", "[m{#, 'k'{x}}]"),
        # The keys of a map are no part of their own: they stay while an entry is looked at.
        ("SELECT size(map_filter(m, (k, v) -> k = 'k'))", "[m{*?}]"),
        ("SELECT map_keys(m)", "[m{*?}]"),
        ("SELECT map_contains_key(n, 1)", "[n{*}]"),
        ("SELECT list[-1]", "[]"),
        ("SELECT list[1 + 1]", "[list[2]]"),
        ("SELECT count(b->items) FROM s", "[b{items?}]"),
    ],
)
def test_examples(sql: str, schema: str | None) -> None:
    """Small queries with their demand; `None` where the exact demand is not the point."""
    query = sql if " FROM " in sql else f"{sql} FROM {SOURCE}"
    plan = check(query, SCHEMA, PAIRS)
    if schema is not None:
        assert f"schema={schema}" in plan.explain("logical")


@pytest.mark.parametrize(
    ("sql", "key"),
    [("SELECT m[1]->x", "1"), ("SELECT n['1']", 1), ("SELECT n[1 + 0]", 1)],
)
def test_a_key_of_another_type_is_looked_up_as_the_maps_own(sql: str, key: str | int) -> None:
    """Spark casts the key to the type of the map's keys, so the demand must name it as such."""
    plan = narrows.plan(f"{sql} FROM {SOURCE}", catalog_of(SCHEMA))
    demand = decode_projection(plan.logical)
    full: Document = {"m": {"1": {"x": 8}}, "n": {1: "p"}}
    column = sql.split()[1][0]
    assert key in (cut_row(full, demand).get(column) or {})


def test_list_and_map_can_be_compared() -> None:
    """`list` and `map` are types only where a type may stand."""
    schema = read_schema("list BIGINT, map BIGINT")
    rows: list[Document] = [{"list": 1, "map": 3}, {}]
    check(f"SELECT list < 2, map < 2 FROM {SOURCE}", schema, [(rows[0], rows[1])])


def test_group_by_matches_a_field_of_every_element() -> None:
    """`items.x` is a lambda under the hood, and is the same expression wherever it is written."""
    check(f"SELECT b.items.x, count(*) FROM {SOURCE} GROUP BY b.items.x", SCHEMA, PAIRS)
