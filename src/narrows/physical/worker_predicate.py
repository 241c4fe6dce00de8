"""Which tests a reader can run itself: from bound expressions to `codecs.predicate`.

The line is drawn where Arrow and Spark could disagree: no casts, no arithmetic, no functions, and
constants and columns only of the column's own kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal as DecimalValue
from struct import pack, unpack

from narrows.expressions.function import Function
from narrows.expressions.nodes import Call, Expr, Literal
from narrows.functions import operator
from narrows.physical.paths import source_path
from narrows.projection.columns import Aspect, DecodeProjection, Path
from narrows.projection.predicate import (
    And,
    Compare,
    CompareColumns,
    Constant,
    IsIn,
    IsNull,
    IsTrue,
    Like,
    Not,
    Or,
    Predicate,
)
from narrows.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    STRING,
    TIMESTAMP,
    DataType,
    Decimal,
    is_scalar,
)

_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARISONS = {operator(name): name for name in _FLIPPED}
_AND, _OR, _NOT = operator("and"), operator("or"), operator("not")
_IN, _BETWEEN, _LIKE = operator("in"), operator("between"), operator("like")
_IS_NULL, _IS_NOT_NULL = operator("is null"), operator("is not null")

_COMPARABLE = (*INTEGRAL, STRING, DATE, TIMESTAMP)
"""Types whose values Arrow and Spark order alike, column against column; decimals, too."""

ColumnPlace = Callable[[Path], int]
"""Where the column of a leaf stands."""


def leaf_test(expr: Expr, relation: int) -> Predicate | None:
    """The test, with all columns at place 0: tells whether a reader can run it."""
    return placed_test(expr, relation, lambda path: 0)


def placed_test(expr: Expr, relation: int, place: ColumnPlace) -> Predicate | None:
    """The test, with columns where they stand; None if a reader cannot run it."""
    return _Translator(relation, place).predicate(expr)


def worker_predicate(
    tests: Sequence[Expr], relation: int, projection: DecodeProjection
) -> Predicate | None:
    """The tests of a decoder, on the columns of its projection; None if there are none."""

    def place(path: Path) -> int:
        return projection.by_place[path, Aspect.VALUE]

    if not tests:
        return None
    translated = [_Translator(relation, place).predicate(test) for test in tests]
    known = tuple(part for part in translated if part is not None)
    assert len(known) == len(tests)
    return known[0] if len(known) == 1 else And(known)


@dataclass(frozen=True)
class _Translator:
    relation: int
    place: ColumnPlace

    def predicate(self, expr: Expr) -> Predicate | None:
        if not isinstance(expr, Call):
            column = self._leaf(expr)
            return IsTrue(column) if column is not None and expr.dtype == BOOLEAN else None
        function, args = expr.function, expr.args
        if function in _COMPARISONS:
            return self._compare(_COMPARISONS[function], *args)
        if function in (_AND, _OR):
            return self._connector(function, args)
        if function == _NOT:
            inner = self.predicate(args[0])
            return None if inner is None else Not(inner)
        if function in (_IS_NULL, _IS_NOT_NULL):
            column = self._leaf(args[0])
            if column is None:
                return None
            return IsNull(column) if function == _IS_NULL else Not(IsNull(column))
        if function == _BETWEEN:
            low, high = self._compare(">=", args[0], args[1]), self._compare("<=", args[0], args[2])
            return None if low is None or high is None else And((low, high))
        if function == _IN:
            return self._in(args[0], args[1:])
        if function == _LIKE:
            return self._like(*args)
        return None

    def _connector(self, function: Function, args: Sequence[Expr]) -> Predicate | None:
        parts = [self.predicate(arg) for arg in args]
        known = tuple(part for part in parts if part is not None)
        if len(known) < len(parts):
            return None
        return And(known) if function == _AND else Or(known)

    def _compare(self, name: str, left: Expr, right: Expr) -> Predicate | None:
        if isinstance(left, Literal):
            left, right, name = right, left, _FLIPPED[name]
        column, constant = self._leaf(left), _constant(left, right)
        if column is None:
            return None
        if constant is not None:
            return Compare(column, name, constant)
        other = self._leaf(right)
        # Of two types Spark makes a third; and NaN compares in its own way.
        alike = left.dtype == right.dtype
        comparable = left.dtype in _COMPARABLE or isinstance(left.dtype, Decimal)
        if other is None or not alike or not comparable:
            return None
        return CompareColumns(column, name, other)

    def _like(self, value: Expr, pattern: Expr, *more: Expr) -> Predicate | None:
        column, text = self._leaf(value), _constant(value, pattern)
        if column is None or more or not isinstance(text, str):
            return None
        # What `_` matches and what a backslash before it means need not be the same to Arrow.
        return None if "_" in text or "\\" in text else Like(column, text)

    def _in(self, value: Expr, candidates: Sequence[Expr]) -> Predicate | None:
        column = self._leaf(value)
        constants = [_constant(value, candidate) for candidate in candidates]
        known = tuple(constant for constant in constants if constant is not None)
        if column is None or len(known) < len(constants):
            return None
        if value.dtype in (FLOAT, DOUBLE) or isinstance(value.dtype, Decimal):
            return None
        return IsIn(column, known)

    def _leaf(self, expr: Expr) -> int | None:
        """The place of the column that holds this value, if it is a scalar of the source."""
        path = source_path(expr, self.relation)
        if path is None or not is_scalar(expr.dtype):
            return None
        return self.place(path)


def _constant(column: Expr, literal: Expr) -> Constant | None:
    """The constant's value, if it is of the column's own kind."""
    if not isinstance(literal, Literal):
        return None
    value, dtype = literal.value, column.dtype
    if dtype in INTEGRAL and isinstance(value, int) and not isinstance(value, bool):
        # Arrow refuses a constant that the column's type cannot hold; Spark widens the column.
        limit = 2 ** (8 * 2 ** INTEGRAL.index(dtype) - 1)
        return value if -limit <= value < limit else None
    if dtype in (FLOAT, DOUBLE):
        return _floating(literal, dtype)
    if isinstance(dtype, Decimal):
        return _decimal(literal, dtype)
    if dtype == DATE and isinstance(value, date):
        return value
    if dtype == STRING and isinstance(value, str):
        return value
    if dtype == BOOLEAN and isinstance(value, bool):
        return value
    return None


def _floating(literal: Literal, dtype: DataType) -> float | None:
    """A number as a DOUBLE, which the reader compares floating columns as.

    Spark compares a FLOAT with an integer as FLOATs, in ANSI mode as DOUBLEs: it is the same for
    integers that a FLOAT can hold. Decimals and DOUBLEs are compared as DOUBLEs.
    """
    if literal.dtype not in (*INTEGRAL, FLOAT, DOUBLE) and not isinstance(literal.dtype, Decimal):
        return None
    value = float(_digits(literal))
    rounded = literal.dtype == FLOAT or (dtype == FLOAT and literal.dtype in INTEGRAL)
    return None if rounded and not _is_single(value) else value


def _is_single(value: float) -> bool:
    try:
        return bool(unpack("f", pack("f", value))[0] == value)
    except OverflowError:
        return False


def _digits(literal: Literal) -> str:
    """A number without its suffix, `5` of `5L`."""
    return literal.text.rstrip("YSLDFBysldfb")


def _decimal(literal: Literal, dtype: Decimal) -> DecimalValue | None:
    """A number that the column's own type can hold; with any other, Spark widens both sides."""
    if literal.dtype not in INTEGRAL and not isinstance(literal.dtype, Decimal):
        return None
    value = DecimalValue(_digits(literal))
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or -exponent > dtype.scale:
        return None
    return value if len(digits) + exponent <= dtype.precision - dtype.scale else None
