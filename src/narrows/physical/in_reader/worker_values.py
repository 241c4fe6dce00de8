"""Which expressions a reader can compute itself: from bound expressions to `projection.values`.

    a leaf of the source        b->c
    a constant                  1, 0.05, 'x', NULL
    a cast to a wider number    CAST(i AS BIGINT), CAST(i AS DOUBLE)
    a test                      a > 1 AND s LIKE 'x%'
    arithmetic                  a + 1, a % 10, d * (1 - 0.05) of DECIMALs, x / 2 of DOUBLEs,
                                x / nullif(n, 0), sqrt(x)
    a choice                    CASE WHEN test THEN a ELSE 0 END, if, coalesce, nullif
    of texts                    length(s), concat(s, '-', t), s || t, substring(s, 1, 2)

The line is drawn where Arrow and Spark could disagree. Where whole numbers may overflow that is an
error in Spark's ANSI mode, and a matter of which expressions are evaluated at all: there, sums and
products of them are Spark's. Divisors are never zero. Of DECIMALs only what Spark does not round is
taken: it does where there may be more than 38 digits, unless at most 6 are behind the point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal as DecimalValue

from narrows.expressions.function import Function
from narrows.expressions.nodes import Call, Cast, Expr, Literal
from narrows.functions import operator
from narrows.physical.in_reader.constant_values import (
    FIRST,
    TypedValue,
    constant_value,
    small_number,
)
from narrows.physical.in_reader.paths import source_path
from narrows.projection.columns import Path
from narrows.projection.predicate import Predicate
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
    WideProduct,
)
from narrows.schema import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    INTEGRAL,
    STRING,
    VOID,
    DataType,
    Decimal,
    is_scalar,
)

_SUMS = {operator(name): name for name in ("+", "-", "*")}
_DIVIDE, _REMAINDER, _DIV = operator("/"), operator("%"), operator("div")
_EQUAL = operator("=")
_NEGATIVE, _CASE, _JOIN = operator("negative"), operator("case"), operator("||")
_PARTS = ("substring", "substr", "left")
_LENGTHS = ("length", "char_length", "character_length", "len")
_MOST_DIGITS = 38
_KEPT_SCALE = 6
_COMPUTED_DIGITS = 76
"""Those of Arrow's widest numbers."""

ColumnPlace = Callable[[Path], int]
"""Where the column of a leaf stands."""


