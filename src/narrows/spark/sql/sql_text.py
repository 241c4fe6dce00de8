"""Bound expressions as Spark SQL text, over the columns that really exist at run time.

A source ships flat columns: for `b->items[0]->x` there is one column and no `b`. So a constant
access chain becomes that column's name, and wherever an expression uses a nested value *as a value*
although only parts of it were shipped, the value is put together again from the parts. Nobody can
tell the difference: what is missing was not demanded, so nobody looks at it.

The parts that are missing are NULLs of the declared type, because Spark compares types: the
branches of a CASE must have the same one. Where only names are looked up (field access, lambdas,
size) the narrow type does, and `Function.any_shape` says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from narrows.errors import InternalError
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
    SyntaxForm,
    Variable,
)
from narrows.expressions.text import over_text
from narrows.physical.in_reader.paths import source_path
from narrows.projection.columns import Aspect, DecodeProjection, Key, Path, Step
from narrows.schema import UNKNOWN, Array, DataType, Map, Struct, is_nested
from narrows.sql.binder.literals import literal


class Typed(NamedTuple):
    """SQL text, and the type its value has in Spark: the declared one, or a narrower one."""

    text: str
    dtype: DataType


@dataclass(frozen=True)
class ShippedSource:
    """A source as Spark sees it: flat columns, by their names in the data frame."""

    projection: DecodeProjection
    names: Sequence[str]

    def column(self, path: Path, aspect: Aspect) -> Typed | None:
        place = self.projection.by_place.get((path, aspect))
        if place is None or place >= self.projection.shipped:
            return None
        return Typed(quote(self.names[place]), self.projection.columns[place].dtype)

    def steps_below(self, path: Path) -> list[Step]:
        """The steps that lead from this path towards shipped columns."""
        depth = len(path)
        columns = self.projection.columns[: self.projection.shipped]
        below = [c.path for c in columns if len(c.path) > depth and c.path[:depth] == path]
        return list(dict.fromkeys(column_path[depth] for column_path in below))


class SparkSql:
    """Writes expressions over a data frame's columns."""

    def __init__(
        self,
        sources: Mapping[int, ShippedSource],
        columns: Mapping[ColumnId, Typed],
        order: str | None = None,
    ) -> None:
        """`sources` are the relations that ship flat columns, `columns` all other columns.

        `order` is the hidden column that holds each row's place in its source.
        """
        self._order = order
        self._sources = sources
        self._columns = columns
        self._variables: dict[int, Typed] = {}

    def text(self, expr: Expr) -> str:
        """The expression, its value of the declared type."""
        return widen(self.typed(expr), expr.dtype).text

    def sort_key(self, key: SortKey) -> str:
        direction = "DESC" if key.descending else "ASC"
        return f"{self.text(key.expr)} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"

    def typed(self, expr: Expr) -> Typed:
        """The expression, its value of whatever type is at hand."""
        shipped = self._shipped(expr)
        if shipped is not None:
            return shipped
        match expr:
            case Column(id=column):
                return self._columns[column]
            case Variable(id=number):
                return self._variables[number]
            case Literal(text=text, computed=computed):
                whole = f"CAST({text} AS {expr.dtype.sql()})" if computed else text
                return Typed(whole, expr.dtype)
            case FieldAccess(base=base, name=name):
                return _field(self.typed(base), name, expr.dtype)
            case ElementAccess(base=base, index=index):
                return _element(self.typed(base), self.text(index), expr.dtype)
            case Cast(operand=operand, to=to, safe=safe):
                word = "TRY_CAST" if safe else "CAST"
                return Typed(f"{word}({self.text(operand)} AS {to})", expr.dtype)
            case Call():
                return self._call(expr)
            case SyntaxForm(pieces=pieces, operands=operands):
                # A constant stands as it is: `INTERVAL ('1')` is no interval.
                texts = [
                    self.text(operand)
                    if isinstance(operand, Literal) and not operand.computed
                    else f"({self.text(operand)})"
                    for operand in operands
                ]
                parts = zip(pieces, [*texts, ""], strict=True)
                return Typed("".join(piece + text for piece, text in parts), expr.dtype)
            case _:
                raise InternalError(f"no Spark SQL for {type(expr).__name__}")

    # --- what a source shipped --------------------------------------------------------------------

    def _shipped(self, expr: Expr) -> Typed | None:
        for relation, source in self._sources.items():
            path = source_path(expr, relation)
            if path is not None:
                return _from_source(source, path, expr.dtype)
        return None

    # --- calls ------------------------------------------------------------------------------------

    def _call(self, call: Call) -> Typed:
        function = call.function
        values: dict[int, Typed] = {}
        for place, arg in enumerate(call.args):
            if not isinstance(arg, Lambda):
                value = self.typed(arg)
                narrow_will_do = place in function.any_shape
                values[place] = value if narrow_will_do else widen(value, arg.dtype)
        types = [values[p].dtype if p in values else UNKNOWN for p in range(len(call.args))]
        for place, arg in enumerate(call.args):
            if isinstance(arg, Lambda):
                values[place] = self._lambda(arg, function.lambdas[place](types))
        ordered = [values[place] for place in range(len(call.args))]
        return Typed(self._call_text(call, [v.text for v in ordered]), _result(call, ordered))

    def _lambda(self, expr: Lambda, types: Sequence[DataType]) -> Typed:
        names = []
        for parameter, dtype in zip(expr.parameters, types, strict=False):
            # Not the user's name: that could hide a column of the data frame.
            name = f"v{parameter.id}"
            self._variables[parameter.id] = Typed(name, dtype)
            names.append(name)
        body = self.typed(expr.body)
        left = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return Typed(f"{left} -> {body.text}", body.dtype)

    def _call_text(self, call: Call, args: Sequence[str]) -> str:
        function = call.function
        if function.syntax is not None:
            # A text stands as it is: `ESCAPE ('/')` is no Spark SQL.
            operands = [
                text if isinstance(arg, Literal) and isinstance(arg.value, str) else _operand(text)
                for arg, text in zip(call.args, args, strict=True)
            ]
            return f"({function.syntax.write(operands)})"
        if function.in_spark is not None:
            return function.in_spark(args)
        inside = "*" if not args and function.takes_star else ", ".join(args)
        text = f"{function.name}({'DISTINCT ' if call.distinct else ''}{inside})"
        if function.by_order:
            return self._by_order(call, inside)
        if call.order_by:
            text += f" WITHIN GROUP (ORDER BY {', '.join(map(self.sort_key, call.order_by))})"
        if call.filter is not None:
            text += f" FILTER (WHERE {self.text(call.filter)})"
        if call.ignore_nulls:
            text += " IGNORE NULLS"
        if function.kind is Kind.ANALYTIC:
            text += over_text(call, self.text, self.sort_key)
        return text

    def _by_order(self, call: Call, value: str) -> str:
        """The value of the last row, in the order of the source."""
        if self._order is None:
            raise InternalError(f"`{call.function.name}` needs an order, and none was shipped")
        conditions = [] if call.filter is None else [f"({self.text(call.filter)})"]
        if call.ignore_nulls:
            conditions.append(f"({value}) IS NOT NULL")
        text = f"max_by({value}, {quote(self._order)})"
        return f"{text} FILTER (WHERE {' AND '.join(conditions)})" if conditions else text


