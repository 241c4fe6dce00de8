"""Which part of a source each pipeline needs, and how that looks on its schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from narrows.catalog.objects import Pipeline, Source
from narrows.demand import (
    ALL,
    NOTHING,
    Demand,
    Fields,
    Items,
    Keys,
    count_demanded_leaves,
    of_columns,
    union_all,
)
from narrows.demand_text import row_parts
from narrows.explain.plan import Plan
from narrows.logical.walk import sources_of
from narrows.planner.catalog import Catalog
from narrows.planner.query import plan_query
from narrows.schema import Array, DataType, Map, Struct, count_leaves
from narrows.service.models import ReadInfo, TreeNode

Demands = Mapping[str, Demand]
"""Of whom; or on what."""


class PlannedDemands:
    """The demands of pipelines, planned once for each declaration."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[str, tuple[Pipeline, dict[str, Demand]]] = {}

    def clear(self) -> None:
        """What pipelines read has changed, or how it is planned."""
        self._known = {}

    def of(self, pipeline: Pipeline) -> Demands:
        """What a pipeline needs of each source."""
        known = self._known.get(pipeline.name.casefold())
        if known is None or known[0] is not pipeline:
            plan = plan_query(pipeline.query, self._catalog, pipeline=pipeline)
            known = pipeline, demands_of(plan)
            self._known[pipeline.name.casefold()] = known
        return known[1]

    def on(self, source: Source) -> dict[str, Demand]:
        """What each pipeline needs of a source."""
        users = self._catalog.users_of(source)
        return {user.name: self.of(user).get(source.name, NOTHING) for user in users}


def demands_of(plan: Plan) -> dict[str, Demand]:
    found: dict[str, Demand] = {}
    for node in sources_of(plan.logical):
        key = node.source.name
        found[key] = found.get(key, NOTHING).union(node.decode_projection)
    return found


def reads_of(plan: Plan, needed_by: str) -> list[ReadInfo]:
    """What a plan decodes of each of its sources."""
    sources = {node.source.name: node.source for node in sources_of(plan.logical)}
    return [
        read_info(sources[name], demand, {needed_by: demand})
        for name, demand in demands_of(plan).items()
    ]


def read_info(source: Source, decoded: Demand, needed: Demands) -> ReadInfo:
    schema, metadata = source.schema, source.metadata
    return ReadInfo(
        source=source.name,
        columns=list(row_parts(of_columns(decoded, schema), schema)),
        metadata=list(row_parts(of_columns(decoded, metadata), metadata)),
        leaves_decoded=leaves_decoded(source, decoded),
        leaves=count_leaves(schema),
        tree=tree(schema, decoded, needed),
    )


def leaves_decoded(source: Source, demand: Demand) -> int:
    """How many leaves of the payload are decoded: metadata is made of other things."""
    return count_demanded_leaves(source.schema, of_columns(demand, source.schema))


def union_of(demands: Demands, names: set[str]) -> Demand:
    """What those pipelines need together."""
    return union_all(d for name, d in demands.items() if name.casefold() in names)


def tree(dtype: DataType, decoded: Demand, needed: Demands) -> list[TreeNode]:
    """The schema, with what is decoded of it and for whom, down to its leaves."""
    match dtype:
        case Struct(fields):
            return [
                _node(f.name, f.type, _inside(decoded, f.name), _all_inside(needed, f.name))
                for f in fields
            ]
        case Array(element):
            return _below(element, decoded, needed)
        case Map(_, value):
            return _below(value, decoded, needed)
        case _:
            return []


def _below(dtype: DataType, decoded: Demand, needed: Demands) -> list[TreeNode]:
    """What is in the elements of a list or map: they have no names, so they are no nodes."""
    return tree(dtype, _inside(decoded, None), _all_inside(needed, None))


def _node(name: str, dtype: DataType, decoded: Demand, needed: Demands) -> TreeNode:
    return TreeNode(
        name=name,
        type=dtype.sql(),
        decoded=_share(dtype, decoded),
        needed_by=[who for who, demand in needed.items() if demand],
        children=tree(dtype, decoded, needed),
    )


def _share(dtype: DataType, demand: Demand) -> Literal["all", "some", "none"]:
    if not demand:
        return "none"
    return "all" if count_demanded_leaves(dtype, demand) == count_leaves(dtype) else "some"


def _all_inside(demands: Demands, name: str | None) -> Demands:
    return {who: _inside(demand, name) for who, demand in demands.items()}


def _inside(demand: Demand, name: str | None) -> Demand:
    """The demand on a field of a struct, or on any element of a list or map."""
    match demand:
        case Fields() if name is not None:
            return demand.at(name)
        case Items() | Keys() if name is None:
            return demand.anywhere()
        case _:
            return ALL if demand is ALL else NOTHING
