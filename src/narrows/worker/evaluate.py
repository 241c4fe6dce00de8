"""Values and tests of rows (`projection/values.py`), by Arrow's kernels and in Spark's sense."""

from __future__ import annotations

from decimal import Decimal
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.digits import with_digits
from narrows.arrow.types import arrow_type
from narrows.errors import InternalError
from narrows.projection.predicate import (
    And,
    Compare,
    CompareValues,
    IsIn,
    IsNull,
    IsTrue,
    Like,
    Not,
    Or,
    Predicate,
)
from narrows.projection.values import (
    Arithmetic,
    CastValue,
    Choice,
    ColumnValue,
    ConstantValue,
    FirstValid,
    JoinedTexts,
    Root,
    TextLength,
    TextPart,
    Value,
    WideProduct,
)

_ARITHMETIC = {"+": pc.add, "-": pc.subtract, "*": pc.multiply, "/": pc.divide}
_COMPARE = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_NAN_IS_LARGEST = (">", ">=", "<>")


def keep(rows: pa.RecordBatch, predicate: Predicate) -> pa.RecordBatch:
    """The rows for which the test is true; false and unknown go."""
    return rows.filter(evaluate(predicate, rows), null_selection_behavior="drop")


def evaluate(value: Value, rows: pa.RecordBatch) -> pa.Array:
    """The value of each row; the columns of the batch stand where the planner said."""
    made = _test(value, rows) if isinstance(value, Predicate) else _value(value, rows)
    return pa.repeat(made, rows.num_rows) if isinstance(made, pa.Scalar) else made


def _operand(value: Value, rows: pa.RecordBatch) -> pa.Array | pa.Scalar:
    """A constant need not be there for each row."""
    return _value(value, rows) if isinstance(value, ConstantValue) else evaluate(value, rows)


def _value(value: Value, rows: pa.RecordBatch) -> pa.Array | pa.Scalar:
    match value:
        case ColumnValue(place):
            return rows.column(place)
        case ConstantValue(constant, dtype):
            return pa.scalar(constant, arrow_type(dtype))
        case CastValue(inner, to):
            return evaluate(inner, rows).cast(arrow_type(to), safe=False)
        case Arithmetic("%", left, right):  # Arrow has none
            dividend, divisor = evaluate(left, rows), _operand(right, rows)
            return pc.subtract(dividend, pc.multiply(pc.divide(dividend, divisor), divisor))
        case Arithmetic(operator, left, right):
            return _ARITHMETIC[operator](_operand(left, rows), _operand(right, rows))
        case WideProduct(left, right, dtype):
            return _wide_product(evaluate(left, rows), evaluate(right, rows), arrow_type(dtype))
        case Root(inner):
            return pc.sqrt(evaluate(inner, rows))
        case Choice(test, chosen, other):
            # What SQL does not know is not chosen; Arrow would make it NULL.
            taken = pc.fill_null(evaluate(test, rows), False)
            return pc.if_else(taken, _operand(chosen, rows), _operand(other, rows))
        case FirstValid(values):
            return pc.coalesce(*(evaluate(each, rows) for each in values))
        case TextLength(text):
            return pc.utf8_length(evaluate(text, rows))
        case TextPart(text, start, length):
            return pc.utf8_slice_codeunits(evaluate(text, rows), start, start + length)
        case JoinedTexts(texts):
            separator = pa.scalar("", pa.string())
            return pc.binary_join_element_wise(*(evaluate(t, rows) for t in texts), separator)
        case _:
            raise InternalError(f"no reader computes {type(value).__name__}")


def _wide_product(left: pa.Array, right: pa.Array, dtype: pa.DataType) -> pa.Array:
    # Arrow goes by the digits that values might have, so it is told how many these have.
    digits = [_digits(values) for values in (left, right)]
    if sum(digits) < dtype.precision:
        narrow = map(with_digits, (left, right), digits)
        return with_digits(pc.multiply(*narrow), dtype.precision)
    wide = [
        values.cast(pa.decimal256(count, values.type.scale))
        for values, count in zip((left, right), digits, strict=True)
    ]
    product = pc.multiply(*wide)
    largest = pa.scalar(Decimal((0, (9,) * dtype.precision, -dtype.scale)), product.type)
    fits = pc.less_equal(pc.abs(product), largest)
    return pc.if_else(fits, product, pa.scalar(None, product.type)).cast(dtype)


def _digits(values: pa.Array) -> int:
    """The digits of the longest number, those behind the point included."""
    ends = [end.as_py() for end in pc.min_max(values).values() if end.is_valid]
    scale = int(values.type.scale)
    return max([1, scale, *(len(str(abs(int(end.scaleb(scale))))) for end in ends)])


def _test(test: Predicate, rows: pa.RecordBatch) -> pa.Array:
    match test:
        case Compare():
            return _compared(test, evaluate(test.value, rows))
        case CompareValues(left, operator, right):
            return _COMPARE[operator](evaluate(left, rows), evaluate(right, rows))
        case Like(value, pattern):
            return pc.match_like(evaluate(value, rows), pattern)
        case IsIn(value, constants):
            values = evaluate(value, rows)
            found = pc.is_in(values, value_set=pa.array(constants, type=values.type))
            # IN on NULL is NULL, where Arrow says false.
            return pc.if_else(pc.is_null(values), pa.scalar(None, pa.bool_()), found)
        case IsNull(value):
            return evaluate(value, rows).is_null()
        case IsTrue(value):
            return evaluate(value, rows)
        case Not(inner):
            return pc.invert(evaluate(inner, rows))
        case And(parts):
            return reduce(pc.and_kleene, (evaluate(part, rows) for part in parts))
        case Or(parts):
            return reduce(pc.or_kleene, (evaluate(part, rows) for part in parts))
        case _:
            raise InternalError(f"no reader tests {type(test).__name__}")


def _compared(test: Compare, values: pa.Array) -> pa.Array:
    if pa.types.is_float32(values.type):
        values = values.cast(pa.float64())
    exact = isinstance(test.constant, Decimal)
    constant = pa.scalar(test.constant, values.type) if exact else test.constant
    result = _COMPARE[test.operator](values, constant)
    if pa.types.is_floating(values.type) and test.operator in _NAN_IS_LARGEST:
        # In Spark NaN is larger than every number, and unequal to it; IEEE says false.
        return pc.or_kleene(result, pc.is_nan(values))
    return result
