"""Whose rows do not matter without a partner: which reader may drop rows by whose keys.

    SELECT ... FROM a JOIN b ON a.x = b.y                       a.x -> b.y, b.y -> a.x
    SELECT ... FROM a LEFT JOIN b ON a.x = b.y                  a.x -> b.y
    SELECT ... FROM a WHERE EXISTS (SELECT ... FROM b WHERE b.y = a.x)        a.x -> b.y
    SELECT ... FROM b WHERE b.y IN (SELECT a.x FROM a ...)      a.x -> b.y
    SELECT ... FROM a, b, c WHERE a.x = b.y AND b.y = c.z       a.x -> c.z, too
    SELECT ... FROM b WHERE b.y IN (SELECT x ... GROUP BY x HAVING ...)       its rows -> b.y

An edge `a.x -> b.y` says: whatever is in the tables, the plan gives the same rows if those of b
are left out whose y is no value of a.x. So several may be followed one after the other, each from
what the last has left. NULL equals nothing, so such rows may go as well.

An edge comes of an equality, or an IN, of leaves of two readers that a filter or a join asks for.
The rows that may go must reach that node one by one, each with its leaf: through filters,
projections, generators and such sides of joins that give no row without theirs. And they must go
nowhere else: a reader that two parts of a plan share drops nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from narrows.expressions.nodes import Call, Column, ColumnId, Expr, columns_of, rewrite
from narrows.functions import operator
from narrows.logical.conjuncts import is_deterministic, split
from narrows.logical.nodes import Aggregation, Filter, Generate, Join, JoinKind, Node, Project
from narrows.logical.relational_nodes import Keep, Subquery
from narrows.logical.walk import outer_columns, topological
from narrows.physical.in_reader.paths import source_path
from narrows.physical.nodes import PhysicalDataSource, PhysicalDecoder, PhysicalReader
from narrows.projection.columns import Path
from narrows.schema import DATE, INTEGRAL, STRING, DataType
from narrows.sql.binder.context import SubqueryKind

_EQUALS = operator("=")
_ORDERLESS_CALLS = ("count", "sum", "min", "max", "avg", "count_if", "bool_and", "bool_or")
_ORDERLESS_NODES = (PhysicalDataSource, PhysicalDecoder, Filter, Project, Keep, Join, Aggregation)
_BOTH = (JoinKind.INNER, JoinKind.CROSS)
_NEED_LEFT = (*_BOTH, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
_NEED_RIGHT = (*_BOTH, JoinKind.RIGHT)
"""Joins whose rows each come of one of the left, or of the right."""
_DROP_LEFT = (*_BOTH, JoinKind.RIGHT, JoinKind.SEMI)
_DROP_RIGHT = (*_BOTH, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
"""Joins to which rows of that side do not matter if they have no partner."""


class Leaf(NamedTuple):
    """A value that a reader decodes, by its place in the reader's rows."""

    relation: int
    path: Path


Edge = tuple[Leaf, Leaf]
"""By whose values rows are dropped, and whose."""


class Edges(NamedTuple):
    exprs: Mapping[Leaf, Expr]
    """How the plan writes a leaf."""
    droppable: Mapping[Leaf, frozenset[Leaf]]
    """For each leaf by whose rows another's are dropped: those others."""
    subqueries: Mapping[int, Subquery]
    """Subqueries whose rows are the keys, by the relation that their leaves are of."""


def join_edges(plan: Node) -> Edges:
    """The edges of a plan, and those that follow from them."""
    finder = _Finder(plan)
    direct: dict[Leaf, set[Leaf]] = {}
    for keys, tested in finder.edges():
        direct.setdefault(keys, set()).add(tested)
    droppable = {leaf: _reached(leaf, direct) for leaf in direct}
    return Edges(finder.exprs, droppable, finder.asked)


def _reached(start: Leaf, direct: Mapping[Leaf, set[Leaf]]) -> frozenset[Leaf]:
    found: set[Leaf] = set()
    pending = [start]
    while pending:
        for leaf in direct.get(pending.pop(), ()):
            if leaf not in found:
                found.add(leaf)
                pending.append(leaf)
    return frozenset(leaf for leaf in found if leaf.relation != start.relation)


