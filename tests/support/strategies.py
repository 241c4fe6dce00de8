"""Hypothesis strategies: schemas, documents, demands, and queries as SQL text.

Types are small and values come from small domains, so that paths meet data and indices hit. Names
are such as users have: some need backticks, some are words that SQL knows (`list`, `map`, `value`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
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
    VOID,
    Array,
    DataType,
    Field,
    Map,
    Struct,
    quoted,
)
from narrows.sql.functions import builtin_functions

Draw = Callable[[st.SearchStrategy[Any]], Any]

NAMES = (
    "a",
    "b",
    "c",
    "x",
    "y",
    "items",
    "list",
    "map",
    "value",
    "A",
    "odd name",
    "dot.ted",
    "t`k",
)
SCALAR_TYPES = (BIGINT, INT, STRING, BOOLEAN, DOUBLE)
KEYS: dict[DataType, tuple[Any, ...]] = {STRING: ("k", "a", "it's", ""), BIGINT: (0, 1, 7)}
VALUES: dict[DataType, st.SearchStrategy[Any]] = {
    BIGINT: st.integers(-2, 6),
    INT: st.integers(-1, 3),
    STRING: st.sampled_from(("k", "a", "", "it's")),
    BOOLEAN: st.booleans(),
    DOUBLE: st.sampled_from((0.0, 1.5, -2.0)),
}
CONSTANTS: dict[DataType, tuple[str, ...]] = {
    BIGINT: ("0", "1", "3"),
    INT: ("0", "1", "3"),
    STRING: ("'k'", "'a'", "''"),
    BOOLEAN: ("true", "false"),
}


# --- types and values -----------------------------------------------------------------------------


@cache
def types(depth: int = 3) -> st.SearchStrategy[DataType]:
    """Types nested at most this deep."""
    scalars: st.SearchStrategy[DataType] = st.sampled_from(SCALAR_TYPES)
    if depth == 0:
        return scalars
    inner = types(depth - 1)
    maps = st.builds(Map, st.sampled_from(tuple(KEYS)), inner)
    return st.one_of(scalars, structs(depth), st.builds(Array, inner), maps)


@st.composite
def structs(draw: Draw, depth: int = 3, max_size: int = 3) -> Struct:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=max_size, unique=True))
    return Struct(tuple(Field(name, draw(types(depth - 1))) for name in names))


INDEX = Field("i", BIGINT)
KEY = Field("k", STRING)


def schemas() -> st.SearchStrategy[Struct]:
    """Rows: a few random columns, one to use as an index and one to use as a key."""
    return structs(depth=4, max_size=4).map(lambda row: Struct((INDEX, *row.fields, KEY)))


@st.composite
def values(draw: Draw, dtype: DataType, nullable: bool = True) -> Any:
    """A value of a type as plain Python: NULL anywhere, keys of structs missing."""
    if nullable and draw(st.integers(0, 5)) == 0:
        return None
    match dtype:
        case Struct(members):
            present = [member for member in members if draw(st.integers(0, 7))]
            return {member.name: draw(values(member.type)) for member in present}
        case Array(element):
            return [draw(values(element)) for _ in range(draw(st.integers(0, 5)))]
        case Map(key, value):
            known = draw(st.lists(st.sampled_from(KEYS[key]), max_size=3, unique=True))
            return {name: draw(values(value)) for name in known}
        case _:
            return draw(VALUES[dtype])


def documents(schema: Struct) -> st.SearchStrategy[dict[str, Any]]:
    """A row of a schema."""
    return values(schema, nullable=False)


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
    column = draw(st.sampled_from(schema.fields))
    path = Path(
        _spelled(draw, column.name, schema),
        column.type,
        lambda wanted: fields({column.name: wanted}),
    )
    for _ in range(draw(st.integers(0, 4))):
        path = _longer(draw, path)
    return path


def _longer(draw: Draw, path: Path) -> Path:
    text, dtype, demand = path
    if draw(st.integers(0, 3)) == 0:
        text = f"({text})"
    match dtype:
        case Struct(members):
            member = draw(st.sampled_from(members))
            arrow = draw(st.sampled_from(("->", ".", " -> ")))
            name = member.name
            spelled = f"{text}{arrow}{_spelled(draw, name, dtype)}"
            return Path(spelled, member.type, lambda wanted: demand(fields({name: wanted})))
        case Array(element):
            index = draw(st.integers(0, 5))
            return Path(f"{text}[{index}]", element, lambda w: demand(items({index: w})))
        case Map(key_type, value):
            key = draw(st.sampled_from(KEYS[key_type]))
            spelled = f"{text}[{_literal(key)}]"
            return Path(spelled, value, lambda wanted: demand(keys({key: wanted})))
        case _:
            return path


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "\\'") + "'"


def _spelled(draw: Draw, name: str, among: Struct) -> str:
    """A name as a user may write it: in backticks where it needs them, in another case."""
    if draw(st.integers(0, 5)) == 0 and len(among.find(name.upper())) == 1:
        folded = [f for f in among if f.name.casefold() == name.casefold()]
        name = name.upper() if len(folded) == 1 else name
    if draw(st.integers(0, 5)) == 0:
        return "`" + name.replace("`", "``") + "`"
    return quoted(name)


# --- queries --------------------------------------------------------------------------------------


class Sql(NamedTuple):
    """An expression as text, and its type. `closed` means that `->x` may follow it as it is."""

    text: str
    dtype: DataType
    closed: bool = True

    @property
    def base(self) -> str:
        return self.text if self.closed else f"({self.text})"


@dataclass(frozen=True)
class Scope:
    """The names in sight. A lambda's parameter hides columns of its name."""

    columns: tuple[Sql, ...]
    variables: dict[str, DataType] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()

    def with_variables(self, new: dict[str, DataType]) -> Scope:
        hidden = self.hidden | set(new)
        seen = tuple(column for column in self.columns if column.text.casefold() not in hidden)
        return replace(self, columns=seen, variables={**self.variables, **new}, hidden=hidden)

    def roots(self) -> list[Sql]:
        return [*(Sql(name, dtype) for name, dtype in self.variables.items()), *self.columns]


