"""Functions that make rows: `LATERAL VIEW explode(n)`, `FROM range(10)`, `t, LATERAL inline(xs)`.

A generator adds its columns to the rows it is given; one that stands in FROM by itself is given a
single row without columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from narrows.errors import Code, NarrowsError, fail
from narrows.expressions.function import Kind, Output
from narrows.expressions.nodes import Call, columns_of
from narrows.logical.nodes import Generate, JoinKind, Node
from narrows.logical.relational_nodes import OneRow, TableFunction
from narrows.schema import UNKNOWN, Field, Struct, Unknown
from narrows.sql.binder.context import name_of, refused, span_of
from narrows.sql.binder.expression import Binder
from narrows.sql.scope import Name, Relation, Scope


def lateral_view(binder: Binder, plan: Node, node: exp.Lateral) -> Node:
    """`LATERAL VIEW [OUTER] explode(n) t AS x`."""
    generator = _generator(binder, node.this, "LATERAL VIEW")
    return _generate(binder, plan, generator, node, bool(node.args.get("outer")))


def lateral_generator(binder: Binder, plan: Node, node: exp.Lateral, outer: bool = False) -> Node:
    """`LATERAL explode(n) AS t(x)`, which sees the columns of what stands before it."""
    if node.args.get("ordinality"):
        raise refused("WITH ORDINALITY", node)
    return _generate(binder, plan, _generator(binder, node.this, "LATERAL"), node, outer)


def is_plain_generator(join: exp.Join, kind: JoinKind) -> bool:
    """A join that only adds what a generator makes of each row; what a condition drops after that
    is not missed, as it were in a left join."""
    on = join.args.get("on")
    holds = on is None or (isinstance(on, exp.Boolean) and bool(on.this))
    return (
        not isinstance(join.this.this, exp.Subquery)
        and (holds or kind is not JoinKind.LEFT)
        and (on is None or on.find(exp.Query) is None)
        and not join.args.get("using")
        and not join.args.get("method")
    )


def table_function(binder: Binder, node: exp.Table) -> Node:
    """A function in FROM: a generator, or one that is only there: `range(10)`."""
    for key, value in node.args.items():
        if value and key not in ("this", "alias"):
            raise refused(f"{key.strip('_').upper()} after a function in FROM", node)
    # It sees what is around the query, but not its neighbours: those take LATERAL.
    alone = Binder(Scope(outer=binder.scope.outer), binder.functions, binder.problems, binder.ids)
    call = alone.bind_in("FROM", node.this, Kind.GENERATOR, Kind.TABLE)
    if isinstance(call, Call) and call.function.generator is not None:
        return _generate(binder, OneRow(), call, node, False)
    if not isinstance(call, Call) or call.function.table is None:
        binder.problems.raise_if_any()
        raise fail(
            Code.MISPLACED_FUNCTION,
            f"`{node.this.name}` makes no rows: it cannot stand in FROM",
            span_of(node),
            "range, explode, posexplode, inline, stack and json_tuple do",
        )
    if any(True for _ in columns_of(call)):
        raise fail(
            Code.WRONG_TYPE,
            f"`{node.this.name}` takes constants in FROM",
            call.span or span_of(node),
        )
    name, names = _alias(node)
    relation = _relation(call, call.function.table(call.args), binder.ids.new(), name, names)
    binder.scope.relations.append(relation)
    return TableFunction(call=call, relation=relation)


def generated_relation(
    generator: Call, relation_id: int, name: str | None, names: Sequence[Name]
) -> Relation:
    """The columns that a generator makes, under the names that the query gives them."""
    function = generator.function
    assert function.generator is not None
    outputs = function.generator.outputs(generator.args)
    if outputs is None and isinstance(generator.args[0].dtype, Unknown):
        # Only Spark knows what it makes: as many columns as the query names, or explode's one.
        outputs = [Output(n.text, UNKNOWN) for n in names] or [Output("col", UNKNOWN)]
    if outputs is None:
        raise fail(
            Code.WRONG_TYPE,
            f"`{function.name}` cannot be planned on this argument",
            generator.span,
            "explode takes a list or a map, inline a list of structs, stack a number of rows",
        )
    return _relation(generator, outputs, relation_id, name, names)


def _relation(
    call: Call,
    outputs: Sequence[Output],
    relation_id: int,
    name: str | None,
    names: Sequence[Name],
) -> Relation:
    if names and len(names) != len(outputs):
        raise fail(
            Code.WRONG_ARITY,
            f"`{call.function.name}` makes {len(outputs)} columns, {len(names)} names were given",
            names[0].span,
        )
    given = [n.text for n in names] or [output.name for output in outputs]
    fields = tuple(Field(n, o.dtype) for n, o in zip(given, outputs, strict=True))
    return Relation(relation_id, name, Struct(fields))


def _generator(binder: Binder, node: exp.Expr, clause: str) -> Call:
    call = binder.bind_in(clause, node, Kind.GENERATOR)
    if not isinstance(call, Call) or call.function.generator is None:
        binder.problems.raise_if_any()
        raise _no_generator(clause, node)
    return call


def _no_generator(clause: str, node: exp.Expr) -> NarrowsError:
    return fail(
        Code.MISPLACED_FUNCTION, f"{clause} takes a generator such as explode", span_of(node)
    )


def _generate(binder: Binder, plan: Node, generator: Call, node: exp.Expr, outer: bool) -> Node:
    name, names = _alias(node)
    relation = generated_relation(generator, binder.ids.new(), name, names)
    binder.scope.relations.append(relation)
    return Generate(child=plan, generator=generator, relation=relation, outer=outer)


def _alias(node: exp.Expr) -> tuple[str | None, list[Name]]:
    alias = node.args.get("alias")
    if alias is None:
        return None, []
    return alias.name or None, [name_of(column) for column in alias.columns]
