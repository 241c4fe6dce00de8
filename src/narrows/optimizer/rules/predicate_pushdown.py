"""PredicatePushdown: tests rows as early as possible.

SQL:     SELECT t1.name FROM t1 JOIN t2 ON t1.id = t2.id WHERE t1.a > 1 AND t2.b = 2
Before:  Project fields=[t1.name]
         └─Filter predicate=t1.a > 1 AND t2.b = 2
           └─Join on=t1.id = t2.id
             ├─DataSource source=t1
             └─DataSource source=t2
After:   Project fields=[t1.name]
         └─Join on=t1.id = t2.id
           ├─Filter predicate=t1.a > 1
           │ └─DataSource source=t1
           └─Filter predicate=t2.b = 2
             └─DataSource source=t2

Recognises, below a Filter, and moves there what may move, conjunct by conjunct:

* Filter: both become one.
* Project: names are replaced by what they stand for.
* Join: a conjunct that looks at one side only goes to that side, unless that side may be padded
  with NULLs (the right side of a LEFT JOIN); then it must see the padded rows, and stays. One that
  looks at both sides becomes a condition of an inner join, so `FROM a, b WHERE a.k = b.k` is one.
* NearestJoin: a conjunct on the left side; on the right, what is dropped decides what is nearest.
* Aggregation: a conjunct on group keys alone drops whole groups; with grouping sets, the keys that
  are in every set.
* Union, INTERSECT, EXCEPT: into every input.
* Analytic: a conjunct on columns by which every call partitions drops whole partitions.
* Subquery: a conjunct that does not look at the subquery's answer.
* Window, if a row's own time tells its windows (tumbling, hopping): a conjunct that does not look
  at the window's bounds. All other windows depend on which rows there are.
* Generate: a conjunct that does not look at the generated columns.
* Sort, Distinct: anything.

And in the condition of a join: what looks at one side only filters that side, if a row that fails
it cannot turn up in the result all the same (as the left rows of a LEFT JOIN do).

Refuses: conjuncts that are not deterministic; everything below a Limit (it would let other rows in)
and below a StatefulFunction (what a row remembers must not depend on which rows are shown).

Terminates: each step moves a conjunct strictly downwards or merges two filters, and nothing here or
in any later rule moves one up.

Runs before pruning: a predicate that moves below an aggregation takes its columns along.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from narrows.expressions.nodes import Column, ColumnId, Expr, columns_of, in_place, rewrite
from narrows.logical.conjuncts import conjunction, is_deterministic, split, with_filter
from narrows.logical.nodes import (
    Aggregation,
    Distinct,
    Filter,
    Generate,
    Join,
    Node,
    Project,
    Sort,
    UnaryNode,
    Window,
)
from narrows.logical.relational_nodes import (
    Analytic,
    Keep,
    NearestJoin,
    SetOperation,
    Subquery,
    Union,
)
from narrows.logical.walk import transform_up
from narrows.optimizer.join_conditions import into_join, out_of_condition


class PredicatePushdown:
    def apply(self, plan: Node) -> Node | None:
        changed = transform_up(plan, _push)
        if changed is None:
            return None
        return self.apply(changed) or changed


def _push(node: Node) -> Node | None:
    if isinstance(node, Join):
        return out_of_condition(node)
    if not isinstance(node, Filter):
        return None
    conjuncts = split(node.predicate)
    match node.child:
        case Filter(predicate=below, child=child):
            return Filter(child=child, predicate=conjunction([*split(below), *conjuncts]))
        case Project() as project:
            return _through_project(conjuncts, project)
        case Join() as join:
            return into_join(conjuncts, join)
        case NearestJoin() as join:
            return _into_left(conjuncts, join)
        case Aggregation() as aggregation:
            return _below_aggregation(conjuncts, aggregation)
        case Window() as window if window.kind.row_time_decides:
            return _below(conjuncts, window, _ids(window.child))
        case Generate() as generate:
            return _below(conjuncts, generate, _ids(generate.child))
        case Sort() | Distinct() | Keep() as unary:
            return _below(conjuncts, unary, _ids(unary.child))
        case Analytic() as analytic:
            return _below(conjuncts, analytic, _partition_columns(analytic))
        case Subquery() as subquery:
            return _below_subquery(conjuncts, subquery)
        case Union() | SetOperation() as combined:
            return _into_inputs(conjuncts, combined)
        case _:
            return None


def _below(conjuncts: Sequence[Expr], node: UnaryNode, usable: set[ColumnId]) -> Node | None:
    """Moves the conjuncts that use only these columns below the node."""
    moving, staying = _divide(conjuncts, usable)
    if not moving:
        return None
    pushed = node.with_children([Filter(child=node.child, predicate=conjunction(moving))])
    return with_filter(pushed, staying)


def _into_left(conjuncts: Sequence[Expr], join: NearestJoin) -> Node | None:
    """Moves conjuncts to the left side; without a row of the right another would be the nearest."""
    moving, staying = _divide(conjuncts, _ids(join.left))
    if not moving:
        return None
    pushed = join.with_children([with_filter(join.left, moving), join.right])
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
        if aggregation.sets is None or all(ordinal in chosen for chosen in aggregation.sets)
    }
    window = aggregation.child
    if isinstance(window, Window):
        # What cannot pass the window stays above: between the window and its aggregation there is
        # nothing to be gained, and the two could no longer become one.
        below = _ids(window.child) if window.kind.row_time_decides else ()
        meaning = {key: expr for key, expr in meaning.items() if _uses_only(expr, below)}
    return _substituted(conjuncts, aggregation, meaning)


def _substituted(
    conjuncts: Sequence[Expr], node: UnaryNode, meaning: dict[ColumnId, Expr]
) -> Node | None:
    moving, staying = _divide(conjuncts, meaning.keys())
    if not moving:
        return None
    below = [_spelled_out(conjunct, meaning) for conjunct in moving]
    pushed = node.with_children([Filter(child=node.child, predicate=conjunction(below))])
    return with_filter(pushed, staying)


def _spelled_out(expr: Expr, meaning: Mapping[ColumnId, Expr]) -> Expr:
    def spelled_out(part: Expr) -> Expr | None:
        found = meaning.get(part.id) if isinstance(part, Column) else None
        return None if found is None else in_place(found)

    return rewrite(expr, spelled_out)


def _below_subquery(conjuncts: Sequence[Expr], subquery: Subquery) -> Node | None:
    moving, staying = _divide(conjuncts, _ids(subquery.child))
    if not moving:
        return None
    child = Filter(child=subquery.child, predicate=conjunction(moving))
    return with_filter(subquery.with_children([child, subquery.subplan]), staying)


def _into_inputs(conjuncts: Sequence[Expr], node: Union | SetOperation) -> Node | None:
    moving, staying = _divide(conjuncts, {column.id for column in node.outputs})
    if not moving:
        return None
    used = {column.id.ordinal for conjunct in moving for column in columns_of(conjunct)}
    inputs = []
    for branch in node.children:
        if any(node.outputs[i].dtype != branch.outputs[i].dtype for i in used):
            return None  # the sides were brought to a common type, which the test may tell
        meaning = {ColumnId(node.relation.id, i): branch.outputs[i] for i in used}
        below = [_spelled_out(conjunct, meaning) for conjunct in moving]
        inputs.append(with_filter(branch, below))
    return with_filter(node.with_children(inputs), staying)


def _partition_columns(analytic: Analytic) -> set[ColumnId]:
    """The columns by which every call partitions: rows of a partition agree in them."""
    found = [
        {key.id for key in call.partition_by if isinstance(key, Column)} for call in analytic.calls
    ]
    return set.intersection(*found)


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