def _result(call: Call, values: Sequence[Typed]) -> DataType:
    """The type that the call really gives, when an argument is narrower than declared."""
    narrowed: list[Expr] = []
    for arg, value in zip(call.args, values, strict=True):
        if isinstance(arg, Lambda):
            narrowed.append(replace(arg, body=replace(arg.body, dtype=value.dtype)))
        else:
            narrowed.append(arg if arg.dtype == value.dtype else replace(arg, dtype=value.dtype))
    if all(new is old for new, old in zip(narrowed, call.args, strict=True)):
        return call.dtype
    return call.function.result(narrowed)


# --- access ---------------------------------------------------------------------------------------


def _field(base: Typed, name: str, declared: DataType) -> Typed:
    dtype = declared
    if isinstance(base.dtype, Struct) and name in base.dtype.names:
        dtype = base.dtype.fields[base.dtype.ordinal(name)].type
    elif isinstance(base.dtype, Struct) and declared != UNKNOWN:
        # Nobody demanded it: what it is put into is taken apart again, `array(b.x, b.y)[0]`.
        return Typed(null(declared), declared)
    return Typed(f"{_operand(base.text)}.{quote(name)}", dtype)


def _element(base: Typed, index: str, declared: DataType) -> Typed:
    """An element that may not be there: NULL, also under ANSI mode."""
    match base.dtype:
        case Array(element):
            return Typed(f"get({base.text}, {index})", element)
        case Map(_, value):
            # As users write it: of such accesses Spark knows how to correlate by them.
            return Typed(f"{_operand(base.text)}[{index}]", value)
        case _:
            return Typed(f"{_operand(base.text)}[{index}]", declared)


def _step(base: Typed, step: Step) -> Typed:
    match step:
        case str():
            return _field(base, step, UNKNOWN)
        case int():
            return _element(base, str(step), UNKNOWN)
        case Key(value):
            return _element(base, literal(value).text, UNKNOWN)  # type: ignore[arg-type]


def _operand(text: str) -> str:
    return text if text.startswith("`") and text.count("`") == 2 else f"({text})"


# --- flat columns to values -----------------------------------------------------------------------