Step = Callable[[Sql, Scope, int], Sql]


class Writer:
    """Writes random expressions that bind: every choice is drawn, every type is known."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def _one(self, choices: Sequence[Any]) -> Any:
        return self._draw(st.sampled_from(choices))

    def _chance(self, of: int) -> bool:
        return bool(self._draw(st.integers(0, of - 1)) == 0)

    # Every expression starts at a name. It is followed into the value, and wrapped on the way.

    def value(self, scope: Scope, depth: int) -> Sql:
        """An expression of any type."""
        value: Sql = self._one(scope.roots())
        for _ in range(self._one((0, 1, 2, 3, 4, 5))):
            if depth > 0 and self._chance(5):
                value = self._wrapped(value, scope, depth - 1)
            value = self._step(value, scope, depth - 1)
        return value

    def output(self, scope: Scope, depth: int) -> Sql:
        """An expression as it stands in a select list."""
        match self._one(("value", "value", "test", "scalar", "scalar")):
            case "value":
                return self.value(scope, depth)
            case "test":
                return self.test(scope, depth)
            case _:
                return self._scalar(self.value(scope, depth), scope, depth)

    def nested(self, scope: Scope, depth: int, kind: type[DataType]) -> Sql | None:
        """A value of a kind of type, if there is one close by."""
        value = self.value(scope, depth)
        if isinstance(value.dtype, kind):
            return value
        found = [path for path in _paths(scope) if isinstance(path.dtype, kind)]
        return self._one(found) if found else None

    def _scalar(self, value: Sql, scope: Scope, depth: int) -> Sql:
        """Something computed from a value."""
        options: list[Callable[[], Sql]] = []
        text, dtype = value.text, value.dtype
        if _has("to_json"):
            options.append(lambda: Sql(f"to_json({text})", STRING))
        match dtype:
            case Array() | Map():
                sizes = [name for name in ("size", "cardinality") if _has(name)]
                options.extend([lambda: Sql(f"{self._one(sizes)}({text})", INT)] * 2)
        if isinstance(dtype, Array) and _has("aggregate"):
            options.append(lambda: self._aggregate(value, scope, depth - 1))
        if dtype == STRING:
            options.append(lambda: Sql(f"upper({text})", STRING))
            options.append(lambda: Sql(f"{value.base} || 'z'", STRING, closed=False))
        if dtype in (BIGINT, INT):
            options.append(lambda: Sql(f"{value.base} + 1", dtype, closed=False))
        if dtype in CONSTANTS:
            options.append(lambda: Sql(f"CAST({text} AS STRING)", STRING))
        return self._one(options)() if options else value

    def test(self, scope: Scope, depth: int) -> Sql:
        """A condition."""
        if depth > 0 and self._chance(4):
            return self._connected(scope, depth - 1)
        value = self.value(scope, depth)
        options = [self._null_test, self._null_test]
        if value.dtype in CONSTANTS:
            options += [self._comparison] * 3
        else:
            options.append(self._equality)
        if isinstance(value.dtype, Array):
            options += [self._exists] * 2 if _has("exists") else []
            options.append(self._size_test)
        if isinstance(value.dtype, Map):
            options += [self._has_key] * 2 if _has("map_contains_key") else []
            options.append(self._size_test)
        tested: Sql = self._one(options)(value, scope, depth)
        return tested

    def _connected(self, scope: Scope, depth: int) -> Sql:
        left, right = self.test(scope, depth), self.test(scope, depth)
        form = self._one(("{} AND {}", "{} OR {}", "NOT {}", "{} AND true", "{} = {}"))
        return Sql(form.format(f"({left.text})", f"({right.text})"), BOOLEAN, closed=False)

    def _null_test(self, value: Sql, scope: Scope, depth: int) -> Sql:
        forms = ["{} IS NULL", "{} IS NOT NULL", "{} <=> NULL"]
        forms += [f"{name}({{}})" for name in ("isnull", "isnotnull") if _has(name)]
        return Sql(self._one(forms).format(value.base), BOOLEAN, closed=False)

    def _comparison(self, value: Sql, scope: Scope, depth: int) -> Sql:
        symbol = self._one(("=", "<>", "<", ">="))
        constant = self._one(CONSTANTS[value.dtype])
        forms = ("{} {} {}", "{0} IN ({2}, NULL)", "{0} BETWEEN {2} AND {2}")
        # A bare word before `<` may be taken for a type: `map<`.
        base = f"({value.base})" if value.base.isidentifier() else value.base
        text = self._one((forms[0], *forms)).format(base, symbol, constant)
        return Sql(text, BOOLEAN, closed=False)

    def _equality(self, value: Sql, scope: Scope, depth: int) -> Sql:
        other = self._same(value, scope)
        return Sql(f"{value.base} = {other.base}", BOOLEAN, closed=False)

    def _size_test(self, value: Sql, scope: Scope, depth: int) -> Sql:
        return Sql(f"size({value.text}) > {self._one((0, 1, 2))}", BOOLEAN, closed=False)

    def _has_key(self, value: Sql, scope: Scope, depth: int) -> Sql:
        return Sql(f"map_contains_key({value.text}, {self._key(value.dtype, scope)})", BOOLEAN)

    def _exists(self, value: Sql, scope: Scope, depth: int) -> Sql:
        name = self._one([name for name in ("exists", "forall") if _has(name)])
        inner, head = self._lambda(scope, (_element(value),))
        return Sql(f"{name}({value.text}, {head} -> {self.test(inner, depth - 1).text})", BOOLEAN)

    def _aggregate(self, value: Sql, scope: Scope, depth: int) -> Sql:
        inner, head = self._lambda(scope, (BIGINT, _element(value)), both=True)
        total, element = head.strip("()").split(", ")
        tested = self.test(replace(inner, columns=(), variables={element: _element(value)}), depth)
        body = f"CASE WHEN {tested.text} THEN {total} + 1 ELSE {total} END"
        return Sql(f"aggregate({value.text}, 0, {head} -> {body})", INT)

    # --- same type in, same type out --------------------------------------------------------------

    def _same(self, value: Sql, scope: Scope) -> Sql:
        """Something else of the same type, or NULL."""
        found = [path for path in _paths(scope) if path.dtype == value.dtype]
        constants = [Sql(text, value.dtype) for text in CONSTANTS.get(value.dtype, ())]
        return self._one([*found, *found, *constants, Sql("NULL", VOID)])

    def _wrapped(self, value: Sql, scope: Scope, depth: int) -> Sql:
        text, dtype = value.text, value.dtype
        forms = [
            "coalesce({x}, {y})",
            "coalesce({y}, {x})",
            "CASE WHEN {test} THEN {x} ELSE {y} END",
            "CASE WHEN {test} THEN {x} WHEN {test2} THEN {y} END",
            "CASE WHEN {test} THEN {x} END",
            "named_struct('f', {x}, 'g', {z}).f",
            "named_struct('f', {z}, 'g', {x})->g",
            "struct({z} AS f, {x} AS g)->g",
            "array({x}, {y})[0]",
            "array({y}, {x})[1]",
            "array({x}, {y})[i]",
            "map('k', {x}, 'l', {y})['k']",
            "map(1, {z})[1]" if not value.closed else "{x}",
        ]
        if "i" in {column.text for column in scope.columns}:
            pass
        else:
            forms.remove("array({x}, {y})[i]")
        if _has("if"):
            forms.append("if({test}, {x}, {y})")
        if _has("nvl"):
            forms.append("nvl({x}, {y})")
        if _has("nvl2"):
            forms.append("nvl2({z}, {x}, {y})")
        form: str = self._one(forms)
        other = self._same(value, scope)
        if form == "map(1, {z})[1]":
            return value
        wrapped = form.format(
            x=text,
            y=other.text,
            z=self.value(scope, depth - 1).text if "{z}" in form else "",
            test=self.test(scope, depth - 1).text if "{test}" in form else "",
            test2=self.test(scope, depth - 1).text if "{test2}" in form else "",
        )
        return Sql(wrapped, dtype, closed=not form.startswith("CASE"))

    # --- into a value -----------------------------------------------------------------------------

    def _step(self, value: Sql, scope: Scope, depth: int) -> Sql:
        options: list[Step] = []
        match value.dtype:
            case Struct(members) if members:
                options = [self._field]
            case Array(element):
                options = [self._constant_index] * 3
                options += [self._dynamic_index] if _column(scope, BIGINT) else []
                options += [self._list_function]
                options += (
                    [self._each_field] if isinstance(element, Struct) and element.fields else []
                )
                options += [self._filter, self._transform] if depth > 0 else []
                options += [self._zip_with] if depth > 0 and _has("zip_with") else []
            case Map():
                options = [self._constant_key] * 3 + [self._dynamic_key, self._map_function]
                options += [self._map_lambda] if depth > 0 else []
        return self._one(options)(value, scope, depth) if options else value

    def _field(self, value: Sql, scope: Scope, depth: int) -> Sql:
        struct = value.dtype
        assert isinstance(struct, Struct)
        member = self._one(struct.fields)
        arrow = self._one(("->", ".", " -> "))
        return Sql(f"{value.base}{arrow}{_spelled(self._draw, member.name, struct)}", member.type)

    def _each_field(self, value: Sql, scope: Scope, depth: int) -> Sql:
        """`items.x` is the list of all `x`."""
        struct = _element(value)
        assert isinstance(struct, Struct)
        member = self._one(struct.fields)
        return Sql(f"{value.base}.{_spelled(self._draw, member.name, struct)}", Array(member.type))

    def _constant_index(self, value: Sql, scope: Scope, depth: int) -> Sql:
        forms = ["({x})[{n}]", "{x}[{n}]", "{x}[{n}]", "{x}[{n} + 1]", "{x}[-1]"]
        forms += ["get({x}, {n})"] if _has("get") else []
        forms += [f"{f}({{x}}, {{n}} + 1)" for f in ("element_at", "try_element_at") if _has(f)]
        forms += [f"{f}({{x}}, {{m}})" for f in ("element_at", "try_element_at") if _has(f)]
        index = self._one((0, 0, 1, 2, 3, 6))
        negative = self._one((-1, -2, 1, 2, 3))
        text = self._one(forms).format(x=value.base, n=index, m=negative)
        return Sql(text, _element(value))

    def _dynamic_index(self, value: Sql, scope: Scope, depth: int) -> Sql:
        forms = ["{}[{}]", "{}[{}]", "{}[{} - 1]"]
        forms += [f"{name}({{}}, {{}})" for name in ("get", "element_at") if _has(name)]
        index = self._one([path for path in _paths(scope) if path.dtype in (BIGINT, INT)])
        return Sql(self._one(forms).format(value.base, index.base), _element(value))

    def _list_function(self, value: Sql, scope: Scope, depth: int) -> Sql:
        forms = ["{}"]
        forms += ["slice({}, 2, 2)", "slice({}, -2, 1)"] if _has("slice") else []
        forms += [f"{name}({{}})" for name in ("reverse", "array_compact") if _has(name)]
        return Sql(self._one(forms).format(value.base), value.dtype)

    def _filter(self, value: Sql, scope: Scope, depth: int) -> Sql:
        inner, head = self._lambda(scope, (_element(value), INT))
        body = self.test(inner, depth - 1)
        return Sql(f"filter({value.text}, {head} -> {body.text})", value.dtype)

    def _transform(self, value: Sql, scope: Scope, depth: int) -> Sql:
        inner, head = self._lambda(scope, (_element(value), INT))
        body = self.output(inner, depth - 1)
        return Sql(f"transform({value.text}, {head} -> {body.text})", Array(body.dtype))

    def _zip_with(self, value: Sql, scope: Scope, depth: int) -> Sql:
        other = self.nested(scope, depth - 1, Array) or value
        inner, head = self._lambda(scope, (_element(value), _element(other)), both=True)
        body = self.output(inner, depth - 1)
        text = f"zip_with({value.text}, {other.text}, {head} -> {body.text})"
        return Sql(text, Array(body.dtype))

    def _constant_key(self, value: Sql, scope: Scope, depth: int) -> Sql:
        key = self._one(KEYS[_key_type(value)])
        forms = ["{}[{}]", "{}[{}]"]
        forms += [f"{f}({{}}, {{}})" for f in ("element_at", "try_element_at") if _has(f)]
        if isinstance(key, str) and key.isidentifier():
            forms.append("{0}.{2}")
        return Sql(self._one(forms).format(value.base, _literal(key), key), _element(value))

    def _dynamic_key(self, value: Sql, scope: Scope, depth: int) -> Sql:
        key = self._key(value.dtype, scope)
        form = self._one(["{}[{}]", *(["element_at({}, {})"] if _has("element_at") else [])])
        return Sql(form.format(value.base, key), _element(value))

    def _key(self, dtype: DataType, scope: Scope) -> str:
        assert isinstance(dtype, Map)
        found = [path.base for path in _paths(scope) if path.dtype == dtype.key]
        return str(self._one([*found, *map(_literal, KEYS[dtype.key])]))

    def _map_function(self, value: Sql, scope: Scope, depth: int) -> Sql:
        dtype = value.dtype
        assert isinstance(dtype, Map)
        entry = Struct((Field("key", dtype.key), Field("value", dtype.value)))
        made = {
            "map_keys": Array(dtype.key),
            "map_values": Array(dtype.value),
            "map_entries": Array(entry),
        }
        options = [Sql(f"{n}({value.text})", result) for n, result in made.items() if _has(n)]
        return self._one([value, *options]) if options else value

    def _map_lambda(self, value: Sql, scope: Scope, depth: int) -> Sql:
        dtype = value.dtype
        assert isinstance(dtype, Map)
        inner, head = self._lambda(scope, (dtype.key, dtype.value), both=True)
        if _has("map_filter") and self._chance(2):
            body = self.test(inner, depth - 1)
            return Sql(f"map_filter({value.text}, {head} -> {body.text})", dtype)
        if _has("transform_values"):
            body = self.output(inner, depth - 1)
            text = f"transform_values({value.text}, {head} -> {body.text})"
            return Sql(text, Map(dtype.key, body.dtype))
        return value

    def _lambda(
        self, scope: Scope, parameters: Sequence[DataType], both: bool = False
    ) -> tuple[Scope, str]:
        """A scope inside a lambda and the parameters as text; they may hide columns and others."""
        count = len(parameters) if both else self._one((1, 1, len(parameters)))
        names = self._draw(
            st.permutations(("e", "x", "items", "v")).map(lambda order: order[:count])
        )
        new = dict(zip(names, parameters, strict=False))
        text = ", ".join(names)
        return scope.with_variables(new), f"({text})" if count > 1 else text


@cache
def _has(function: str) -> bool:
    return builtin_functions().find(function) is not None


def _element(value: Sql) -> DataType:
    match value.dtype:
        case Array(element):
            return element
        case Map(_, inner):
            return inner
        case other:
            raise AssertionError(other)


def _key_type(value: Sql) -> DataType:
    assert isinstance(value.dtype, Map)
    return value.dtype.key


def _column(scope: Scope, dtype: DataType) -> bool:
    return any(path.dtype == dtype for path in _paths(scope))


def _paths(scope: Scope) -> list[Sql]:
    """The simple paths from every name in sight."""
    return [path for root in scope.roots() for path in _below(root, 3)]


def _below(value: Sql, depth: int) -> Iterator[Sql]:
    yield value
    if depth == 0:
        return
    match value.dtype:
        case Struct(members):
            for member in members:
                yield from _below(
                    Sql(f"{value.text}->{quoted(member.name)}", member.type), depth - 1
                )
        case Array(element):
            for index in (0, 2):
                yield from _below(Sql(f"{value.text}[{index}]", element), depth - 1)
        case Map(key, inner):
            yield from _below(Sql(f"{value.text}[{_literal(KEYS[key][0])}]", inner), depth - 1)


SOURCE = "s"
"""The name of the one source that queries read."""


def _source_columns(schema: Struct, qualified: str | None = None) -> tuple[Sql, ...]:
    prefix = f"{qualified}." if qualified else ""
    return tuple(Sql(f"{prefix}{quoted(column.name)}", column.type) for column in schema)


@st.composite
def queries(draw: Draw, schema: Struct) -> str:
    """`SELECT ... FROM s [WHERE ...]`."""
    writer, scope = Writer(draw), Scope(_source_columns(schema))
    outputs = [writer.output(scope, 2).text for _ in range(draw(st.integers(1, 3)))]
    return f"SELECT {_named(outputs)} FROM {SOURCE}{_where(draw, writer, scope)}"


@st.composite
def relational_queries(draw: Draw, schema: Struct) -> str:
    """Queries with a join, LATERAL VIEW, stateful functions, DISTINCT, or GROUP BY."""
    writer, scope, source = Writer(draw), Scope(_source_columns(schema)), SOURCE
    shape = draw(st.sampled_from(("join", "lateral", "memory", "distinct", "group", "group")))
    if shape == "join":
        scope = Scope((*_source_columns(schema, SOURCE), *_source_columns(schema, "other")))
        kind = draw(st.sampled_from(("JOIN", "LEFT JOIN")))
        source = f"{SOURCE} {kind} {SOURCE} AS other ON {writer.test(scope, 1).text}"
    if shape == "lateral" or draw(st.integers(0, 3)) == 0:
        scope, source = _lateral(writer, scope, source, draw)
    where = _where(draw, writer, scope)
    if shape == "group":
        return _grouped(draw, writer, scope, source, where)
    outputs = [writer.output(scope, 1).text for _ in range(draw(st.integers(1, 3)))]
    if shape == "memory" and "LATERAL" not in source:
        name = draw(st.sampled_from(("lag", "latest")))
        value = writer.value(scope, 1)
        over = draw(st.sampled_from(("", " OVER (PARTITION BY k)")))
        remembered = Sql(f"{name}({value.text}){over}", value.dtype, closed=not over)
        outputs.append(writer._step(remembered, Scope(()), 0).text)
    distinct = "DISTINCT " if shape == "distinct" else ""
    return f"SELECT {distinct}{_named(outputs)} FROM {source}{where}"


def _named(outputs: Sequence[str]) -> str:
    return ", ".join(f"{text} AS o{place}" for place, text in enumerate(outputs))


def _where(draw: Draw, writer: Writer, scope: Scope) -> str:
    return f" WHERE {writer.test(scope, 2).text}" if draw(st.booleans()) else ""


def _lateral(writer: Writer, scope: Scope, source: str, draw: Draw) -> tuple[Scope, str]:
    value = writer.nested(scope, 1, draw(st.sampled_from((Array, Array, Map))))
    if value is None:
        return scope, source
    new = [Sql("g", _element(value))]
    if isinstance(value.dtype, Map):
        new.insert(0, Sql("gk", value.dtype.key))
    name = draw(st.sampled_from([n for n in ("explode", "posexplode") if _has(n)]))
    if (
        isinstance(value.dtype, Array)
        and isinstance(value.dtype.element, Struct)
        and (_has("inline") and draw(st.integers(0, 2)) == 0)
    ):
        name, members = "inline", value.dtype.element.fields
        new = [Sql(f"g{place}", member.type) for place, member in enumerate(members)]
    if name == "posexplode":
        new.insert(0, Sql("gp", INT))
    outer = draw(st.sampled_from(("", "OUTER ")))
    view = f"LATERAL VIEW {outer}{name}({value.text}) t AS {', '.join(g.text for g in new)}"
    return replace(scope, columns=(*scope.columns, *new)), f"{source} {view}"


def _grouped(draw: Draw, writer: Writer, scope: Scope, source: str, where: str) -> str:
    group = draw(st.lists(st.sampled_from(_paths(scope)), max_size=2))
    outputs = [key.text for key in group]
    for _ in range(draw(st.integers(1, 3))):
        value = writer.value(scope, 1)
        forms = ["count({})", "count(DISTINCT {})"]
        made: DataType = BIGINT
        if draw(st.booleans()):
            lists = ["collect_list({})"] if _has("collect_list") else []
            wholes = ["first({})", *(["max_by({}, i)"] if _has("max_by") else [])]
            forms = draw(st.sampled_from((wholes, lists or wholes)))
            made = Array(value.dtype) if forms == lists else value.dtype
        text = draw(st.sampled_from(forms)).format(value.text)
        if "max_by" in text and "JOIN" in source:
            text, made = f"count({value.text})", BIGINT
        if draw(st.integers(0, 3)) == 0:
            text += f" FILTER (WHERE {writer.test(scope, 1).text})"
            outputs.append(text)
        else:
            outputs.append(writer._step(Sql(text, made), Scope(()), 0).text)
    by = f" GROUP BY {', '.join(key.text for key in group)}" if group else ""
    having = f" HAVING count({group[0].text}) > 0" if group and draw(st.booleans()) else ""
    return f"SELECT {_named(outputs)} FROM {source}{where}{by}{having}"