@dataclass(frozen=True)
class ValueTranslator:
    relation: int
    place: ColumnPlace
    ansi: bool
    test: Callable[[Expr], Predicate | None]
    """The test that an expression means, if it means one that a reader can run."""

    def value(self, expr: Expr) -> TypedValue | None:
        """What a reader computes for this expression; None if it cannot."""
        path = source_path(expr, self.relation)
        if path is not None:
            if not is_scalar(expr.dtype):
                return None
            return TypedValue(ColumnValue(self.place(path)), expr.dtype)
        match expr:
            case Literal():
                return constant_value(expr)
            case Cast(operand=operand, dtype=to):
                inner = self.value(operand)
                return None if inner is None else widened(inner, to)
            case Call() if expr.function.known and not expr.filter:
                made = self._call(expr.function, expr.args)
                return made or self._truth(expr)
            case _:
                return None

    def _call(self, function: Function, args: Sequence[Expr]) -> TypedValue | None:
        if function in _SUMS:
            return self._sums(_SUMS[function], args)
        if function == _NEGATIVE:
            return self._negative(self.value(args[0]))
        if function in (_REMAINDER, _DIV) or function.name == "mod":
            return self._of_whole_numbers("/" if function.name == "div" else "%", *args)
        if function == _DIVIDE:
            return self._quotient(*args)
        if function.name == "sqrt":
            return self._root(args[0])
        if function == _CASE or function.name == "if":
            return self._case(args)
        if function.name == "nullif":
            return self._nullif(*args)
        if function.name in ("coalesce", "nvl", "ifnull"):
            return self._coalesce(args)
        if function.name in _LENGTHS:
            return self._length(args[0])
        if function.name in _PARTS:
            return self._part(args[0], *((FIRST,) if function.name == "left" else ()), *args[1:])
        if function == _JOIN or function.name == "concat":
            return self._joined(args)
        return None

    def _truth(self, expr: Expr) -> TypedValue | None:
        test = self.test(expr)
        return None if test is None else TypedValue(test, BOOLEAN)

    # --- numbers ----------------------------------------------------------------------------------

    def _sums(self, name: str, args: Sequence[Expr]) -> TypedValue | None:
        made = self.value(args[0])
        for arg in args[1:]:
            made = self._sum(name, made, self.value(arg))
        return made

    def _sum(
        self, name: str, left: TypedValue | None, right: TypedValue | None
    ) -> TypedValue | None:
        if left is None or right is None:
            return None
        types = (left.dtype, right.dtype)
        if DOUBLE in types:
            return _of_doubles(name, left, right)
        if all(dtype in INTEGRAL for dtype in types):
            if self.ansi:
                return None
            both = alike([left, right])
            if both is None:
                return None
            return TypedValue(Arithmetic(name, both[0].value, both[1].value), both[0].dtype)
        return _of_decimals(name, left, right, ansi=self.ansi)

    def _negative(self, value: TypedValue | None) -> TypedValue | None:
        if value is None or value.dtype not in (*INTEGRAL, DOUBLE):
            return None
        minus = ConstantValue(-1.0 if value.dtype == DOUBLE else -1, value.dtype)
        return self._sum("*", value, TypedValue(minus, value.dtype))

    def _of_whole_numbers(self, name: str, dividend: Expr, divisor: Expr) -> TypedValue | None:
        """A remainder, or a quotient without what is behind the point."""
        left, right = self.value(dividend), self.value(divisor)
        if left is None or right is None or not isinstance(right.value, ConstantValue):
            return None
        both = alike([left, right]) if left.dtype in INTEGRAL else None
        constant = right.value.value
        if both is None or both[0].dtype not in INTEGRAL or not isinstance(constant, int):
            return None
        if constant in (0, -1):  # no result; and the smallest number has no counterpart
            return None
        made = TypedValue(Arithmetic(name, both[0].value, both[1].value), both[0].dtype)
        return made if name == "%" else widened(made, BIGINT)

    def _quotient(self, dividend: Expr, divisor: Expr) -> TypedValue | None:
        left, right = self.value(dividend), self.value(divisor)
        if left is None or right is None or left.dtype not in (*INTEGRAL, DOUBLE):
            return None
        constant = isinstance(right.value, ConstantValue) and right.value.value
        if not constant and not _is_never_zero(divisor):
            return None
        if left.dtype != DOUBLE and isinstance(right.dtype, Decimal):
            return None
        return _of_doubles("/", left, right)

    def _root(self, arg: Expr) -> TypedValue | None:
        value = self.value(arg)
        number = None if value is None else widened(value, DOUBLE)
        return None if number is None else TypedValue(Root(number.value), DOUBLE)

    # --- choices and texts ------------------------------------------------------------------------

    def _case(self, args: Sequence[Expr]) -> TypedValue | None:
        conditions = [self.test(arg) for arg in args[:-1:2]]
        tests = [test for test in conditions if test is not None]
        results = [self.value(arg) for arg in args[1::2]]
        otherwise = TypedValue(ConstantValue(None, VOID), VOID)
        last = self.value(args[-1]) if len(args) % 2 else otherwise
        values = alike([*results, last])
        if values is None or len(tests) < len(conditions):
            return None
        made, dtype = values[-1]
        for test, (value, _) in zip(reversed(tests), reversed(values[:-1]), strict=True):
            made = Choice(test, value, made)
        return TypedValue(made, dtype)

    def _nullif(self, value: Expr, other: Expr) -> TypedValue | None:
        made = self.value(value)
        same = self.test(Call(function=_EQUAL, args=(value, other), dtype=BOOLEAN))
        if made is None or same is None:
            return None
        nothing = ConstantValue(None, made.dtype)
        return TypedValue(Choice(same, nothing, made.value), made.dtype)

    def _coalesce(self, args: Sequence[Expr]) -> TypedValue | None:
        values = alike([self.value(arg) for arg in args])
        if values is None:
            return None
        return TypedValue(FirstValid(tuple(value for value, _ in values)), values[0].dtype)

    def _length(self, arg: Expr) -> TypedValue | None:
        text = self.value(arg)
        if text is None or text.dtype != STRING:
            return None
        return TypedValue(TextLength(text.value), INT)

    def _part(self, arg: Expr, start: Expr, length: Expr | None = None) -> TypedValue | None:
        text = self.value(arg)
        if text is None or text.dtype != STRING:
            return None
        places = [small_number(place) for place in (start, length)]
        # Other places count from the end, or begin before the text does.
        if places[0] is None or places[1] is None or places[0] < 1:
            return None
        return TypedValue(TextPart(text.value, places[0] - 1, places[1]), STRING)

    def _joined(self, args: Sequence[Expr]) -> TypedValue | None:
        texts = [self.value(arg) for arg in args]
        known = tuple(text.value for text in texts if text is not None and text.dtype == STRING)
        if not known or len(known) < len(texts):
            return None
        return TypedValue(JoinedTexts(known), STRING)