def _from_source(source: ShippedSource, path: Path, dtype: DataType) -> Typed:
    """The value at a path: a column, a part of a built column, or put together from parts."""
    for depth in range(len(path), 0, -1):
        column = source.column(path[:depth], Aspect.VALUE)
        if column is not None:
            for step in path[depth:]:
                narrow = column.dtype
                if isinstance(narrow, Struct) and step not in narrow.names:
                    return Typed(null(dtype), dtype)  # as in `_field`
                column = _step(column, step)
            return column
    return Typed(_put_together(source, path, dtype), dtype)


def _put_together(source: ShippedSource, path: Path, dtype: DataType) -> str:
    column = source.column(path, Aspect.VALUE)
    if column is not None:
        return widen(column, dtype).text
    match dtype:
        case Struct(members):
            present = source.column(path, Aspect.PRESENCE)
            if present is None and not source.steps_below(path):
                return null(dtype)
            parts = [
                f"{string(m.name)}, {_put_together(source, (*path, m.name), m.type)}"
                for m in members
            ]
            value = f"named_struct({', '.join(parts)})"
            return value if present is None else f"CASE WHEN {present.text} THEN {value} END"
        case Array(element):
            return _put_list_together(source, path, element)
        case Map(key, value):
            return _put_map_together(source, path, key, value)
        case _:
            return null(dtype)


def _put_list_together(source: ShippedSource, path: Path, element: DataType) -> str:
    present = source.column(path, Aspect.PRESENCE)
    if present is not None:
        return f"CASE WHEN {present.text} THEN CAST(array() AS {spark_type(Array(element))}) END"
    length = source.column(path, Aspect.LENGTH)
    indices = [step for step in source.steps_below(path) if isinstance(step, int)]
    if not indices:
        if length is None:
            return null(Array(element))
        return f"array_repeat({null(element)}, {length.text})"
    cases = " ".join(
        f"WHEN {index} THEN {_put_together(source, (*path, index), element)}" for index in indices
    )
    count = length.text if length is not None else str(max(indices) + 1)
    # An index beyond the length is no element: filter them away instead of asking for n - 1, which
    # for an empty list would count downwards.
    places = f"filter(sequence(0, {count}), place -> place < {count})"
    return f"transform({places}, place -> CASE place {cases} END)"


def _put_map_together(source: ShippedSource, path: Path, key: DataType, value: DataType) -> str:
    whole = spark_type(Map(key, value))
    present = source.column(path, Aspect.PRESENCE)
    if present is not None:
        return f"CASE WHEN {present.text} THEN CAST(map() AS {whole}) END"
    length = source.column(path, Aspect.LENGTH)
    if length is not None:
        places = f"filter(sequence(0, {length.text}), place -> place < {length.text})"
        nulls = f"array_repeat({null(value)}, {length.text})"
        keys = f"transform({places}, place -> CAST(place AS {spark_type(key)}))"
        return f"map_from_arrays({keys}, {nulls})"
    entries = [
        f"{literal(step.value).text}, {_put_together(source, (*path, step), value)}"  # type: ignore[arg-type]
        for step in source.steps_below(path)
        if isinstance(step, Key)
    ]
    return f"map({', '.join(entries)})" if entries else null(Map(key, value))


def widen(value: Typed, full: DataType) -> Typed:
    """The value with the declared type: fields that nobody demanded are NULL."""
    text, narrow = value
    if narrow == full or not is_nested(full) or not is_nested(narrow):
        return value
    match narrow, full:
        case Struct(), Struct(members):
            parts = []
            for member in members:
                kept = member.name in narrow.names
                part = widen(_field(value, member.name, member.type), member.type) if kept else None
                known = part is not None and part.dtype == member.type
                field = part.text if part is not None and known else null(member.type)
                parts.append(f"{string(member.name)}, {field}")
            built = f"named_struct({', '.join(parts)})"
            return Typed(f"CASE WHEN {text} IS NOT NULL THEN {built} END", full)
        case Array(inner), Array(element):
            body = widen(Typed("part", inner), element)
            converted = body.text if body.dtype == element else null(element)
            return Typed(f"transform({text}, part -> {converted})", full)
        case Map(_, inner), Map(_, element):
            body = widen(Typed("part", inner), element)
            converted = body.text if body.dtype == element else null(element)
            return Typed(f"transform_values({text}, (key, part) -> {converted})", full)
        case _:
            return value


# --- words ----------------------------------------------------------------------------------------


def quote(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def string(text: str) -> str:
    return literal(text).text


def null(dtype: DataType) -> str:
    return f"CAST(NULL AS {spark_type(dtype)})"


def spark_type(dtype: DataType) -> str:
    """The type as Spark's DDL, every name in backticks."""
    match dtype:
        case Struct(members):
            inside = ", ".join(f"{quote(m.name)}: {spark_type(m.type)}" for m in members)
            return f"STRUCT<{inside}>"
        case Array(element):
            return f"ARRAY<{spark_type(element)}>"
        case Map(key, value):
            return f"MAP<{spark_type(key)}, {spark_type(value)}>"
        case _:
            return dtype.sql()
