"""Writes out calls of functions that have a body in SQL: `indexof(a, 'x')` is
`instr(a, 'x') - 1`.

The arguments stand where the body names them, so nothing behind the binder knows of such a
function: demand goes through it, filters reach the reader, EXPLAIN shows what is computed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp

from narrows.errors import Code, NarrowsError, Problem, Span, fail
from narrows.expressions.function import Kind
from narrows.expressions.nodes import Call, Cast, Expr, rewrite, walk
from narrows.functions.spark_name import spark_name
from narrows.schema import DataType
from narrows.sql.binder.context import Problems
from narrows.sql.parser.dialect import tokenize
from narrows.sql.parser.query import read_query
from narrows.sql.scope import Scope

if TYPE_CHECKING:
    from narrows.sql.binder.expression import Binder

_ON_ROWS = (Kind.AGGREGATE, Kind.ANALYTIC)


def written_out(binder: Binder, call: Call) -> Expr:
    """The call, or what stands for it."""
    body = call.function.body
    if body is None:
        return call
    try:
        text = body.text(call.args)
    except NarrowsError as error:
        raise _at(call.span, error.problems) from None
    if text is None:
        return call
    _refuse_clauses(call)
    args = call.args
    if body.parameters is not None:
        args = tuple(as_type(arg, to.type) for arg, to in zip(args, body.parameters, strict=True))
    names = zip(body.names(len(args)), args, strict=True)
    value = _bound(binder, call, text, {name.casefold(): arg for name, arg in names})
    for arg in args:
        _refuse_two_draws(call, arg, value)
    if call.function.kind in _ON_ROWS:
        value = rewrite(value, lambda part: _with_clauses(part, call))
    if body.returns is not None:
        value = as_type(value, body.returns)
    return replace(value, span=call.span, written_as=spark_name(call))


def as_type(value: Expr, dtype: DataType) -> Expr:
    """The value as one of a type; as it is, where it is one. A cast would look at all of it."""
    return value if value.dtype == dtype else Cast(operand=value, to=dtype.sql(), dtype=dtype)


def _bound(binder: Binder, call: Call, text: str, arguments: dict[str, Expr]) -> Expr:
    scope = Scope(aliases=arguments)
    for _ in range(binder.scope.lambda_depth):
        scope.enter_lambda(())  # parameters of the body's lambdas are others than those around it
    problems = Problems()
    # Of its type, for its module needs this one.
    inner = type(binder)(scope, binder.functions, problems, binder.ids)
    kinds = (Kind.AGGREGATE,) if call.function.kind in _ON_ROWS else ()
    value = inner.bind_in(f"the body of `{call.function.name}`", body_tree(text).copy(), *kinds)
    try:
        problems.raise_if_any()
    except NarrowsError as error:
        raise _at(call.span, error.problems, f"`{call.function.name}(...)`: ") from None
    return value


@lru_cache(maxsize=1000)
def body_tree(text: str) -> exp.Expr:
    """The expression, without places: what is wrong is wrong where the function is called."""
    query = f"SELECT {text}"
    (tree,) = read_query(tokenize(query), query).tree.expressions
    for part in tree.walk():
        for place in ("start", "end", "line", "col"):
            part.meta.pop(place, None)
    assert isinstance(tree, exp.Expr)
    return tree


def _at(span: Span | None, problems: tuple[Problem, ...], before: str = "") -> NarrowsError:
    return NarrowsError(
        *(
            Problem(problem.code, before + problem.message, span, problem.hint)
            for problem in problems
        )
    )


def _with_clauses(part: Expr, call: Call) -> Expr | None:
    """The aggregates of the body are those that DISTINCT, FILTER and OVER are about."""
    if not isinstance(part, Call) or part.function.kind is not Kind.AGGREGATE:
        return None
    return replace(
        part,
        function=replace(part.function, kind=call.function.kind),
        distinct=part.distinct or call.distinct,
        filter=call.filter,
        partition_by=call.partition_by,
        sorted_by=call.sorted_by,
        frame=call.frame,
    )


def _refuse_clauses(call: Call) -> None:
    for given, clause in ((call.ignore_nulls, "IGNORE NULLS"), (call.order_by, "WITHIN GROUP")):
        if given:
            message = f"`{call.function.name}` takes no {clause}"
            raise fail(Code.SYNTAX_ERROR, message, call.span)


def _refuse_two_draws(call: Call, arg: Expr, value: Expr) -> None:
    """A random value that stands in the body twice would be two values."""
    random = any(isinstance(part, Call) and part.function.drawn for part in walk(arg))
    if random and sum(part is arg for part in walk(value)) > 1:
        raise fail(
            Code.NOT_SUPPORTED,
            f"`{call.function.name}` looks at its argument more than once, and"
            " this one would be another value each time",
            arg.span or call.span,
            "compute it in a subquery first",
        )
