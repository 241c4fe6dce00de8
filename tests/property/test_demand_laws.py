"""Demands form a join semilattice, and mean what `support.reference` says they mean."""

from __future__ import annotations

import copy
import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.demand import (
    ALL,
    LENGTH,
    NOTHING,
    PRESENCE,
    Demand,
    Depth,
    Fields,
    Items,
    Keys,
    coarsen,
    conform,
    count_demanded_leaves,
    fields,
    items,
    keys,
    prune,
    union_all,
)
from narrows.demand_text import row_text
from narrows.schema import VOID, Array, DataType, Map, Struct, count_leaves
from support.reference import cut, graft
from support.strategies import Draw, demands, demands_on, loose_demands, schemas, types, values

laws = settings(max_examples=150)


# --- union and covers -----------------------------------------------------------------------------


@laws
@given(demands(), demands())
def test_union_is_commutative(a: Demand, b: Demand) -> None:
    assert a | b == b | a


@laws
@given(demands(), demands(), demands())
def test_union_is_associative(a: Demand, b: Demand, c: Demand) -> None:
    assert (a | b) | c == a | (b | c)


@laws
@given(demands())
def test_union_is_idempotent_between_bottom_and_top(a: Demand) -> None:
    assert a | a == a
    assert a | NOTHING == NOTHING | a == a
    assert a | ALL is ALL | a is ALL
    assert bool(a) == (a is not NOTHING)


@laws
@given(st.lists(demands(), max_size=5))
def test_union_of_many_is_union_of_two_repeated(several: list[Demand]) -> None:
    total: Demand = NOTHING
    for demand in several:
        total |= demand
    assert union_all(several) == union_all(reversed(several)) == total


@st.composite
def bounds(draw: Draw) -> tuple[Demand, Demand, Demand]:
    """Two demands and a third, which covers none, one or both of them."""
    a, b, c = draw(demands()), draw(demands()), draw(demands())
    return a, b, draw(st.sampled_from((c, a | c, b | c, a | b | c)))


@laws
@given(bounds())
def test_union_is_the_least_that_covers_both(case: tuple[Demand, Demand, Demand]) -> None:
    """It covers each, and whatever covers both covers it: nothing more is in it."""
    a, b, bound = case
    assert (a | b).covers(a)
    assert (a | b).covers(b)
    assert bound.covers(a | b) == (bound.covers(a) and bound.covers(b))


@laws
@given(bounds())
def test_covers_is_a_partial_order(case: tuple[Demand, Demand, Demand]) -> None:
    a, b, c = case
    assert a.covers(a)
    assert (a.covers(b) and b.covers(a)) == (a == b)
    assert not (c.covers(a) and a.covers(b)) or c.covers(b)
    assert a.covers(b) == (a | b == a)


@laws
@given(demands(), demands(), demands())
def test_union_is_monotone(a: Demand, more: Demand, c: Demand) -> None:
    assert (a | more | c).covers(a | c)


# --- canonical form -------------------------------------------------------------------------------


def is_canonical(demand: Demand) -> bool:
    """No part that says nothing, and no two ways to say the same."""
    match demand:
        case Fields(parts):
            return bool(parts) and all(p is not NOTHING and is_canonical(p) for p in parts.values())
        case Items(parts, rest, length) | Keys(parts, rest, length):
            return (
                (bool(parts) or rest is not NOTHING)
                and (length or rest is NOTHING)
                and all(p != rest and p.covers(rest) and is_canonical(p) for p in parts.values())
                and is_canonical(rest)
            )
        case _:
            return demand in (NOTHING, PRESENCE, LENGTH, ALL)


@laws
@given(demands(), demands())
def test_built_and_joined_demands_are_canonical(a: Demand, b: Demand) -> None:
    assert is_canonical(a)
    assert is_canonical(a | b)


@laws
@given(demands(), demands(), st.booleans())
def test_parts_that_say_nothing_new_do_not_count(a: Demand, rest: Demand, known: bool) -> None:
    """`Nothing` of a field, and of an element what is demanded of every element anyway."""
    assert fields({"c": a, "d": NOTHING}, known) == fields({"c": a}, known)
    for make in (items, keys):
        plain = make({0: a}, rest, known)
        assert make({0: a, 1: NOTHING}, rest, known) == plain
        assert make({0: a, 1: rest}, rest, known) == plain
        assert make({0: a | rest}, rest, known or bool(rest)) == plain


@laws
@given(demands(), demands(), demands())
def test_a_part_is_demanded_where_it_was_put(a: Demand, b: Demand, rest: Demand) -> None:
    """Union goes place by place, and an unknown place is every place."""
    x, y = items({0: a}, rest), items({0: b, 4: b})
    joined = x | y
    for place in range(6):
        assert _at(joined, place) == _at(x, place) | _at(y, place)
    assert fields({"c": a}) | fields({"c": b}) == fields({"c": a | b})


