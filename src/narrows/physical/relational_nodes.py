"""Physical nodes of queries that are more than one SELECT; each is its logical counterpart."""

from __future__ import annotations

from dataclasses import dataclass, field

from narrows.logical.nodes import Info, Node
from narrows.logical.relational_nodes import (
    Analytic,
    Keep,
    NearestJoin,
    OneRow,
    Pivot,
    Recursion,
    RecursiveRows,
    SetOperation,
    SparkTable,
    Subquery,
    TableFunction,
    Union,
    Values,
)


class PhysicalOneRow(OneRow):
    pass


class PhysicalValues(Values):
    pass


class PhysicalTableFunction(TableFunction):
    pass


class PhysicalPivot(Pivot):
    pass


class PhysicalRecursion(Recursion):
    pass


class PhysicalRecursiveRows(RecursiveRows):
    pass


class PhysicalSparkTable(SparkTable):
    pass


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalUnion(Union):
    by_entry: bool = field(default=False, compare=False)
    """Are entries of its streams read together, by a job? Otherwise each is read by a streaming
    query of Spark's."""

    def info(self) -> Info:
        return {**super().info(), **({"entries": "together"} if self.by_entry else {})}


class PhysicalSetOperation(SetOperation):
    pass


class PhysicalNearestJoin(NearestJoin):
    pass


class PhysicalSubquery(Subquery):
    pass


class PhysicalAnalytic(Analytic):
    pass


class PhysicalKeep(Keep):
    @property
    def operator(self) -> str:
        return "PhysicalProject"


RELATIONAL_COUNTERPARTS: dict[type[Node], type[Node]] = {
    OneRow: PhysicalOneRow,
    Values: PhysicalValues,
    TableFunction: PhysicalTableFunction,
    Pivot: PhysicalPivot,
    Recursion: PhysicalRecursion,
    RecursiveRows: PhysicalRecursiveRows,
    SparkTable: PhysicalSparkTable,
    Union: PhysicalUnion,
    SetOperation: PhysicalSetOperation,
    NearestJoin: PhysicalNearestJoin,
    Subquery: PhysicalSubquery,
    Analytic: PhysicalAnalytic,
    Keep: PhysicalKeep,
}
