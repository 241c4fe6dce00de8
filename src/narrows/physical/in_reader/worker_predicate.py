"""Which tests a reader can run itself: from bound expressions to `projection.predicate`.

What is tested are values that a reader can compute (`worker_values.py`). The line is drawn where
Arrow and Spark could disagree: constants must be of the value's own kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal as DecimalValue
from struct import pack, unpack

from narrows.expressions.function import Function
from narrows.expressions.nodes import Call, Expr, Literal
from narrows.functions import operator
from narrows.physical.in_reader.constant_values import TypedValue, exact_number, number_text
from narrows.physical.in_reader.worker_values import (
    ColumnPlace,
    ValueTranslator,
    alike,
)
from narrows.projection.columns import Aspect, DecodeProjection, Path
from narrows.projection.predicate import (
    And,
    Compare,
    CompareValues,
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
)

_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARISONS = {operator(name): name for name in _FLIPPED}
_AND, _OR, _NOT = operator("and"), operator("or"), operator("not")
_IN, _BETWEEN, _LIKE = operator("in"), operator("between"), operator("like")
_IS_NULL, _IS_NOT_NULL = operator("is null"), operator("is not null")

COMPARABLE = (*INTEGRAL, STRING, DATE, TIMESTAMP)
"""Types whose values Arrow and Spark order alike, column against column; decimals, too."""


def leaf_test(expr: Expr, relation: int, *, ansi: bool) -> Predicate | None:
    """The test, with all columns at place 0: tells whether a reader can run it."""
    return _Translator(relation, lambda path: 0, ansi=ansi).predicate(expr)


def leaf_value(expr: Expr, relation: int, *, ansi: bool) -> TypedValue | None:
    """The value, likewise."""
    return _Translator(relation, lambda path: 0, ansi=ansi).value(expr)


def worker_predicate(
    tests: Sequence[Expr], relation: int, projection: DecodeProjection
) -> Predicate | None:
    """The tests of a decoder, on the columns of its projection; None if there are none."""
    if not tests:
        return None
    translator = _over(relation, projection)
    translated = [translator.predicate(test) for test in tests]
    known = tuple(part for part in translated if part is not None)
    assert len(known) == len(tests)
    return known[0] if len(known) == 1 else And(known)


def worker_value(expr: Expr, relation: int, projection: DecodeProjection) -> TypedValue:
    """What a decoder computes, of the columns of its projection."""
    found = _over(relation, projection).value(expr)
    assert found is not None, expr
    return found


def _over(relation: int, projection: DecodeProjection) -> _Translator:
    def place(path: Path) -> int:
        return projection.by_place[path, Aspect.VALUE]

    # The planner has decided already what is left to Spark.
    return _Translator(relation, place, ansi=False)


@dataclass(frozen=True)
class _Translator:
    relation: int
    place: ColumnPlace
    ansi: bool

    def value(self, expr: Expr) -> TypedValue | None:
        return ValueTranslator(self.relation, self.place, self.ansi, self.predicate).value(expr)

    def predicate(self, expr: Expr) -> Predicate | None:
        if not isinstance(expr, Call):
            column = self.value(expr) if expr.dtype == BOOLEAN else None
            return None if column is None else IsTrue(column.value)
        function, args = expr.function, expr.args
        if function in _COMPARISONS:
            return self._compare(_COMPARISONS[function], *args)
        if function in (_AND, _OR):
            return self._connector(function, args)
        if function == _NOT:
            inner = self.predicate(args[0])
            return None if inner is None else Not(inner)
        if function in (_IS_NULL, _IS_NOT_NULL):
            tested = self.value(args[0])
            if tested is None:
                return None
            is_null = IsNull(tested.value)
            return is_null if function == _IS_NULL else Not(is_null)
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
        value = self.value(left)
        if value is None:
            return None
        other = self.value(right)
        constant = _constant(value.dtype, right)
        if constant is None and other is not None and isinstance(value.dtype, Decimal):
            number = exact_number(other.value)
            constant = None if number is None else _fitting(number, value.dtype)
        if constant is not None:
            return Compare(value.value, name, constant)
        # Of two types Spark makes a third; and NaN compares in its own way.
        both = alike([value, other])
        if both is None:
            return None
        dtype = both[0].dtype
        if dtype not in COMPARABLE and not isinstance(dtype, Decimal):
            return None
        return CompareValues(both[0].value, name, both[1].value)

    def _like(self, value: Expr, pattern: Expr, *more: Expr) -> Predicate | None:
        tested = self.value(value)
        text = None if tested is None else _constant(tested.dtype, pattern)
        if tested is None or more or not isinstance(text, str):
            return None
        # What `_` matches and what a backslash before it means need not be the same to Arrow.
        return None if "_" in text or "\\" in text else Like(tested.value, text)

    def _in(self, value: Expr, candidates: Sequence[Expr]) -> Predicate | None:
        tested = self.value(value)
        if tested is None:
            return None
        constants = [_constant(tested.dtype, candidate) for candidate in candidates]
        known = tuple(constant for constant in constants if constant is not None)
        if len(known) < len(constants):
            return None
        if tested.dtype in (FLOAT, DOUBLE) or isinstance(tested.dtype, Decimal):
            return None
        return IsIn(tested.value, known)


def _constant(dtype: DataType, literal: Expr) -> Constant | None:
    """The constant's value, if it is of the same kind as what it is compared with."""
    if not isinstance(literal, Literal):
        return None
    value = literal.value
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
    value = float(number_text(literal))
    rounded = literal.dtype == FLOAT or (dtype == FLOAT and literal.dtype in INTEGRAL)
    return None if rounded and not _is_single(value) else value


def _is_single(value: float) -> bool:
    try:
        return bool(unpack("f", pack("f", value))[0] == value)
    except OverflowError:
        return False


def _decimal(literal: Literal, dtype: Decimal) -> DecimalValue | None:
    """A number that the column's own type can hold; with any other, Spark widens both sides."""
    if literal.dtype not in INTEGRAL and not isinstance(literal.dtype, Decimal):
        return None
    return _fitting(DecimalValue(number_text(literal)), dtype)


def _fitting(value: DecimalValue, dtype: Decimal) -> DecimalValue | None:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or -exponent > dtype.scale:
        return None
    return value if len(digits) + exponent <= dtype.precision - dtype.scale else None
