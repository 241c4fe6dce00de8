"""Hypothesis strategies: types, documents, demands and paths. Queries are in `queries.py`.

Types are small and values come from small domains, so that paths meet data and indices hit. Names
are such as users have: some need backticks, some are words that SQL knows (`list`, `map`, `value`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from hypothesis import strategies as st

from narrows.demand import (
    ALL,
    LENGTH,
    NOTHING,
    PRESENCE,
    Demand,
    conform,
    fields,
    items,
    keys,
)
from narrows.schema import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    Array,
    DataType,
    Field,
    Map,
    Struct,
    quoted,
)

Draw = st.DrawFn
Choose = Callable[[Sequence[Any]], Any]
"""Takes one of several: drawn by Hypothesis, which shrinks, or by a `Random`, which is fast."""

NAMES = (
    *("a", "b", "c", "x", "y", "items", "A"),
    *("list", "map", "value"),  # words that SQL knows
    *("odd name", "dot.ted", "t`k"),  # names that need backticks
)
VALUES: dict[DataType, tuple[Any, ...]] = {
    BIGINT: tuple(range(-2, 7)),
    INT: (0, 1, -1, 3),
    STRING: ("k", "a", "", "it's"),
    BOOLEAN: (False, True),
    DOUBLE: (0.0, 1.5, -2.0),
}
KEYS: dict[DataType, tuple[Any, ...]] = {STRING: ("k", "a", "it's"), BIGINT: (0, 1, 7)}


# --- types and values -----------------------------------------------------------------------------


@st.composite
def types(draw: Draw, depth: int = 3) -> DataType:
    """Types nested at most this deep."""
    return make_type(lambda choices: draw(st.sampled_from(choices)), depth)


def make_type(choose: Choose, depth: int) -> DataType:
    """Two of three types are nested, where they may be."""
    kinds = ("scalar", "struct", "list") * 3 + ("scalar", "map", "map")
    match choose(kinds) if depth > 0 else "scalar":
        case "struct":
            return make_struct(choose, depth)
        case "list":
            return Array(make_type(choose, depth - 1))
        case "map":
            return Map(choose(tuple(KEYS)), make_type(choose, depth - 1))
        case _:
            return choose(tuple(VALUES))  # type: ignore[no-any-return]


def make_struct(choose: Choose, depth: int, names: Sequence[str] = NAMES, most: int = 3) -> Struct:
    chosen = dict.fromkeys(choose(names) for _ in range(choose(range(1, most + 1))))
    return Struct(tuple(Field(name, make_type(choose, depth - 1)) for name in chosen))


INDEX = Field("i", BIGINT)
KEY = Field("k", STRING)


@st.composite
def schemas(draw: Draw) -> Struct:
    """Rows: a few random columns, one to use as an index and one to use as a key."""
    return make_schema(lambda choices: draw(st.sampled_from(choices)))


def make_schema(choose: Choose) -> Struct:
    return Struct((INDEX, *make_struct(choose, depth=4, most=4), KEY))


def make_value(dtype: DataType, choose: Choose) -> Any:
    """A value of a type as plain Python: NULL anywhere, keys of structs missing."""
    if choose(range(8)) == 0:
        return None
    match dtype:
        case Struct(members):
            present = [member for member in members if choose(range(8))]
            return {member.name: make_value(member.type, choose) for member in present}
        case Array(element):
            return [make_value(element, choose) for _ in range(choose(range(6)))]
        case Map(key_type, value):
            known = [key for key in KEYS[key_type] if choose((False, True))]
            return {key: make_value(value, choose) for key in known}
        case _:
            return choose(VALUES[dtype])


@st.composite
def values(draw: Draw, dtype: DataType) -> Any:
    """A value of a type, or NULL."""
    return make_value(dtype, lambda choices: draw(st.sampled_from(choices)))


def documents(schema: Struct) -> st.SearchStrategy[dict[str, Any]]:
    """A row of a schema."""
    return values(schema).map(lambda row: row or {})


# --- demands --------------------------------------------------------------------------------------

_NAMED = (NOTHING, PRESENCE, LENGTH, ALL)


def _elements(
    make: Callable[..., Demand], places: Sequence[Any], inner: st.SearchStrategy[Demand]
) -> st.SearchStrategy[Demand]:
    parts = st.dictionaries(st.sampled_from(places), inner, max_size=3)
    rest = st.one_of(st.just(NOTHING), inner)
    return st.builds(make, parts, rest=rest, length=st.booleans())


def _extended(inner: st.SearchStrategy[Demand]) -> st.SearchStrategy[Demand]:
    members = st.dictionaries(st.sampled_from("cde"), inner, max_size=3)
    return st.one_of(
        st.builds(fields, members, presence=st.booleans()),
        _elements(items, (0, 1, 4), inner),
        _elements(keys, ("k", "l", 1), inner),
    )


@cache
def demands() -> st.SearchStrategy[Demand]:
    """Any demand, also such as contradict each other."""
    return st.recursive(st.sampled_from(_NAMED), _extended, max_leaves=8)


@st.composite
def loose_demands(draw: Draw, dtype: DataType, astray: bool = True) -> Demand:
    """A demand on a type; if `astray`, here and there one that values of the type cannot meet."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(_NAMED)) if astray else draw(st.sampled_from((NOTHING, ALL)))
    if astray and draw(st.integers(0, 15)) == 0:
        wrong = Map(STRING, BIGINT) if isinstance(dtype, Array) else Array(BIGINT)
        return draw(loose_demands(wrong))
    match dtype:
        case Struct(members):
            chosen = [member for member in members if draw(st.booleans())]
            parts = {f.name: draw(loose_demands(f.type, astray)) for f in chosen}
            return fields(parts, presence=draw(st.booleans()))
        case Array(element):
            return draw(_elements(items, (0, 1, 4), loose_demands(element, astray)))
        case Map(key, value):
            return draw(_elements(keys, KEYS[key], loose_demands(value, astray)))
        case _:
            return draw(st.sampled_from((NOTHING, ALL)))


