"""A reference to hold the planner to: what a demand promises, and what a plan means.

`graft` and `cut` say what a demand promises: whatever it does not look at may be anything else.
`evaluate` and `run` say what bound expressions and logical plans mean, on plain Python values:
structs and maps are dicts, lists are lists, NULL and whatever is missing are None. Both are slow
and short; they know no rule, no look and no decoder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from narrows.demand import ALL, LENGTH, NOTHING, PRESENCE, Demand, Fields, Items, Keys
from narrows.expressions.function import Kind
from narrows.expressions.nodes import (
    Call,
    Cast,
    Column,
    ColumnId,
    ElementAccess,
    Expr,
    FieldAccess,
    Lambda,
    Literal,
    SortKey,
    Variable,
)
from narrows.logical.nodes import (
    Aggregation,
    DecodedSource,
    Distinct,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Node,
    Project,
    Sort,
    StatefulFunction,
)
from narrows.logical.relational_nodes import Keep, OneRow, Pivot, Subquery, Union
from narrows.logical.walk import topological
from narrows.physical.nodes import PhysicalPartialAggregation, PhysicalReader
from narrows.schema import DOUBLE, STRING
from narrows.sql.binder.context import SubqueryKind
from narrows.sql.scope import Relation

Value = Any
"""None, bool, int, float, str, list or dict."""

Document = dict[str, Value]
Row = dict[ColumnId | int, Value]
"""Columns by their id, and inside a lambda its parameters by theirs."""


# --- what a demand promises -----------------------------------------------------------------------


def cut(value: Value, demand: Demand) -> Value:
    """The least that may be left of a value: NULL wherever the demand does not tell it apart.

    A struct of which no demanded field is there goes away unless its presence is demanded; a list
    ends after the last demanded element that is there unless its length is; what is only asked for
    NULL becomes an empty stand-in.
    """
    return graft(value, None, demand)


def cut_row(document: Document, demand: Demand, other: Document | None = None) -> Document:
    """A row cut to a demand. Rows themselves are always there."""
    kept = graft(document, other, demand)
    return {} if kept is None else dict(kept)


def graft(value: Value, other: Value, demand: Demand) -> Value:
    """A value that agrees with `value` where the demand looks, and with `other` elsewhere.

    Both are of one type. Nobody who keeps to the demand can tell the result from `value`.
    """
    if demand is ALL:
        return value
    if demand is NOTHING:
        return other
    match demand:
        case Fields():
            return _graft_struct(value, other, demand)
        case Items():
            return _graft_list(value, other, demand)
        case Keys():
            return _graft_map(value, other, demand)
    if value is None:
        return None
    if demand is PRESENCE:
        return type(value)() if other is None else other
    assert demand is LENGTH, demand
    if isinstance(value, list):
        return [_at(other, index) for index in range(len(value))]
    return _filled_up({}, other, value, without=())


def _graft_struct(value: Value, other: Value, demand: Fields) -> Value:
    if demand.presence and value is None:
        return None
    inner = {n: graft(_get(value, n), _get(other, n), part) for n, part in demand.parts.items()}
    there = {name: member for name, member in inner.items() if member is not None}
    if not (there or demand.presence or other is not None):
        return None
    return {**{n: member for n, member in (other or {}).items() if n not in inner}, **there}


def _graft_list(value: Value, other: Value, demand: Items) -> Value:
    if demand.length:
        if value is None:
            return None
        return [graft(v, _at(other, i), demand.at(i)) for i, v in enumerate(value)]
    inner = {
        i: graft(_at(value, i), _at(other, i), part)
        for i, part in demand.parts.items()
        if isinstance(i, int)
    }
    needed = max((i + 1 for i, element in inner.items() if element is not None), default=0)
    if not needed and other is None:
        return None
    length = max(needed, len(other or ()))
    return [inner[i] if i in inner else _at(other, i) for i in range(length)]


def _graft_map(value: Value, other: Value, demand: Keys) -> Value:
    if demand.rest is not NOTHING:
        # A demand on every entry keeps the keys; one on none need not keep a single key.
        if value is None:
            return None
        return {k: graft(v, _get(other, k), demand.at(k)) for k, v in value.items()}
    inner = {k: graft(_get(value, k), _get(other, k), part) for k, part in demand.parts.items()}
    there = {key: member for key, member in inner.items() if member is not None}
    if demand.length:
        if value is None:
            return None
        kept = {key: member for key, member in there.items() if key in value}
        return _filled_up(kept, other, value, without=tuple(inner))
    if not there and other is None:
        return None
    return {**{k: (None if k in inner else v) for k, v in (other or {}).items()}, **there}


def _filled_up(
    entries: dict[Any, Value], other: Value, value: Value, without: Sequence[Any]
) -> Value:
    """The entries, and others until there are as many as in the value; nobody looks at those."""
    fillers = {key: member for key, member in (other or {}).items() if key not in without}
    for number, key in enumerate(value):
        fillers[f"nobody {number}" if isinstance(key, str) else -1000 - number] = None
    missing = len(value) - len(entries)
    return {**entries, **dict(list(fillers.items())[:missing])}


def _at(values: Value, index: Value) -> Value:
    """An element by its place, None when there is none."""
    if values is None or index is None or not 0 <= index < len(values):
        return None
    return values[index]


def _get(values: Value, key: Value) -> Value:
    return None if values is None or key is None else values.get(key)


# --- what an expression means ---------------------------------------------------------------------


def evaluate(expr: Expr, row: Row) -> Value:
    """The value of an expression on a row."""
    match expr:
        case Column(id=column):
            return row[column]
        case Variable(id=number):
            return row[number]
        case Literal():
            return _constant(expr)
        case FieldAccess(base=base, name=name):
            value = evaluate(base, row)
            # A list, if it is of a type that only Spark knows: the field of each element.
            return [_get(v, name) for v in value] if isinstance(value, list) else _get(value, name)
        case ElementAccess(base=base, index=index):
            values, place = evaluate(base, row), evaluate(index, row)
            return _get(values, place) if isinstance(values, dict) else _at(values, place)
        case Cast(operand=operand, dtype=dtype):
            assert dtype in (STRING, DOUBLE), dtype
            return _strict(str if dtype == STRING else float)(evaluate(operand, row))
        case Lambda(parameters=parameters, body=body):
            ids = [parameter.id for parameter in parameters]
            return lambda *values: evaluate(body, {**row, **dict(zip(ids, values, strict=False))})
        case Call(function=function, args=args):
            return FUNCTIONS[function.name](*(evaluate(arg, row) for arg in args))
        case _:
            raise NotImplementedError(type(expr))


def _constant(literal: Literal) -> Value:
    if literal.value is None and literal.text != "NULL":
        raise NotImplementedError(literal)
    return literal.value


def _strict(function: Callable[..., Value]) -> Callable[..., Value]:
    """NULL when any argument is."""
    return lambda *args: None if any(arg is None for arg in args) else function(*args)


def _and(*args: Value) -> Value:
    return False if False in args else None if None in args else True


def _or(*args: Value) -> Value:
    return True if True in args else None if None in args else False


def _case(*args: Value) -> Value:
    pairs = zip(args[::2], args[1::2], strict=False)
    default = args[-1] if len(args) % 2 else None
    return next((result for condition, result in pairs if condition is True), default)


def _coalesce(*args: Value) -> Value:
    return next((arg for arg in args if arg is not None), None)


def _pairs(*args: Value) -> Value:
    return dict(zip(args[::2], args[1::2], strict=True))


def _element_at(values: Value, place: Value) -> Value:
    if isinstance(values, dict):
        return _get(values, place)
    if values is None or not place:
        return None
    return _at(values, place - 1 if place > 0 else place + len(values))


def _slice(values: list[Value], start: int, length: int) -> Value:
    first = start - 1 if start > 0 else len(values) + start
    return values[first : first + length] if first >= 0 else []


def _indexed(test: Callable[..., Value], values: list[Value]) -> list[Value]:
    return [test(value, index) for index, value in enumerate(values)]


def _filter(values: list[Value], test: Callable[..., Value]) -> Value:
    kept = _indexed(test, values)
    return [value for value, keep in zip(values, kept, strict=True) if keep is True]


def _fold(values: list[Value], total: Value, merge: Callable[..., Value]) -> Value:
    for value in values:
        total = merge(total, value)
    return total


def _zip_with(left: list[Value], right: list[Value], combine: Callable[..., Value]) -> Value:
    longest = max(len(left), len(right))
    return [combine(_at(left, i), _at(right, i)) for i in range(longest)]


def _entries(values: Mapping[Any, Value]) -> Value:
    return [{"key": key, "value": value} for key, value in values.items()]


def _to_json(value: Value) -> Value:
    return json.dumps(value, default=str) if value is not None else None


FUNCTIONS: dict[str, Callable[..., Value]] = {
    # operators
    "and": _and,
    "or": _or,
    "not": _strict(lambda a: not a),
    "=": _strict(lambda a, b: a == b),
    "<>": _strict(lambda a, b: a != b),
    "<": _strict(lambda a, b: a < b),
    "<=": _strict(lambda a, b: a <= b),
    ">": _strict(lambda a, b: a > b),
    "<=>": lambda a, b: a == b,
    "+": _strict(lambda a, b: a + b),
    "-": _strict(lambda a, b: a - b),
    "/": _strict(lambda a, b: a / b),
    "||": _strict(lambda a, b: a + b),
    "is null": lambda a: a is None,
    "is not null": lambda a: a is not None,
    "is true": lambda a: a is True,
    "in": lambda a, *more: (
        None if a is None else _or(*(None if m is None else a == m for m in more))
    ),
    "between": _strict(lambda a, low, high: low <= a <= high),
    "case": _case,
    # functions
    "upper": _strict(str.upper),
    "to_json": _to_json,
    "isnull": lambda a: a is None,
    "isnotnull": lambda a: a is not None,
    "coalesce": _coalesce,
    "nullif": lambda a, b: None if a == b else a,
    "nvl": _coalesce,
    "ifnull": _coalesce,
    "nvl2": lambda a, then, other: then if a is not None else other,
    "if": lambda a, then, other: then if a is True else other,
    "named_struct": _pairs,
    "map": _pairs,
    "array": lambda *args: list(args),
    "size": _strict(len),
    "cardinality": _strict(len),
    "array_size": _strict(len),
    "element_at": _element_at,
    "try_element_at": _element_at,
    "get": _at,
    "slice": _strict(_slice),
    "reverse": _strict(lambda a: a[::-1]),
    "array_compact": _strict(lambda a: [value for value in a if value is not None]),
    "transform": _strict(lambda a, body: _indexed(body, a)),
    "filter": _strict(_filter),
    "exists": _strict(lambda a, test: _or(*_indexed(test, a))),
    "forall": _strict(lambda a, test: _and(*_indexed(test, a))),
    "aggregate": _strict(_fold),
    "reduce": _strict(_fold),
    "zip_with": _strict(_zip_with),
    "map_keys": _strict(list),
    "map_values": _strict(lambda a: list(a.values())),
    "map_entries": _strict(_entries),
    "map_contains_key": _strict(lambda a, key: key in a),
    "map_filter": _strict(lambda a, test: {k: v for k, v in a.items() if test(k, v) is True}),
    "transform_values": _strict(lambda a, body: {k: body(k, v) for k, v in a.items()}),
}
"""Operators and functions by name, on values; a lambda comes as a Python function."""


# --- what a plan means ----------------------------------------------------------------------------


Documents = Callable[[DecodedSource], Sequence[Document]]
"""What a source holds, or what a decoder makes of it."""


def run(plan: Node, documents: Documents) -> list[list[Value]]:
    """The rows that a plan gives, logical or physical."""
    columns = [column.id for column in plan.outputs]
    return [[row[column] for column in columns] for row in _rows(plan, documents)]


def _rows(node: Node, documents: Documents, around: Row | None = None) -> list[Row]:
    """The rows of a node; `around` is the row that a subquery is asked about."""
    if isinstance(node, Subquery):
        rows = _with_answers(node, documents, around)
    elif isinstance(node, Join) and node.lateral:
        rows = [
            joined
            for row in _rows(node.left, documents, around)
            for joined in _joined(node, [row], _rows(node.right, documents, row))
        ]
    elif isinstance(node, DecodedSource):
        rows = decoded(node, documents(node))
    else:
        rows = _rows_of(node, [_rows(child, documents, around) for child in node.children])
    return rows if around is None else [{**around, **row} for row in rows]


def _with_answers(node: Subquery, documents: Documents, around: Row | None) -> list[Row]:
    answered = []
    for row in _rows(node.child, documents, around):
        found = _rows(node.subplan, documents, row)
        columns = [column.id for column in node.subplan.outputs]
        match node.kind:
            case SubqueryKind.EXISTS:
                answer: Value = bool(found)
            case SubqueryKind.SCALAR:
                answer = found[0][columns[0]] if found else None
            case SubqueryKind.IN:
                answer = _is_in(
                    [evaluate(operand, row) for operand in node.operands],
                    [[other[column] for column in columns] for other in found],
                )
        answered.append({**row, **_made(node.relation.id, [answer])})
    return answered


def _is_in(values: list[Value], rows: list[list[Value]]) -> bool | None:
    unknown = False
    for row in rows:
        pairs = list(zip(values, row, strict=True))
        if all(a is not None and b is not None and a == b for a, b in pairs):
            return True
        unknown |= all(a is None or b is None or a == b for a, b in pairs)
    return None if unknown else False


@dataclass(frozen=True, kw_only=True, eq=False)
class Given(Node):
    """Rows that somebody else has made, in the place of a node."""

    relation: Relation
    rows: Sequence[Sequence[Value]]

    @property
    def outputs(self) -> Sequence[Column]:
        return self.relation.columns


def _rows_of(node: Node, below: list[list[Row]]) -> list[Row]:
    match node:
        case Given(rows=rows, relation=relation):
            return [_made(relation.id, row) for row in rows]
        case Keep(columns=columns):
            # Nothing else is there any more, so that a column dropped too early is missed.
            kept = {column.id for column in columns}
            dropped = {column.id for column in node.child.outputs} - kept
            return [{k: v for k, v in row.items() if k not in dropped} for row in below[0]]
        case Union(inputs=inputs, relation=relation):
            return [
                _made(relation.id, [row[column.id] for column in side.outputs])
                for side, rows in zip(inputs, below, strict=True)
                for row in rows
            ]
        case OneRow():
            return [{}]
        case Filter(predicate=predicate):
            return [row for row in below[0] if evaluate(predicate, row) is True]
        case Project(fields=fields, relation=relation):
            return [_made(relation.id, [evaluate(e, row) for _, e in fields]) for row in below[0]]
        case Generate():
            return [row for before in below[0] for row in _generated(node, before)]
        case Join():
            return _joined(node, *below)
        case PhysicalPartialAggregation():
            # Two tasks, and so groups need not be whole; they come in the order of their rows. One
            # that has no rows ships nothing, not even where there are no keys.
            half = len(below[0]) // 2
            return [
                row
                for part in (below[0][:half], below[0][half:])
                for row in (_aggregated(node, part) if part else ())
            ]
        case Aggregation():
            return _aggregated(node, below[0])
        case Pivot():
            return _pivoted(node, below[0])
        case StatefulFunction():
            return _with_memory(node, below[0])
        case Distinct():
            # Who is first is not said; sorted, they are the same however rows came.
            distinct = {repr(list(row.values())): row for row in below[0]}
            return [distinct[text] for text in sorted(distinct)]
        case Sort(keys=keys):
            return _sorted(below[0], keys)
        case Limit(count=count, offset=offset):
            return below[0][offset:][:count]
        case _:
            raise NotImplementedError(type(node))


def decoded(node: DecodedSource, documents: Sequence[Document]) -> list[Row]:
    """The rows that a source gives, or that its decoder ships."""
    rows = [made_row(node, document) for document in documents]
    if not isinstance(node, PhysicalReader):
        return rows
    kept = [
        cut_row(document, node.shipped)
        for document, row in zip(documents, rows, strict=True)
        if all(evaluate(test, row) is True for test in node.filter)
    ]
    shipped = [made_row(node, document) for document in kept]
    if node.limit is None:
        return shipped
    return _sorted(shipped, node.limit.keys)[: node.limit.count]


def _sorted(rows: Sequence[Row], keys: Sequence[SortKey]) -> list[Row]:
    return sorted(rows, key=lambda row: [repr(evaluate(key.expr, row)) for key in keys])


def made_row(node: DecodedSource, document: Document) -> Row:
    return _made(node.relation.id, [document.get(name) for name in node.source.row.names])


def _made(relation: int, values: Sequence[Value]) -> Row:
    return {ColumnId(relation, ordinal): value for ordinal, value in enumerate(values)}


def _generated(node: Generate, row: Row) -> Iterator[Row]:
    name, relation = node.generator.function.name, node.relation
    if name == "stack":
        _, *stacked = (evaluate(arg, row) for arg in node.generator.args)
        for start in range(0, len(stacked), len(relation.schema)):
            yield {**row, **_made(relation.id, stacked[start : start + len(relation.schema)])}
        return
    values = evaluate(node.generator.args[0], row)
    if not values and (node.outer or name.endswith("_outer")):
        yield {**row, **_made(relation.id, [None] * len(relation.schema))}
    for position, value in enumerate(values or ()):
        if name.startswith("inline"):
            made = [_get(value, field) for field in _field_names(node.generator.args[0])]
        else:
            made = [value, values[value]] if isinstance(values, dict) else [value]
        if name.startswith("pos"):
            made.insert(0, position)
        yield {**row, **_made(relation.id, made)}


def _field_names(expr: Expr) -> list[str]:
    names: list[str] = expr.dtype.element.names  # type: ignore[attr-defined]
    return names


def _joined(node: Join, left: list[Row], right: list[Row]) -> list[Row]:
    assert node.kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.CROSS), node.kind
    sources = [source for source in topological(node.right) if isinstance(source, DecodedSource)]
    padding: Row = {column.id: None for s in sources for column in s.relation.columns}
    padding |= {column.id: None for column in node.right.outputs}
    joined: list[Row] = []
    for mine in left:
        pairs = [{**mine, **other} for other in right]
        if node.condition is not None:
            pairs = [pair for pair in pairs if evaluate(node.condition, pair) is True]
        if not pairs and node.kind is JoinKind.LEFT:
            pairs = [{**mine, **padding}]
        joined.extend(pairs)
    return joined


def _aggregated(node: Aggregation, rows: list[Row]) -> list[Row]:
    groups: dict[str, tuple[list[Value], list[Row]]] = {}
    for row in rows:
        keys = [evaluate(key, row) for _, key in node.keys]
        groups.setdefault(repr(keys), (keys, []))[1].append(row)
    if not node.keys:
        groups = {"": ([], rows)}
    made = []
    for keys, group in groups.values():
        totals = [_aggregate(call, group) for _, call in node.calls]
        made.append(_made(node.relation.id, [*keys, *totals]))
    return made


def _pivoted(node: Pivot, rows: list[Row]) -> list[Row]:
    """A value that no row of a group has gives NULL, whatever is computed."""
    groups: dict[str, tuple[list[Value], list[Row]]] = {}
    for row in rows:
        keys = [evaluate(key, row) for _, key in node.keys]
        groups.setdefault(repr(keys), (keys, []))[1].append(row)
    made = []
    for keys, group in groups.values():
        folded: list[Value] = []
        for value in node.values:
            wanted = [evaluate(part, {}) for part in value]
            found = [row for row in group if [evaluate(part, row) for part in node.by] == wanted]
            folded.extend(_aggregate(call, found) if found else None for call in node.folded)
        made.append(_made(node.relation.id, [*keys, *folded]))
    return made


def _aggregate(call: Expr, rows: list[Row]) -> Value:
    """An aggregate, or what is computed of some."""
    if isinstance(call, Literal):
        return _constant(call)
    assert isinstance(call, Call)
    if call.function.kind is not Kind.AGGREGATE:
        return FUNCTIONS[call.function.name](*(_aggregate(arg, rows) for arg in call.args))
    if call.filter is not None:
        rows = [row for row in rows if evaluate(call.filter, row) is True]
    columns = [[evaluate(arg, row) for row in rows] for arg in call.args]
    first = columns[0] if columns else []
    there = [value for value in first if value is not None]
    match call.function.name:
        case "count" if call.distinct:
            return len({repr(value) for value in there})
        case "count":
            return len(there) if columns else len(rows)
        case "first" | "first_value" | "any_value" | "last" | "last_value" | "last_row" as name:
            several = there if call.ignore_nulls else first
            return (several[-1] if name.startswith("last") else several[0]) if several else None
        case "max":
            return max(there, default=None)
        case "min":
            return min(there, default=None)
        case "sum":
            return sum(there) if there else None
        case "avg":
            return sum(there) / len(there) if there else None
        case "collect_list" | "array_agg":
            return there
        case "max_by" | "min_by" as name:
            sign = 1 if name == "max_by" else -1
            pairs = [(sign * k, value) for value, k in zip(*columns, strict=True) if k is not None]
            return max(pairs, key=lambda pair: pair[0])[1] if pairs else None
        case name:
            raise NotImplementedError(name)


def _with_memory(node: StatefulFunction, rows: list[Row]) -> list[Row]:
    made: list[list[Value]] = [[] for _ in rows]
    for call in node.calls:
        earlier: dict[str, list[Value]] = {}
        for row, values in zip(rows, made, strict=True):
            key = repr([evaluate(part, row) for part in call.partition_by])
            seen = earlier.setdefault(key, [])
            value = evaluate(call.args[0], row)
            match call.function.name:
                case "lag":
                    values.append(seen[-1] if seen else None)
                case "latest":
                    values.append(_coalesce(value, *reversed(seen)))
                case "acc_count":
                    values.append(sum(v is not None for v in (*seen, value)))
                case name:
                    raise NotImplementedError(name)
            seen.append(value)
    return [
        {**row, **_made(node.relation.id, values)} for row, values in zip(rows, made, strict=True)
    ]
