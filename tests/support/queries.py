"""Random queries: SQL text that binds, over any schema.

Every expression starts at a name and goes into its value, step by step, in all spellings. On the
way it is wrapped into what hands its argument on (coalesce, CASE, constructors that are taken apart
again) and passed through functions with lambdas. The writer knows the type of all that it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from narrows.schema import (
    BIGINT,
    BOOLEAN,
    INT,
    STRING,
    VOID,
    Array,
    DataType,
    Field,
    Map,
    Struct,
    is_nested,
    quoted,
)
from support.strategies import KEYS, Choose, literal, spelled

SOURCE = "s"
"""The name of the one source that queries read."""


class Sql(NamedTuple):
    """An expression as text, and its type. `closed` means that `->x` may follow it as it is."""

    text: str
    dtype: DataType
    closed: bool = True

    @property
    def base(self) -> str:
        return self.text if self.closed else f"({self.text})"


@dataclass(frozen=True)
class Names:
    """The names in sight. A lambda's parameters hide columns and parameters of the same name."""

    columns: tuple[Sql, ...]
    parameters: dict[str, DataType] = field(default_factory=dict)

    def inside(self, parameters: dict[str, DataType]) -> Names:
        seen = tuple(column for column in self.columns if column.text.casefold() not in parameters)
        return Names(seen, {**self.parameters, **parameters})

    def roots(self) -> list[Sql]:
        return [*(Sql(name, dtype) for name, dtype in self.parameters.items()), *self.columns]

    def paths(self) -> list[Sql]:
        """Simple paths from every name."""
        return [path for root in self.roots() for path in _below(root, 3)]


NOBODY = Names(())


def _below(value: Sql, depth: int) -> Iterator[Sql]:
    yield value
    steps: list[Sql] = []
    match value.dtype:
        case Struct(members):
            steps = [Sql(f"{value.text}->{quoted(f.name)}", f.type) for f in members]
        case Array(element):
            steps = [Sql(f"{value.text}[{index}]", element) for index in (0, 2)]
        case Map(key, inner):
            steps = [Sql(f"{value.text}[{literal(KEYS[key][0])}]", inner)]
    for step in steps if depth > 0 else ():
        yield from _below(step, depth - 1)


# --- the forms that are written -------------------------------------------------------------------

CONSTANTS: dict[DataType, tuple[str, ...]] = {
    BIGINT: ("0", "1", "3"),
    INT: ("0", "1", "3"),
    STRING: ("'k'", "'a'", "''"),
    BOOLEAN: ("true", "false"),
}
COMPARISONS = (
    *("{x} = {c}", "{x} <> {c}", "{x} < {c}", "{c} <= {x}", "NOT {x} > {c}"),
    *("{x} IN ({c}, NULL)", "{x} BETWEEN {c} AND {c}"),
)
NULL_TESTS = ("{x} IS NULL", "{x} IS NOT NULL", "{x} <=> NULL", "isnull({x})", "isnotnull({x})")
CONNECTORS = ("{p} AND {q}", "{p} OR {q}", "NOT {p}", "{p} AND true", "{p} = {q}", "{p} IS TRUE")
WRAPPERS = (
    # `x` is the value, `y` another of its type, `z` anything, `p` and `q` are conditions.
    *("coalesce({x}, {y})", "coalesce({y}, {x})", "nvl({x}, {y})", "ifnull({y}, {x})"),
    *("if({p}, {x}, {y})", "nvl2({z}, {x}, {y})", "nvl2({z}, {y}, {x})"),
    "CASE WHEN {p} THEN {x} ELSE {y} END",
    "CASE WHEN {p} THEN {x} WHEN {q} THEN {y} END",
    *("CASE {p} WHEN {q} THEN {x} END", "CASE WHEN 1 < 2 THEN {x} ELSE {y} END"),
    *("named_struct('f', {x}, 'g', {z}).f", "named_struct('f', {z}, 'g', {x})->g"),
    "struct({z} AS f, {x} AS g)->g",
    *("array({x}, {y})[0]", "array({y}, {x})[1]", "element_at(array({x}, {y}), -2)"),
    *("map('k', {x}, 'l', {y})['k']", "map({k}, {x})['k']"),
)
FIRSTS = ("first", "first_value", "last", "last_value", "last_row", "any_value")
ELEMENTS = (
    *("{x}[{n}]", "{x}[{n}]", "({x})[{n}]", "{x}[{n} + 1]", "{x}[-1]", "get({x}, {n})"),
    *("element_at({x}, {n} + 1)", "element_at({x}, {m})", "try_element_at({x}, -{m})"),
    *("{x}[{i}]", "{x}[{i} - 1]", "get({x}, {i})", "element_at({x}, {i})"),
)
SAME_LIST = ("slice({x}, 2, 2)", "slice({x}, -2, 1)", "reverse({x})", "array_compact({x})")
ENTRIES = ("{x}[{c}]", "{x}[{c}]", "element_at({x}, {c})", "try_element_at({x}, {c})", "{x}[{k}]")


