"""Binds arguments of calls: values, lambdas, `DISTINCT`, stars and names of a struct's fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from narrows.errors import Code, Span, fail
from narrows.expressions.function import Function, Kind
from narrows.expressions.nodes import Call, Expr, Lambda, Literal, Variable
from narrows.schema import UNKNOWN, DataType
from narrows.sql.binder.context import find_function, name_of, span_of
from narrows.sql.binder.literals import literal
from narrows.sql.binder.stars import Starred, spell_out, star_of

if TYPE_CHECKING:
    from narrows.sql.binder.expression import Binder

Argument = exp.Expr | Starred
"""As it was written, or one of the columns that a star stands for."""

FOLDING = frozenset({Kind.AGGREGATE, Kind.ANALYTIC})
IN_ANALYTIC = frozenset({Kind.AGGREGATE, Kind.STATEFUL, Kind.WINDOW_BOUND})
_UNITS = frozenset(
    f"{unit}{s}"
    for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
    for s in ("", "S")
) | {"MILLISECOND", "MICROSECOND", "DAYOFYEAR"}


def bind_arguments(
    binder: Binder, function: Function, call: exp.Anonymous, span: Span | None
) -> Call:
    written, distinct = call.expressions, False
    if len(written) == 1 and isinstance(written[0], exp.Distinct):
        written, distinct = written[0].expressions, True
        if function.kind not in FOLDING:
            raise fail(
                Code.SYNTAX_ERROR, f"`{function.name}` is no aggregate, it takes no DISTINCT", span
            )
    if (
        function.takes_star
        and not distinct
        and len(written) == 1
        and _is_table_star(binder, written[0])
    ):
        # Spark refuses it, too: rows without NULLs are rarely what is meant.
        raise fail(
            Code.NOT_SUPPORTED,
            f"`{function.name}({written[0].sql()})` would count rows in which nothing is NULL",
            span,
            f"write `{function.name}(*)` for all rows, or name the columns",
        )
    plain_star = len(written) == 1 and _is_plain_star(written[0])
    nodes = (
        []
        if plain_star and function.takes_star and not distinct
        else _spelled(binder, function, written)
    )
    if not nodes and plain_star:
        pass  # `count(*)` counts rows
    elif function.unit_first and len(nodes) == 3 and _unit(nodes[0]) in _UNITS:
        unit = Literal(text=_unit(nodes[0]), dtype=UNKNOWN)
        rest = _bind_each(binder, function, nodes[1:], span)
        return replace(rest, args=(unit, *rest.args), dtype=UNKNOWN)
    elif not function.accepts(len(nodes)):
        given = f"{len(nodes)} {'was' if len(nodes) == 1 else 'were'} given"
        raise fail(
            Code.WRONG_ARITY,
            f"function `{function.name}` takes {function.arity_text()}, {given}",
            span,
        )
    if function.kind is Kind.ANALYTIC:
        with binder.within(f"the arguments of `{function.name}`", binder.allowed & IN_ANALYTIC):
            bound = _bind_each(binder, function, nodes, span)
    elif function.kind in (Kind.AGGREGATE, Kind.STATEFUL, Kind.STREAM_WINDOW):
        # No aggregate in an aggregate; but a stateful function works on rows, so it may stand
        # anywhere a row is looked at.
        inside = f"the arguments of `{function.name}`"
        with binder.within(inside, binder.allowed & {Kind.STATEFUL}):
            bound = _bind_each(binder, function, nodes, span)
    elif function.kind is Kind.GENERATOR:
        with binder.within(binder.clause, binder.allowed - {Kind.GENERATOR}):
            bound = _bind_each(binder, function, nodes, span)
    else:
        bound = _bind_each(binder, function, nodes, span)
    return replace(bound, distinct=distinct)


def _unit(node: Argument) -> str:
    return node.name.upper()


def _spelled(binder: Binder, function: Function, nodes: Sequence[exp.Expr]) -> list[Argument]:
    """The arguments, with the columns that a star stands for in its place."""
    if function.kind is Kind.GENERATOR and len(nodes) == 1 and isinstance(nodes[0], exp.Kwarg):
        return [nodes[0].expression]  # there is but one that could be meant
    found: list[Argument] = []
    for node in nodes:
        star = star_of(node)
        if star is None:
            found.append(node)
        else:
            found.extend(spell_out(node, star, binder))
    return found


def _bound(binder: Binder, node: Argument) -> Expr:
    return node.value if isinstance(node, Starred) else binder.bind(node)


def _bind_each(
    binder: Binder, function: Function, nodes: Sequence[Argument], span: Span | None
) -> Call:
    if function.with_names is not None:
        # struct(a, b AS x) means named_struct('a', a, 'x', b)
        target = find_function(binder.functions, function.with_names, span)
        args: list[Expr] = []
        for place, node in enumerate(nodes):
            named = node.this if isinstance(node, exp.Alias) else node
            args.extend((literal(_field_name(node, place)), _bound(binder, named)))
        return _as_call(binder.call(target, tuple(args), span))
    by_place: dict[int, Expr] = {}
    for place, node in enumerate(nodes):
        if place not in function.lambdas:
            by_place[place] = _bound(binder, node)
    types = [by_place[p].dtype if p in by_place else UNKNOWN for p in range(len(nodes))]
    for place, node in enumerate(nodes):
        if place in function.lambdas:
            parameters = function.lambdas[place](types)
            by_place[place] = _bind_lambda(binder, function, node, parameters, span)
    ordered = tuple(by_place[place] for place in range(len(nodes)))
    return _as_call(binder.call(function, ordered, span))


def _as_call(expr: Expr) -> Call:
    assert isinstance(expr, Call)
    return expr


def _is_plain_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) and not any(node.args.values())


def _is_table_star(binder: Binder, node: exp.Expr) -> bool:
    """`t.*`, of a relation."""
    if not (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
        return False
    return bool(binder.scope.find_relations(node.parts[0].name))


def _field_name(node: Argument, place: int) -> str:
    """The name Spark gives to a field of struct(...)."""
    if isinstance(node, Starred):
        return node.name
    if isinstance(node, (exp.Alias, exp.Column, exp.Dot)):
        return node.output_name
    return f"col{place + 1}"


def _bind_lambda(
    binder: Binder,
    function: Function,
    node: Argument,
    types: Sequence[DataType],
    span: Span | None,
) -> Expr:
    fewest = len(types) - function.optional_parameters
    if not isinstance(node, exp.Lambda):
        # The same value for all elements: `filter(n, true)`.
        unnamed = tuple(
            Variable(id=binder.variable_id(place), name="_", dtype=dtype)
            for place, dtype in enumerate(types[:fewest])
        )
        with _inside_lambda(binder, function, ()):
            body = _bound(binder, node)
        return Lambda(parameters=unnamed, body=body, dtype=UNKNOWN, span=span)
    names = [name_of(parameter) for parameter in node.expressions]
    if not fewest <= len(names) <= len(types):
        takes = str(fewest) if fewest == len(types) else f"{fewest} or {len(types)}"
        raise fail(
            Code.WRONG_ARITY,
            f"the lambda of `{function.name}` takes {takes} parameters, not {len(names)}",
            span_of(node) or span,
        )
    variables = tuple(
        Variable(id=binder.variable_id(place), name=name.text, dtype=dtype, span=name.span)
        for place, (name, dtype) in enumerate(zip(names, types, strict=False))
    )
    with _inside_lambda(binder, function, variables):
        body = binder.bind(node.this)
    return Lambda(parameters=variables, body=body, dtype=UNKNOWN, span=span_of(node))


@contextmanager
def _inside_lambda(
    binder: Binder, function: Function, variables: Sequence[Variable]
) -> Iterator[None]:
    binder.scope.enter_lambda(variables)
    try:
        # What a lambda computes it computes for each element: no rows to remember or to fold.
        with binder.within(f"the lambda of `{function.name}`", frozenset()):
            yield
    finally:
        binder.scope.leave_lambda()