def demands_on(dtype: DataType) -> st.SearchStrategy[Demand]:
    """A demand that values of this type can meet."""
    return loose_demands(dtype, astray=False).map(lambda demand: conform(demand, dtype))


# --- paths: constant access, with the demand that it is ------------------------------------------


class Path(NamedTuple):
    """A chain of constant accesses in some spelling, its type, and what it demands of the row."""

    text: str
    dtype: DataType
    demand: Callable[[Demand], Demand]


@st.composite
def paths(draw: Draw, schema: Struct) -> Path:
    """`b->items[0]->x` and the like, in any spelling."""

    def choose(choices: Sequence[Any]) -> Any:
        return draw(st.sampled_from(choices))

    column = choose(schema.fields)
    text = spelled(choose, column.name, schema)
    path = Path(text, column.type, lambda wanted: fields({column.name: wanted}))
    for _ in range(choose(range(5))):
        path = _longer(path, choose)
    return path


def _longer(path: Path, choose: Choose) -> Path:
    text, dtype, demand = path
    if choose(range(4)) == 3:
        text = f"({text})"
    match dtype:
        case Struct(members):
            name, inner = (member := choose(members)).name, member.type
            text = f"{text}{choose(('->', '.', ' -> '))}{spelled(choose, name, dtype)}"
            return Path(text, inner, lambda wanted: demand(fields({name: wanted})))
        case Array(element):
            index = choose(range(6))
            return Path(f"{text}[{index}]", element, lambda w: demand(items({index: w})))
        case Map(key_type, value):
            key = choose(KEYS[key_type])
            return Path(f"{text}[{literal(key)}]", value, lambda w: demand(keys({key: w})))
        case _:
            return path


def literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "\\'") + "'"


def spelled(choose: Choose, name: str, among: Struct) -> str:
    """A name as a user may write it: in backticks where it needs them, in another case."""
    same = [field for field in among if field.name.casefold() == name.casefold()]
    if len(same) == 1 and choose(range(6)) == 5:
        name = name.upper()
    if choose(range(6)) == 5:
        return "`" + name.replace("`", "``") + "`"
    return quoted(name)