class Writer:
    """Writes random expressions. `one` takes one of several, and so makes every choice."""

    def __init__(self, one: Choose) -> None:
        self.one = one

    # --- expressions ------------------------------------------------------------------------------

    def value(self, names: Names, depth: int) -> Sql:
        """An expression of any type."""
        roots = names.roots()
        nested = [root for root in roots if is_nested(root.dtype)]
        value: Sql = self.one(nested if nested and self.one(range(5)) else roots)
        for _ in range(self.one(range(6))):
            if depth > 0 and self.one(range(5)) == 4:
                value = self._wrapped(value, names, depth - 1)
            value = self.step(value, names, depth - 1)
        return value

    def output(self, names: Names, depth: int) -> Sql:
        """An expression as it stands in a select list."""
        match self.one(("value", "value", "computed", "computed", "test")):
            case "value":
                return self.value(names, depth)
            case "computed":
                return self._computed(self.value(names, depth), names, depth - 1)
            case _:
                return self.test(names, depth)

    def into(self, value: Sql) -> Sql:
        """An expression on a value that stands alone, such as an aggregate's."""
        for _ in range(self.one(range(4))):
            value = self.step(value, NOBODY, 0)
        return self.one((value, self._computed(value, NOBODY, 0)))  # type: ignore[no-any-return]

    def test(self, names: Names, depth: int) -> Sql:
        """A condition."""
        if depth > 0 and self.one(range(4)) == 3:
            p, q = self.test(names, depth - 1), self.test(names, depth - 1)
            return _open(self.one(CONNECTORS).format(p=f"({p.text})", q=f"({q.text})"), BOOLEAN)
        value = self.value(names, depth)
        x, other = value.base, self._same(value, names)
        options = [_open(text.format(x=x), BOOLEAN) for text in NULL_TESTS[:2]]
        options.append(_open(self.one(NULL_TESTS).format(x=x), BOOLEAN))
        options.append(_open(f"{x} = {other.base}", BOOLEAN))
        if value.dtype in CONSTANTS:
            constant = self.one(CONSTANTS[value.dtype])
            options += [_open(text.format(x=x, c=constant), BOOLEAN) for text in COMPARISONS]
        if isinstance(value.dtype, (Array, Map)):
            options.append(_open(f"size({value.text}) > {self.one(range(3))}", BOOLEAN))
        if isinstance(value.dtype, Map):
            key = self._key(value.dtype, names)
            options.append(Sql(f"map_contains_key({value.text}, {key})", BOOLEAN))
        if isinstance(value.dtype, Array) and depth > 0 and self.one((False, True)):
            inner, head = self._parameters(names, (value.dtype.element,))
            body = self.test(inner, depth - 1).text
            return Sql(f"{self.one(('exists', 'forall'))}({value.text}, {head} -> {body})", BOOLEAN)
        chosen: Sql = self.one(options)
        return chosen

    def _computed(self, value: Sql, names: Names, depth: int) -> Sql:
        """Something that is computed from a value."""
        x, dtype = value.text, value.dtype
        options = [Sql(f"to_json({x})", STRING)]
        if isinstance(dtype, (Array, Map)):
            options += [Sql(f"{name}({x})", INT) for name in ("size", "cardinality")]
        if isinstance(dtype, Array):
            options.append(Sql(f"array_size({x})", INT))
        if isinstance(dtype, Array) and depth > 0 and self.one((False, True)):
            options = [self._folded(value, dtype.element, names, depth)]
        if dtype == STRING:
            options += [Sql(f"upper({x})", STRING), _open(f"{value.base} || 'z'", STRING)]
        if dtype in (BIGINT, INT):
            options += [_open(f"{value.base} + 1", dtype), Sql(f"CAST({x} AS STRING)", STRING)]
        computed: Sql = self.one(options)
        return computed

    def _folded(self, value: Sql, element: DataType, names: Names, depth: int) -> Sql:
        """Counts the elements that pass a test."""
        inner, parameter = self._parameters(names, (element,))
        body = f"CASE WHEN {self.test(inner, depth).text} THEN total + 1 ELSE total END"
        name = self.one(("aggregate", "reduce"))
        return Sql(f"{name}({value.text}, 0, (total, {parameter}) -> {body})", INT)

    # --- the same type in and out -----------------------------------------------------------------

    def _same(self, value: Sql, names: Names) -> Sql:
        """Something else of the same type, or NULL."""
        found = [path for path in names.paths() if path.dtype == value.dtype]
        constants = [Sql(text, value.dtype) for text in CONSTANTS.get(value.dtype, ())]
        same: Sql = self.one([*found, *found, *constants, Sql("NULL", VOID)])
        return same

    def _wrapped(self, value: Sql, names: Names, depth: int) -> Sql:
        form = self.one(WRAPPERS)
        parts: dict[str, Callable[[], str]] = {
            "x": lambda: value.text,
            "y": lambda: self._same(value, names).text,
            "z": lambda: self.value(names, depth - 1).text,
            "p": lambda: self.test(names, depth - 1).text,
            "q": lambda: self.test(names, depth - 1).text,
            "k": lambda: self._key(Map(STRING, value.dtype), names),
        }
        text = form.format(**{n: make() for n, make in parts.items() if f"{{{n}}}" in form})
        return Sql(text, value.dtype, closed=not form.startswith("CASE"))

    # --- into a value -----------------------------------------------------------------------------

    def step(self, value: Sql, names: Names, depth: int) -> Sql:
        """One step into a value, or the value itself when it has no parts."""
        match value.dtype:
            case Struct() as struct:
                member = self.one(struct.fields)
                name = spelled(self.one, member.name, struct)
                return Sql(f"{value.base}{self.one(('->', '.', ' -> '))}{name}", member.type)
            case Array():
                return self._into_list(value, value.dtype, names, depth)
            case Map():
                return self._into_map(value, value.dtype, names, depth)
            case _:
                return value

    def _into_list(self, value: Sql, dtype: Array, names: Names, depth: int) -> Sql:
        element = dtype.element
        kinds = ["element"] * 4 + ["same"]
        kinds += ["fields"] if isinstance(element, Struct) else []
        kinds += ["filter", "transform", "transform", "zip"] if depth > 0 else []
        match self.one(kinds):
            case "element":
                indices = [p.base for p in names.paths() if p.dtype in (BIGINT, INT)]
                n, m, i = (
                    self.one((0, 0, 0, 1, 2, 5)),
                    self.one((1, 2, 3)),
                    self.one(indices or (0,)),
                )
                return Sql(self.one(ELEMENTS).format(x=value.base, n=n, m=m, i=i), element)
            case "same":
                return Sql(self.one(SAME_LIST).format(x=value.text), dtype)
            case "fields":  # `items.x` is the list of all `x`
                assert isinstance(element, Struct)
                member = self.one(element.fields)
                name = spelled(self.one, member.name, element)
                return Sql(f"{value.base}.{name}", Array(member.type))
            case "filter":
                inner, head = self._parameters(names, (element, INT), fewest=1)
                body = self.test(inner, depth - 1)
                return Sql(f"filter({value.text}, {head} -> {body.text})", dtype)
            case "transform":
                inner, head = self._parameters(names, (element, INT), fewest=1)
                body = self.output(inner, depth - 1)
                return Sql(f"transform({value.text}, {head} -> {body.text})", Array(body.dtype))
            case _:
                lists = [path for path in names.paths() if isinstance(path.dtype, Array)]
                other: Sql = self.one([value, *lists])
                inner, head = self._parameters(names, (element, _element(other)))
                body = self.output(inner, depth - 1)
                text = f"zip_with({value.text}, {other.text}, {head} -> {body.text})"
                return Sql(text, Array(body.dtype))

    def _into_map(self, value: Sql, dtype: Map, names: Names, depth: int) -> Sql:
        x = value.text
        kinds = ["entry"] * 3 + ["function"] + (["filter", "transform"] if depth > 0 else [])
        match self.one(kinds):
            case "entry":
                constant = self.one(KEYS[dtype.key])
                key = self._key(dtype, names)
                text = self.one(ENTRIES).format(x=value.base, c=literal(constant), k=key)
                if (
                    isinstance(constant, str)
                    and constant.isidentifier()
                    and self.one((False, True))
                ):
                    text = f"{value.base}.{constant}"
                return Sql(text, dtype.value)
            case "function":
                entry = Struct((Field("key", dtype.key), Field("value", dtype.value)))
                options = [
                    Sql(f"map_keys({x})", Array(dtype.key)),
                    Sql(f"map_values({x})", Array(dtype.value)),
                    Sql(f"map_entries({x})", Array(entry)),
                ]
                made: Sql = self.one(options)
                return made
            case "filter":
                inner, head = self._parameters(names, (dtype.key, dtype.value))
                body = self.test(inner, depth - 1)
                return Sql(f"map_filter({x}, {head} -> {body.text})", dtype)
            case _:
                inner, head = self._parameters(names, (dtype.key, dtype.value))
                body = self.output(inner, depth - 1)
                return Sql(
                    f"transform_values({x}, {head} -> {body.text})", Map(dtype.key, body.dtype)
                )

    def _key(self, dtype: Map, names: Names) -> str:
        """A key of a map's type: a constant or a path."""
        found = [path.base for path in names.paths() if path.dtype == dtype.key]
        return str(self.one([*found, *map(literal, KEYS[dtype.key])]))

    def _parameters(
        self, names: Names, types: Sequence[DataType], fewest: int | None = None
    ) -> tuple[Names, str]:
        """The names inside a lambda, and its parameters as text. They may hide other names."""
        count = self.one(range(fewest or len(types), len(types) + 1))
        chosen: list[str] = []
        while len(chosen) < count:
            chosen.append(self.one([n for n in ("e", "x", "items", "v") if n not in chosen]))
        text = ", ".join(chosen)
        inner = names.inside(dict(zip(chosen, types, strict=False)))
        return inner, f"({text})" if count > 1 else text