def _at(demand: Demand, place: int) -> Demand:
    return demand.at(place) if isinstance(demand, Items) else NOTHING


@laws
@given(demands())
def test_copies_keep_equality_and_identity(demand: Demand) -> None:
    """Spark workers unpickle demands, and `is NOTHING` must work there too."""
    for again in (pickle.loads(pickle.dumps(demand)), copy.deepcopy(demand), copy.copy(demand)):
        assert again == demand
        if demand in (NOTHING, PRESENCE, LENGTH, ALL):
            assert again is demand


# --- demands on a type ----------------------------------------------------------------------------


@st.composite
def types_and_demands(draw: Draw, astray: bool = False) -> tuple[DataType, Demand, Demand]:
    """A type and two demands on it; if `astray`, such as do not fit the type everywhere."""
    dtype = draw(types())
    strategy = loose_demands(dtype) if astray else demands_on(dtype)
    return dtype, draw(strategy), draw(strategy)


@laws
@given(types_and_demands(astray=True))
def test_conform_only_widens(case: tuple[DataType, Demand, Demand]) -> None:
    """It is a closure: above what went in, in order, and the same when applied again."""
    dtype, a, b = case
    conformed = conform(a, dtype)
    assert is_canonical(conformed)
    assert conformed.covers(a)
    assert conform(conformed, dtype) == conformed
    assert conform(a | b, dtype).covers(conformed)
    assert conform(conformed | conform(b, dtype), dtype) == conform(a | b, dtype)


@laws
@given(types())
def test_conform_keeps_the_ends(dtype: DataType) -> None:
    assert conform(NOTHING, dtype) is NOTHING
    assert conform(ALL, dtype) is ALL


@st.composite
def rows(draw: Draw) -> tuple[Struct, Demand, Demand]:
    """A schema and two demands on its rows. Rows are always there: nobody asks for presence."""
    schema = draw(schemas())
    several = [draw(demands_on(schema)) for _ in range(2)]
    a, b = (fields(d.parts) if isinstance(d, Fields) else NOTHING for d in several)
    return schema, a, b


@laws
@given(rows())
def test_a_rule_that_looks_less_deep_keeps_more(case: tuple[Struct, Demand, Demand]) -> None:
    schema, a, b = case
    column, struct, element = (coarsen(a, depth) for depth in Depth)
    assert column.covers(struct)
    assert struct.covers(element)
    assert element == a
    for depth in Depth:
        assert is_canonical(coarsen(a, depth))
        assert coarsen(a | b, depth).covers(coarsen(a, depth))
        assert coarsen(coarsen(a, depth), depth) == coarsen(a, depth)
        assert count_demanded_leaves(schema, coarsen(a, depth)) <= count_leaves(schema)


def leaves_left(dtype: DataType) -> int:
    """The leaves of a pruned type; elements that nobody looks at are VOID and do not count."""
    match dtype:
        case Struct(members):
            return sum(leaves_left(member.type) for member in members)
        case Array(element):
            return leaves_left(element)
        case Map(_, value):
            return leaves_left(value)
        case _:
            return int(dtype != VOID)


@laws
@given(types_and_demands())
def test_pruned_types_hold_the_demanded_leaves(case: tuple[DataType, Demand, Demand]) -> None:
    dtype, a, b = case
    demanded = count_demanded_leaves(dtype, a)
    assert demanded == leaves_left(prune(dtype, a))
    assert demanded <= count_demanded_leaves(dtype, a | b)
    assert count_demanded_leaves(dtype, a | b) <= demanded + count_demanded_leaves(dtype, b)
    assert prune(prune(dtype, a), a) == prune(dtype, a)
    assert prune(dtype, NOTHING) == VOID
    assert prune(dtype, ALL) == dtype
    assert count_demanded_leaves(dtype, NOTHING) == 0
    assert count_demanded_leaves(dtype, ALL) == count_leaves(dtype)


@laws
@given(rows())
def test_every_demand_on_a_row_can_be_shown(case: tuple[Struct, Demand, Demand]) -> None:
    schema, a, b = case
    for demand in (a, a | b, *(coarsen(a, depth) for depth in Depth)):
        assert row_text(demand, schema).startswith("[")


# --- what a demand means --------------------------------------------------------------------------


@st.composite
def demanded_values(draw: Draw) -> tuple[object, object, Demand, Demand]:
    """Two values of a type and two demands on them."""
    dtype, a, b = draw(types_and_demands())
    return draw(values(dtype)), draw(values(dtype)), a, b


@laws
@given(demanded_values())
def test_whoever_has_a_demand_can_answer_what_it_covers(
    case: tuple[object, object, Demand, Demand],
) -> None:
    """What is left for the union of two demands answers each of them as the whole value does."""
    value, other, a, b = case
    left = graft(value, other, a | b)
    assert cut(left, a) == cut(value, a)
    assert cut(left, b) == cut(value, b)
    assert cut(cut(value, a | b), a) == cut(value, a)
