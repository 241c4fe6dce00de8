"""Sums and averages, as Spark adds: whole numbers with 64 bits, decimals exactly, floating numbers
one after the other."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from narrows.errors import Code, fail
from narrows.stateful.folds.counts import counts_before
from narrows.stateful.folds.fold import Fold, Held, Place, Span
from narrows.stateful.values import Value

_LARGEST = 2**63 - 1
_EXACT = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)
"""Wide enough for any sum of Spark's decimals, and for a quotient of one."""
_ALL_EXACT = 2**53
"""Whole numbers up to here are DOUBLEs, too."""


@dataclass(frozen=True)
class WholeSum(Fold):
    """NULL of no values. What has 64 bits no more wraps around or, in ANSI mode, is an error, but
    only once somebody asks for the sum."""

    wraps: bool
    text: str = "sum"
    """The call, for the error."""

    def add(self, held: Held, value: Value, place: Place) -> Held:
        if value is None:
            return held
        total = value if held is None else held + value
        if -_LARGEST - 1 <= total <= _LARGEST:
            return total
        if self.wraps:
            return (total + _LARGEST + 1) % 2**64 - _LARGEST - 1
        return 2**200  # too large for ever, whatever is added

    def result(self, held: Held) -> Value:
        if held is not None and held > _LARGEST:
            raise fail(
                Code.QUERY_FAILED,
                f"ARITHMETIC_OVERFLOW: `{self.text}` of a window is too large for a BIGINT",
                hint="add DECIMALs (`sum(CAST(x AS DECIMAL(28, 0)))`), or switch ANSI mode off",
            )
        return held

    def over(
        self, values: Sequence[Value], places: Sequence[Place], spans: Sequence[Span]
    ) -> list[Value]:
        numbers = [value or 0 for value in values]
        if sum(map(abs, numbers)) > _LARGEST:
            return super().over(values, places, spans)
        return _differences(values, [*accumulate(numbers, initial=0)], spans, int.__sub__)


@dataclass(frozen=True)
class DecimalSum(Fold):
    """NULL of no values. A sum has ten digits more than what is added, so it is not too large."""

    def add(self, held: Held, value: Value, place: Place) -> Held:
        if value is None:
            return held
        return value if held is None else _EXACT.add(held, value)

    def over(
        self, values: Sequence[Value], places: Sequence[Place], spans: Sequence[Span]
    ) -> list[Value]:
        zero = decimal.Decimal(0)
        before = [*accumulate((value or zero for value in values), _EXACT.add, initial=zero)]
        return _differences(values, before, spans, _EXACT.subtract)


@dataclass(frozen=True)
class FloatSum(Fold):
    """NULL of no values. Cannot be undone: what was rounded away is gone."""

    def add(self, held: Held, value: Value, place: Place) -> Held:
        if value is None:
            return held
        return 0.0 + value if held is None else held + value


@dataclass(frozen=True)
class Average(Fold):
    """Of whole and floating numbers: Spark adds them as DOUBLEs."""

    def start(self) -> Held:
        return (0.0, 0)

    def add(self, held: Held, value: Value, place: Place) -> Held:
        return held if value is None else (held[0] + float(value), held[1] + 1)

    def result(self, held: Held) -> Value:
        total, count = held
        return total / count if count else None

    def over(
        self, values: Sequence[Value], places: Sequence[Place], spans: Sequence[Span]
    ) -> list[Value]:
        whole = all(type(value) is int for value in values if value is not None)
        if not whole or sum(abs(value or 0) for value in values) > _ALL_EXACT:
            return super().over(values, places, spans)
        # No sum is rounded, so it does not matter in which order values are added.
        sums = WholeSum(wraps=True).over(values, places, spans)
        before = counts_before(values)
        counts = [before[last] - before[first] for first, last in spans]
        return [
            float(total) / count if count else None
            for total, count in zip(sums, counts, strict=True)
        ]


@dataclass(frozen=True)
class DecimalAverage(Fold):
    """Spark divides with 39 digits behind the point, and then rounds to the digits that it has."""

    scale: int
    """Digits behind the point of the average."""

    def start(self) -> Held:
        return (decimal.Decimal(0), 0)

    def add(self, held: Held, value: Value, place: Place) -> Held:
        return held if value is None else (_EXACT.add(held[0], value), held[1] + 1)

    def result(self, held: Held) -> Value:
        total, count = held
        if not count:
            return None
        divided = _rounded(_EXACT.divide(total, decimal.Decimal(count)), 39)
        return _rounded(divided, self.scale)


def _rounded(number: decimal.Decimal, scale: int) -> decimal.Decimal:
    return number.quantize(decimal.Decimal(1).scaleb(-scale), context=_EXACT)


def _differences(
    values: Sequence[Value],
    before: Sequence[Value],
    spans: Sequence[Span],
    minus: Callable[[Value, Value], Value],
) -> list[Value]:
    """Sums of spans, from the sums of all values before each place."""
    counts = counts_before(values)
    return [
        minus(before[last], before[first]) if counts[last] > counts[first] else None
        for first, last in spans
    ]