class _Finder:
    def __init__(self, plan: Node) -> None:
        self._nodes = topological(plan)
        self._parents = Counter(id(child) for node in self._nodes for child in node.children)
        self._subqueries = {
            node.relation.column(0).id: node
            for node in self._nodes
            if isinstance(node, Subquery) and node.kind is SubqueryKind.IN
        }
        self._made = dict(_made_of(self._nodes))
        readers = [n.relation.id for n in self._nodes if isinstance(n, PhysicalReader)]
        self._readers = {relation for relation, times in Counter(readers).items() if times == 1}
        self.exprs: dict[Leaf, Expr] = {}
        self.asked: dict[int, Subquery] = {}

    def edges(self) -> Iterator[Edge]:
        for node in self._nodes:
            match node:
                case Filter(child=child, predicate=predicate):
                    yield from self._asked(predicate, self._dropped_below(child))
                case Join(condition=Expr() as condition):
                    yield from self._asked(condition, self._dropped_by(node))

    def _dropped_by(self, join: Join) -> frozenset[int]:
        left = self._dropped_below(join.left) if join.kind in _DROP_LEFT else frozenset()
        right = self._dropped_below(join.right) if join.kind in _DROP_RIGHT else frozenset()
        return left if join.lateral else left | right

    def _dropped_below(self, node: Node) -> frozenset[int]:
        """The readers whose rows come up to here one by one, and go nowhere else."""
        if self._parents[id(node)] > 1 or not all(map(is_deterministic, node.expressions)):
            return frozenset()
        match node:
            case PhysicalReader(relation=relation):
                return frozenset({relation.id})
            case Filter(child=child) | Project(child=child) | Keep(child=child):
                return self._dropped_below(child)
            case Generate(child=child) | Subquery(child=child):
                return self._dropped_below(child)
            case Join(kind=kind, left=left, right=right):
                found = self._dropped_below(left) if kind in _NEED_LEFT else frozenset()
                if kind in _NEED_RIGHT and not node.lateral:
                    found |= self._dropped_below(right)
                return found
            case _:
                return frozenset()

    def _asked(self, condition: Expr, dropped: frozenset[int]) -> Iterator[Edge]:
        if not dropped:
            return
        for conjunct in split(condition):
            match conjunct:
                case Call(function=function, args=(left, right)) if function == _EQUALS:
                    yield from self._equal(left, right, dropped)
                case Column(id=column) if column in self._subqueries:
                    subquery = self._subqueries[column]
                    among = zip(subquery.operands, subquery.subplan.outputs, strict=True)
                    for operand, value in among:
                        yield from self._equal(operand, value, dropped)
                        yield from self._among(operand, value, subquery, dropped)

    def _equal(self, left: Expr, right: Expr, dropped: frozenset[int]) -> Iterator[Edge]:
        if _kind(left.dtype) is None or _kind(left.dtype) != _kind(right.dtype):
            return
        one, other = self._leaf(left), self._leaf(right)
        if one is None or other is None or one.relation == other.relation:
            return
        if one.relation in dropped:
            yield other, one
        if other.relation in dropped:
            yield one, other

    def _among(
        self, operand: Expr, value: Column, subquery: Subquery, dropped: frozenset[int]
    ) -> Iterator[Edge]:
        """Groups of which few are left: nothing that a reader decodes says which."""
        tested = self._leaf(operand)
        if tested is None or tested.relation not in dropped or not _chooses_groups(subquery):
            return
        if _kind(operand.dtype) is None or _kind(operand.dtype) != _kind(value.dtype):
            return
        given = Leaf(subquery.relation.id, (value.name,))
        self.exprs[given] = replace(value, qualifier=subquery.relation.schema.names[0])
        self.asked[subquery.relation.id] = subquery
        yield given, tested

    def _leaf(self, expr: Expr) -> Leaf | None:
        """What the value was when a reader decoded it."""
        written = rewrite(expr, self._written)
        for relation in {column.id.relation for column in columns_of(written)} & self._readers:
            path = source_path(written, relation)
            if path is not None:
                self.exprs[Leaf(relation, path)] = written
                return Leaf(relation, path)
        return None

    def _written(self, expr: Expr) -> Expr | None:
        made = self._made.get(expr.id) if isinstance(expr, Column) else None
        return None if made is None else rewrite(made, self._written)


def _chooses_groups(subquery: Subquery) -> bool:
    """Is it a GROUP BY with HAVING that gives the same groups whenever, and whatever is around?"""
    node: Node = subquery.subplan
    while isinstance(node, (Project, Keep)):
        node = node.child
    if not (isinstance(node, Filter) and isinstance(node.child, Aggregation)):
        return False
    if any(True for _ in outer_columns(subquery.subplan)):
        return False
    return all(map(_gives_the_same, topological(subquery.subplan)))


def _gives_the_same(node: Node) -> bool:
    """Does it make the same rows of the same rows, in whichever order they come?"""
    if not isinstance(node, _ORDERLESS_NODES):
        return False
    calls = node.calls if isinstance(node, Aggregation) else ()
    known = all(isinstance(e, Call) and e.function.name in _ORDERLESS_CALLS for _, e in calls)
    return known and all(map(is_deterministic, node.expressions))


def _made_of(nodes: Sequence[Node]) -> Iterator[tuple[ColumnId, Expr]]:
    """What columns are made of, where that is a value of a row below: as it is, or as the key of
    its group."""
    for node in nodes:
        match node:
            case Project(fields=named, relation=relation):
                pass
            case Aggregation(keys=named, relation=relation, sets=None):
                pass
            case _:
                continue
        for place, (_, expr) in enumerate(named):
            yield relation.column(place).id, expr


def _kind(dtype: DataType) -> str | None:
    """Types whose values are equal to Arrow when they are to Spark, and that meet without a cast
    or with one to a wider whole number."""
    if dtype in INTEGRAL:
        return "number"
    return "date" if dtype == DATE else "text" if dtype == STRING else None
