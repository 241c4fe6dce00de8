"""Joins with the nearest rows: `FROM u JOIN p APPROX NEAREST 3 BY DISTANCE abs(u.x - p.x)`."""

from __future__ import annotations

from sqlglot import exp

from narrows.errors import Code, fail
from narrows.logical.nodes import JoinKind, Node
from narrows.logical.relational_nodes import NearestJoin
from narrows.schema import Map
from narrows.sql.binder.context import refused, span_of
from narrows.sql.binder.expression import Binder

_MOST = 100_000
_CLAUSE = "NEAREST BY"


def nearest_join(
    binder: Binder, kind: JoinKind, left: Node, right: Node, node: exp.Join
) -> NearestJoin:
    """The join, when both sides are in scope."""
    nearest = node.args["nearest"]
    if kind not in (JoinKind.INNER, JoinKind.LEFT):
        raise refused(f"{kind.value} joins with the nearest rows", node)
    for key in ("on", "using", "method"):
        if node.args.get(key):
            raise refused(f"{key.upper()} beside {_CLAUSE}", node)
    if isinstance(node.this, exp.Lateral):
        raise refused(f"LATERAL beside {_CLAUSE}", node)
    if nearest.find(exp.Query):
        raise refused(f"a subquery in {_CLAUSE}", nearest)
    count = nearest.args["count"]
    if not count.name.isdecimal() or not 1 <= int(count.name) <= _MOST:
        message = f"NEAREST takes a number from 1 to {_MOST}"
        raise fail(Code.WRONG_TYPE, message, span_of(count))
    ranking = binder.bind_in(_CLAUSE, nearest.this)
    if isinstance(ranking.dtype, Map):
        message = f"{_CLAUSE} takes values that have an order, and maps have none"
        raise fail(Code.WRONG_TYPE, message, ranking.span)
    return NearestJoin(
        kind=kind,
        left=left,
        right=right,
        ranking=ranking,
        count=int(count.name),
        similarity=bool(nearest.args.get("similarity")),
        approximate=bool(nearest.args.get("approximate")),
    )
