"""PredicatePushdown: tests rows as early as possible.

Before:  Filter predicate=[t1.a > 1 AND t2.b = 2]     After:  Join
         └─Join on=[t1.id = t2.id]                            ├─Filter predicate=[t1.a > 1]
           ├─DataSource t1                                    │ └─DataSource t1
           └─DataSource t2                                    └─Filter predicate=[t2.b = 2]
                                                                └─DataSource t2

Recognises, below a Filter, and moves there what may move, conjunct by conjunct:

* Filter: both become one.
* Project: names are replaced by what they stand for.
* Join: a conjunct that looks at one side only goes to that side, unless that side may be padded
  with NULLs (the right side of a LEFT JOIN); then it must see the padded rows, and stays.
* Aggregation: a conjunct on group keys alone drops whole groups.
* Window, if a row's own time tells its windows (tumbling, hopping): a conjunct that does not look
  at the window's bounds. All other windows depend on which rows there are.
* Generate: a conjunct that does not look at the generated columns.
* Sort, Distinct: anything.

Refuses: conjuncts that are not deterministic; everything below a Limit (it would let other rows in)
and below a StatefulFunction (what a row remembers must not depend on which rows are shown).

Terminates: each step moves a conjunct strictly downwards or merges two filters, and nothing here or
in any later rule moves one up.

Runs before pruning: a predicate that moves below an aggregation takes its columns along.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from narrows.expressions import Call, Column, ColumnId, Expr, columns_of, rewrite, walk
from narrows.logical.nodes import (
    Aggregation,
    Distinct,
    Filter,
    Generate,
    Join,
    JoinKind,
    Node,
    Project,
    Sort,
    UnaryNode,
    Window,
)
from narrows.logical.walk import transform_up
from narrows.sql.functions import operator

_AND = operator("and")

_LEFT_IS_KEPT = {JoinKind.INNER, JoinKind.CROSS, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI}
"""Joins that never pad the left side with NULLs."""
_RIGHT_IS_KEPT = {JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT}


class PredicatePushdown:
    def apply(self, plan: Node) -> Node | None:
        changed = transform_up(plan, _push)
        if changed is None:
            return None
        return self.apply(changed) or changed


def _push(node: Node) -> Node | None:
    if not isinstance(node, Filter):
        return None
    conjuncts = split(node.predicate)
    match node.child:
        case Filter(predicate=below, child=child):
            return Filter(child=child, predicate=conjunction([*split(below), *conjuncts]))
        case Project() as project:
            return _through_project(conjuncts, project)
        case Join() as join:
            return _into_join(conjuncts, join)
        case Aggregation() as aggregation:
            return _below_aggregation(conjuncts, aggregation)
        case Window(window=call) as window if call.function.cuts_by_time:
            return _below(conjuncts, window, _ids(window.child))
        case Generate() as generate:
            return _below(conjuncts, generate, _ids(generate.child))
        case Sort() | Distinct() as unary:
            return _below(conjuncts, unary, _ids(unary.child))
        case _:
            return None


def _below(conjuncts: Sequence[Expr], node: UnaryNode, usable: set[ColumnId]) -> Node | None:
    """Moves the conjuncts that use only these columns below the node."""
    moving, staying = _divide(conjuncts, usable)
    if not moving:
        return None
    pushed = node.with_children([Filter(child=node.child, predicate=conjunction(moving))])
    return with_filter(pushed, staying)


def _through_project(conjuncts: Sequence[Expr], project: Project) -> Node | None:
    meaning = {
        ColumnId(project.relation.id, ordinal): expr
        for ordinal, (_, expr) in enumerate(project.fields)
    }
    if not all(is_deterministic(expr) for expr in meaning.values()):
        return None
    return _substituted(conjuncts, project, meaning)


def _below_aggregation(conjuncts: Sequence[Expr], aggregation: Aggregation) -> Node | None:
    if not aggregation.keys:
        return None  # a global aggregate gives a row even when no row comes in
    if not all(is_deterministic(expr) for _, expr in aggregation.keys):
        return None
    meaning = {
        ColumnId(aggregation.relation.id, ordinal): expr
        for ordinal, (_, expr) in enumerate(aggregation.keys)
    }
    window = aggregation.child
    if isinstance(window, Window):
        # What cannot pass the window stays above: between the window and its aggregation there is
        # nothing to be gained, and the two could no longer become one.
        below = _ids(window.child) if window.window.function.cuts_by_time else ()
        meaning = {key: expr for key, expr in meaning.items() if _uses_only(expr, below)}
    return _substituted(conjuncts, aggregation, meaning)


def _substituted(
    conjuncts: Sequence[Expr], node: UnaryNode, meaning: dict[ColumnId, Expr]
) -> Node | None:
    moving, staying = _divide(conjuncts, meaning.keys())
    if not moving:
        return None

    def spelled_out(expr: Expr) -> Expr | None:
        return meaning.get(expr.id) if isinstance(expr, Column) else None

    below = [rewrite(conjunct, spelled_out) for conjunct in moving]
    pushed = node.with_children([Filter(child=node.child, predicate=conjunction(below))])
    return with_filter(pushed, staying)


def _into_join(conjuncts: Sequence[Expr], join: Join) -> Node | None:
    left_ids, right_ids = _ids(join.left), _ids(join.right)
    left: list[Expr] = []
    right: list[Expr] = []
    staying: list[Expr] = []
    for conjunct in conjuncts:
        used = {column.id for column in columns_of(conjunct)}
        if not used or not is_deterministic(conjunct):
            staying.append(conjunct)
        elif used <= left_ids and join.kind in _LEFT_IS_KEPT:
            left.append(conjunct)
        elif used <= right_ids and join.kind in _RIGHT_IS_KEPT:
            right.append(conjunct)
        else:
            staying.append(conjunct)
    if not left and not right:
        return None
    pushed = join.with_children([with_filter(join.left, left), with_filter(join.right, right)])
    return with_filter(pushed, staying)


# --- conjuncts ------------------------------------------------------------------------------------


def split(predicate: Expr) -> list[Expr]:
    """`a AND b AND c` as its parts."""
    if isinstance(predicate, Call) and predicate.function == _AND:
        return [part for arg in predicate.args for part in split(arg)]
    return [predicate]


def conjunction(conjuncts: Sequence[Expr]) -> Expr:
    if len(conjuncts) == 1:
        return conjuncts[0]
    return Call(function=_AND, args=tuple(conjuncts), dtype=_AND.result(conjuncts))


def with_filter(node: Node, conjuncts: Sequence[Expr], kind: type[Filter] = Filter) -> Node:
    return kind(child=node, predicate=conjunction(conjuncts)) if conjuncts else node


def is_deterministic(expr: Expr) -> bool:
    return all(
        part.function.deterministic and part.function.known
        for part in walk(expr)
        if isinstance(part, Call)
    )


def _divide(
    conjuncts: Sequence[Expr], usable: Container[ColumnId]
) -> tuple[list[Expr], list[Expr]]:
    """Those that may move to where only these columns exist, and those that stay."""
    moving: list[Expr] = []
    staying: list[Expr] = []
    for conjunct in conjuncts:
        moves = is_deterministic(conjunct) and _uses_only(conjunct, usable)
        (moving if moves else staying).append(conjunct)
    return moving, staying


def _uses_only(expr: Expr, usable: Container[ColumnId]) -> bool:
    return all(column.id in usable for column in columns_of(expr))


def _ids(node: Node) -> set[ColumnId]:
    return {column.id for column in node.outputs}