def widened(value: TypedValue, to: DataType) -> TypedValue | None:
    """The same number in a wider type. Such casts fail for no number, in no mode of Spark's."""
    inner, dtype = value
    if dtype == to:
        return value
    if to == DOUBLE and isinstance(inner, ConstantValue) and isinstance(inner.value, DecimalValue):
        return TypedValue(ConstantValue(float(inner.value), DOUBLE), DOUBLE)
    if to == DOUBLE and dtype in (*INTEGRAL, FLOAT):
        return TypedValue(CastValue(inner, DOUBLE), DOUBLE)
    if to in INTEGRAL and dtype in INTEGRAL[: INTEGRAL.index(to)]:
        if isinstance(inner, ConstantValue):
            return TypedValue(ConstantValue(inner.value, to), to)
        return TypedValue(CastValue(inner, to), to)
    return None


def alike(values: Sequence[TypedValue | None]) -> list[TypedValue] | None:
    """Values that meet, all of one type; None where Spark would have to choose it."""
    known = [value for value in values if value is not None]
    types = list(dict.fromkeys(dtype for _, dtype in known if dtype != VOID))
    if len(known) < len(values) or not types:
        return None
    if len(types) > 1 and not all(dtype in INTEGRAL for dtype in types):
        return None
    dtype = types[0] if len(types) == 1 else max(types, key=INTEGRAL.index)
    made = [
        TypedValue(ConstantValue(None, dtype), dtype)
        if value.dtype == VOID
        else widened(value, dtype)
        for value in known
    ]
    found = [value for value in made if value is not None]
    return found if len(found) == len(made) else None


def _is_never_zero(divisor: Expr) -> bool:
    """Is it `nullif(x, 0)`?"""
    if not isinstance(divisor, Call) or divisor.function.name != "nullif":
        return False
    zero = divisor.args[1]
    return isinstance(zero, Literal) and zero.dtype in INTEGRAL and zero.value == 0


def _of_doubles(name: str, left: TypedValue, right: TypedValue) -> TypedValue | None:
    one, other = widened(left, DOUBLE), widened(right, DOUBLE)
    if one is None or other is None:
        return None
    return TypedValue(Arithmetic(name, one.value, other.value), DOUBLE)


def _of_decimals(
    name: str, left: TypedValue, right: TypedValue, *, ansi: bool
) -> TypedValue | None:
    one, other = _decimal(left), _decimal(right)
    if one is None or other is None:
        return None
    (a, p), (b, q) = one, other
    assert isinstance(p, Decimal)
    assert isinstance(q, Decimal)
    if name == "*":
        made = Decimal(p.precision + q.precision + 1, p.scale + q.scale)
    else:
        scale = max(p.scale, q.scale)
        whole = max(p.precision - p.scale, q.precision - q.scale)
        made = Decimal(whole + scale + 1, scale)
    if made.precision > _MOST_DIGITS:
        # Spark keeps up to six digits behind the point; what then has no place is NULL, or fails.
        if name != "*" or ansi or made.scale > _KEPT_SCALE or made.precision > _COMPUTED_DIGITS:
            return None
        made = Decimal(_MOST_DIGITS, made.scale)
        return TypedValue(WideProduct(a, b, made), made)
    return TypedValue(Arithmetic(name, a, b), made)


def _decimal(value: TypedValue) -> TypedValue | None:
    """A number among DECIMALs: a constant has as many digits as it has, but for TINYINTs."""
    inner, dtype = value
    if isinstance(dtype, Decimal):
        return value
    if isinstance(inner, ConstantValue) and isinstance(inner.value, int) and dtype in INTEGRAL[1:]:
        narrow = Decimal(len(str(abs(inner.value))), 0)
        return TypedValue(ConstantValue(DecimalValue(inner.value), narrow), narrow)
    return None