def _open(text: str, dtype: DataType) -> Sql:
    return Sql(text, dtype, closed=False)


def _element(value: Sql) -> DataType:
    assert isinstance(value.dtype, Array)
    return value.dtype.element


# --- queries --------------------------------------------------------------------------------------


def write_query(schema: Struct, one: Choose, relational: bool = False) -> str:
    """`SELECT ... FROM s [WHERE ...]`; if `relational`, with more clauses than these."""
    write = _write_relational if relational else _write
    return write(schema, Writer(one))


def _write(schema: Struct, writer: Writer) -> str:
    names = Names(_columns(schema))
    outputs = [writer.output(names, 4).text for _ in range(writer.one((1, 1, 2)))]
    return f"SELECT {_named(outputs)} FROM {SOURCE}{_where(writer, names)}"


def _write_relational(schema: Struct, writer: Writer) -> str:
    """With a join, LATERAL VIEW, GROUP BY, DISTINCT, or a stateful function."""
    names, source = Names(_columns(schema)), SOURCE
    shape = writer.one(("lateral", "join", "stateful", "distinct", "group", "group"))
    if shape == "join":
        names = Names((*_columns(schema, "s."), *_columns(schema, "other.")))
        kind = writer.one(("JOIN", "LEFT JOIN"))
        source = f"{SOURCE} {kind} {SOURCE} AS other ON {writer.test(names, 1).text}"
    if shape == "lateral" or (shape != "stateful" and writer.one(range(4)) == 3):
        names, view = _lateral_view(writer, names)
        source += view
    if shape == "group":
        return _grouped(writer, names, source)
    outputs = [writer.output(names, 3).text for _ in range(writer.one((1, 1, 2)))]
    if shape == "stateful":
        value = writer.value(names, 1)
        over = writer.one(("", " OVER (PARTITION BY k)"))
        name = writer.one(("lag", "latest", "acc_count"))
        dtype = BIGINT if name == "acc_count" else value.dtype
        outputs.append(writer.into(Sql(f"{name}({value.text}){over}", dtype, not over)).text)
    distinct = "DISTINCT " if shape == "distinct" else ""
    return f"SELECT {distinct}{_named(outputs)} FROM {source}{_where(writer, names)}"


