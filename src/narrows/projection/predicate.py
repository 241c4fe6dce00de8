"""Tests on decoded columns, run by the reader before a row is shipped to Spark.

Only tests that mean in Arrow exactly what they mean in Spark exist here: comparisons of a leaf with
a constant or another leaf, IN, LIKE, IS NULL, and their combinations with SQL's three truth values.
Everything else stays a filter in Spark.

The planner makes these tests and the reader runs them, so Arrow is imported where it is needed:
planning must not wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

Constant = bool | int | float | str | date | Decimal


class Predicate:
    """Base of the tests; plain data, so that a reader can carry them to the workers."""

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        """A boolean for each row; NULL where SQL says unknown."""
        raise NotImplementedError


@dataclass(frozen=True)
class Compare(Predicate):
    """`column op constant`, where op is one of = <> < <= > >=."""

    column: int
    operator: str
    constant: Constant

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        values = batch.column(self.column)
        if pa.types.is_float32(values.type):
            values = values.cast(pa.float64())
        constant = pa.scalar(self.constant, values.type) if self._exact else self.constant
        result = getattr(pc, _COMPARE[self.operator])(values, constant)
        if pa.types.is_floating(values.type) and self.operator in (">", ">=", "<>"):
            # In Spark NaN is larger than every number, and unequal to it; IEEE says false.
            return pc.or_kleene(result, pc.is_nan(values))
        return result

    @property
    def _exact(self) -> bool:
        return isinstance(self.constant, Decimal)


_COMPARE = {
    "=": "equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
"""Spark's operators by their names in Arrow."""


@dataclass(frozen=True)
class CompareColumns(Predicate):
    """`column op column`, both of one type, which is not a floating one."""

    left: int
    operator: str
    right: int

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        import pyarrow.compute as pc

        compare = getattr(pc, _COMPARE[self.operator])
        return compare(batch.column(self.left), batch.column(self.right))


@dataclass(frozen=True)
class Like(Predicate):
    """`column LIKE pattern`; the pattern's only special character is `%`."""

    column: int
    pattern: str

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        import pyarrow.compute as pc

        return pc.match_like(batch.column(self.column), self.pattern)


@dataclass(frozen=True)
class IsIn(Predicate):
    """`column IN (constants)`; the constants are not NULL."""

    column: int
    constants: tuple[Constant, ...]

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        values = batch.column(self.column)
        found = pc.is_in(values, value_set=pa.array(self.constants, type=values.type))
        # IN on NULL is NULL, where Arrow says false.
        return pc.if_else(pc.is_null(values), pa.scalar(None, pa.bool_()), found)


@dataclass(frozen=True)
class IsNull(Predicate):
    column: int

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        return batch.column(self.column).is_null()


@dataclass(frozen=True)
class IsTrue(Predicate):
    """A boolean column as a test of its own."""

    column: int

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        return batch.column(self.column)


@dataclass(frozen=True)
class Not(Predicate):
    inner: Predicate

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        import pyarrow.compute as pc

        return pc.invert(self.inner.evaluate(batch))


@dataclass(frozen=True)
class And(Predicate):
    parts: tuple[Predicate, ...]

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        import pyarrow.compute as pc

        result = self.parts[0].evaluate(batch)
        for part in self.parts[1:]:
            result = pc.and_kleene(result, part.evaluate(batch))
        return result


@dataclass(frozen=True)
class Or(Predicate):
    parts: tuple[Predicate, ...]

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        import pyarrow.compute as pc

        result = self.parts[0].evaluate(batch)
        for part in self.parts[1:]:
            result = pc.or_kleene(result, part.evaluate(batch))
        return result


def keep(batch: pa.RecordBatch, predicate: Predicate) -> pa.RecordBatch:
    """The rows for which the test is true; false and unknown go."""
    return batch.filter(predicate.evaluate(batch), null_selection_behavior="drop")
