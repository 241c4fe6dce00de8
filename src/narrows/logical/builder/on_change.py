"""The rows of a stream that say something new: `on_change = 'a, b->c', on_change_by = 'k'`.

The option is a filter right above the stream, wherever that stands in FROM, over the function that
remembers what values were (`had_changed`):

    FROM s   is   FROM (SELECT * FROM s WHERE had_changed(false, a, b->c) OVER (PARTITION BY k))

So whatever holds of functions that remember rows holds here: they see every row in the order of the
stream, what they remember survives restarts, and only what they look at is decoded for them.
"""

from __future__ import annotations

from dataclasses import replace

from narrows.catalog.objects import Source
from narrows.catalog.options import ON_CHANGE, ON_CHANGE_BY
from narrows.errors import NarrowsError
from narrows.expressions.nodes import Call, Expr, Literal
from narrows.functions import FunctionRegistry
from narrows.logical.nodes import (
    DataSource,
    Filter,
    NamedExpr,
    Node,
    StatefulFunction,
    default_name,
    relation_of,
)
from narrows.plugins.options import Options
from narrows.schema import BOOLEAN
from narrows.sql.binder.context import Ids, Problems
from narrows.sql.binder.expression import Binder
from narrows.sql.parser.script import parse_expressions
from narrows.sql.scope import Relation, Scope

_FALSE = Literal(text="FALSE", value=False, dtype=BOOLEAN)


def rows_that_change(read: DataSource, functions: FunctionRegistry, ids: Ids) -> Node:
    """What a query reads of a stream: all its rows, unless it asks for those that change."""
    if ON_CHANGE.name not in read.source.options:
        return read
    values = _bound(read.source, read.relation, ON_CHANGE.name, functions, ids)
    keys = _bound(read.source, read.relation, ON_CHANGE_BY.name, functions, ids)
    had_changed = functions.find("had_changed")
    assert had_changed is not None
    call = Call(
        function=had_changed, args=(_FALSE, *values), partition_by=tuple(keys), dtype=BOOLEAN
    )
    relation = relation_of(ids.new(), None, [NamedExpr(default_name(call), call)])
    remembered = StatefulFunction(
        child=read, calls=(call,), relation=relation, option=ON_CHANGE_BY.name
    )
    return Filter(child=remembered, predicate=relation.column(0))


def check_on_change(source: Source, options: Options, functions: FunctionRegistry) -> None:
    """Raises what is wrong with the options of a stream, and where."""
    relation = Relation(0, source.name, source.row)
    for name in (ON_CHANGE.name, ON_CHANGE_BY.name):
        if name not in options:
            continue
        try:
            _bound(source, relation, name, functions, Ids())
        except NarrowsError as error:
            problems = [
                replace(
                    problem,
                    message=f"option `{name}`: {problem.message}",
                    span=options[name].inside(problem.span),
                )
                for problem in error.problems
            ]
            raise NarrowsError(*problems) from None


def _bound(
    source: Source, relation: Relation, option: str, functions: FunctionRegistry, ids: Ids
) -> list[Expr]:
    """What an option names, as expressions over a row of the stream."""
    if option not in source.options:
        return []
    problems = Problems()
    binder = Binder(Scope([relation]), functions, problems, ids)
    trees = parse_expressions(str(source.options[option]))
    bound = [binder.bind_in("this option", tree) for tree in trees]
    problems.raise_if_any()
    return bound