def _columns(schema: Struct, qualifier: str = "") -> tuple[Sql, ...]:
    return tuple(Sql(f"{qualifier}{quoted(column.name)}", column.type) for column in schema)


def _named(outputs: Sequence[str]) -> str:
    return ", ".join(f"{text} AS o{place}" for place, text in enumerate(outputs))


def _where(writer: Writer, names: Names) -> str:
    return f" WHERE {writer.test(names, 2).text}" if writer.one(range(4)) == 3 else ""


def _lateral_view(writer: Writer, names: Names) -> tuple[Names, str]:
    """A generator over a list or a map, if there is one."""
    nested = [p for p in (writer.value(names, 1), *names.paths()) if is_nested(p.dtype)]
    found = [path for path in nested if not isinstance(path.dtype, Struct)]
    if not found:
        return names, ""
    value = writer.one(found)
    generator = writer.one(("explode", "explode_outer", "posexplode", "posexplode_outer"))
    match value.dtype:
        case Map(key, inner):
            made = [Sql("gk", key), Sql("g", inner)]
        case Array(Struct(members)) if writer.one(range(3)):
            generator = writer.one(("inline", "inline_outer"))
            made = [Sql(f"g{place}", member.type) for place, member in enumerate(members)]
        case _:
            made = [Sql("g", _element(value))]
    if generator.startswith("pos"):
        made.insert(0, Sql("gp", INT))
    outer, columns = writer.one(("", "OUTER ")), ", ".join(column.text for column in made)
    view = f" LATERAL VIEW {outer}{generator}({value.text}) t AS {columns}"
    return replace(names, columns=(*names.columns, *made * 3)), view  # three times as likely


def _grouped(writer: Writer, names: Names, source: str) -> str:
    where = _where(writer, names)
    keys = [writer.one(names.paths()) for _ in range(writer.one((0, 1, 2)))]
    outputs = [key.text for key in keys]
    for _ in range(writer.one((1, 1, 2))):
        value = writer.value(names, 2)
        x, dtype = value.text, value.dtype
        options = [Sql(f"count({x})", BIGINT), Sql(f"count(DISTINCT {x})", BIGINT)]
        options += [Sql(f"{name}({x})", Array(dtype)) for name in ("collect_list", "array_agg")]
        # Of what a generator makes, none is the last row.
        ordered = "LATERAL VIEW" not in source
        options += [Sql(f"{n}({x})", dtype) for n in FIRSTS if ordered or n != "last_row"]
        index = "i" if "other." not in source else "s.i"
        options += [Sql(f"{name}({x}, {index})", dtype) for name in ("max_by", "min_by")]
        call: Sql = writer.one(options)
        clause = (
            f" FILTER (WHERE {writer.test(names, 1).text})" if writer.one(range(4)) == 3 else ""
        )
        if call.text.startswith(FIRSTS) and writer.one((False, True)):
            clause += " IGNORE NULLS"
        outputs.append(writer.into(Sql(call.text + clause, call.dtype, not clause)).text)
    by = f" GROUP BY {', '.join(key.text for key in keys)}" if keys else ""
    having = f" HAVING count({outputs[0]}) > 0" if keys and writer.one((False, True)) else ""
    return f"SELECT {_named(outputs)} FROM {source}{where}{by}{having}"
