"""A join of two streams as tasks do it: by which keys they find rows, and how long rows wait.

    ON v.id = c.id AND v.page <> '' AND c.at BETWEEN v.at AND v.at + INTERVAL 10 MINUTE

A row of `c` happens between 0 and 10 minutes after the row of `v` that it matches. So once nobody
comes with an earlier time than that, a row need not be kept any more, and one without a match will
have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from narrows.expressions.nodes import Call, Column, ColumnId, Expr, Literal, columns_of
from narrows.functions import operator
from narrows.logical.conjuncts import is_deterministic, split
from narrows.logical.nodes import DecodedSource, Join, JoinKind, Node
from narrows.logical.walk import topological
from narrows.physical.kept_by_tasks import is_key
from narrows.schema import INTEGRAL, TIMESTAMP
from narrows.sql.binder.literals import Interval

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_PLUS, _MINUS, _BETWEEN = operator("+"), operator("-"), operator("between")
_FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARED = {operator(name): name for name in _FLIPPED}
_KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL, JoinKind.SEMI)


class Within(NamedTuple):
    """How much later than the left row the right one of a match may happen, in microseconds; None:
    there is no bound."""

    first: int | None = None
    last: int | None = None

    def met_by(self, other: Within) -> Within:
        firsts = [each for each in (self.first, other.first) if each is not None]
        lasts = [each for each in (self.last, other.last) if each is not None]
        return Within(max(firsts, default=None), min(lasts, default=None))


_ANY_TIME = Within()


@dataclass(frozen=True)
class StreamJoin:
    keys: tuple[tuple[Expr, Expr], ...]
    """What is equal in two rows that match: of the left one, of the right one."""
    tests: tuple[tuple[Expr, ...], tuple[Expr, ...]]
    """What a left row, and a right one, must be like to match any."""
    rest: tuple[Expr, ...] = ()
    """What is left to be asked of two rows that tasks take for a match; of an inner join only."""
    times: tuple[Column, Column] | None = None
    """The event times, if a match goes by them."""
    within: Within = _ANY_TIME


def stream_join(join: Join) -> StreamJoin | None:
    """How tasks do a join of two streams; None where they cannot."""
    conjuncts = [] if join.condition is None else split(join.condition)
    if join.kind not in _KINDS or join.lateral or not all(map(is_deterministic, conjuncts)):
        return None
    sides = [{column.id for column in side.outputs} for side in (join.left, join.right)]
    times = _event_times(join.left), _event_times(join.right)
    keys: list[tuple[Expr, Expr]] = []
    tests: tuple[list[Expr], list[Expr]] = ([], [])
    rest: list[Expr] = []
    within, exact = _ANY_TIME, True
    for conjunct in conjuncts:
        used = {column.id for column in columns_of(conjunct)}
        if used <= sides[0] or used <= sides[1]:
            tests[0 if used <= sides[0] else 1].append(conjunct)
            continue
        key = _key_of(conjunct, sides[0], sides[1])
        found = _within(conjunct, times)
        if found is None and key is None and used & times[0].keys() and used & times[1].keys():
            return None  # Spark may know how long rows wait for that
        if found is not None:
            within, exact = within.met_by(found.within), exact and found.exact
        if key is not None:
            keys.append(key)
        elif found is None or not found.exact:
            rest.append(conjunct)
    inner = join.kind is JoinKind.INNER
    waits = _waits(join.kind, within)
    if not keys or not waits or (rest and not inner) or not (exact or inner):
        return None
    by_time = within != _ANY_TIME
    named = (*times[0].values(), *times[1].values()) if by_time else ()
    if by_time and len(named) != 2:
        return None
    return StreamJoin(
        tuple(keys),
        (tuple(tests[0]), tuple(tests[1])),
        tuple(rest),
        (named[0], named[1]) if by_time else None,
        within,
    )


def _waits(kind: JoinKind, within: Within) -> bool:
    """Does every row come to an end, of which it must be known that it has no match?"""
    if kind is JoinKind.INNER:
        return True
    left = kind in (JoinKind.LEFT, JoinKind.FULL, JoinKind.SEMI)
    right = kind in (JoinKind.RIGHT, JoinKind.FULL)
    return not (left and within.last is None) and not (right and within.first is None)


def _event_times(side: Node) -> dict[ColumnId, Column]:
    """The event times by which rows of a side may be late, as columns that it gives."""
    outputs = {column.id: column for column in side.outputs}
    found = {}
    for node in topological(side):
        if not isinstance(node, DecodedSource) or node.source.bounded:
            continue
        source = node.source
        if source.eventtime is None or source.eventtime_unit is not None:
            continue
        column = node.relation.column(source.row.ordinal(source.eventtime))
        has_watermark = "watermark" in source.options and column.dtype == TIMESTAMP
        if has_watermark and column.id in outputs:
            found[column.id] = outputs[column.id]
    return found


def _key_of(conjunct: Expr, left: set[ColumnId], right: set[ColumnId]) -> tuple[Expr, Expr] | None:
    """What of each side is equal to something of the other, if tasks can find rows by it."""
    if not (isinstance(conjunct, Call) and _COMPARED.get(conjunct.function) == "="):
        return None
    one, other = conjunct.args
    used = [{column.id for column in columns_of(each)} for each in (one, other)]
    if used[0] <= right and used[1] <= left:
        one, other = other, one
    elif not (used[0] <= left and used[1] <= right):
        return None
    same = one.dtype == other.dtype or (one.dtype in INTEGRAL and other.dtype in INTEGRAL)
    return (one, other) if same and is_key(one) else None


# --- times ----------------------------------------------------------------------------------------


class _Moment(NamedTuple):
    """An event time, moved by so many microseconds."""

    side: int
    moved: int
    exact: bool = True
    """A day is longer or shorter where clocks are changed."""


class _Found(NamedTuple):
    within: Within
    exact: bool


_Times = tuple[dict[ColumnId, Column], dict[ColumnId, Column]]


def _within(conjunct: Expr, times: _Times) -> _Found | None:
    """What a comparison of both event times says; None if it is something else, or says more."""
    if not isinstance(conjunct, Call):
        return None
    if conjunct.function == _BETWEEN:
        value, low, high = conjunct.args
        parts = [_compared(">=", value, low, times), _compared("<=", value, high, times)]
    elif conjunct.function in _COMPARED:
        one, other = conjunct.args
        parts = [_compared(_COMPARED[conjunct.function], one, other, times)]
    else:
        return None
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    within = _ANY_TIME
    for part in found:
        within = within.met_by(part.within)
    return _Found(within, all(part.exact for part in found))


def _compared(sign: str, one: Expr, other: Expr, times: _Times) -> _Found | None:
    first, second = _moment(one, times), _moment(other, times)
    if first is None or second is None or first.side == second.side:
        return None
    if first.side == 0:
        sign, first, second = _FLIPPED[sign], second, first
    later, exact = second.moved - first.moved, first.exact and second.exact
    slack = 0 if exact else _DAY
    low = later + (sign == ">") - slack if sign in ("=", ">", ">=") else None
    high = later - (sign == "<") + slack if sign in ("=", "<", "<=") else None
    return _Found(Within(low, high), exact)


def _moment(expr: Expr, times: _Times) -> _Moment | None:
    if isinstance(expr, Column):
        side = next((place for place, found in enumerate(times) if expr.id in found), None)
        return None if side is None else _Moment(side, 0)
    if not (isinstance(expr, Call) and expr.function in (_PLUS, _MINUS) and len(expr.args) == 2):
        return None
    return next(_moved(expr, times), None)


def _moved(call: Call, times: _Times) -> Iterator[_Moment]:
    pairs = [call.args, call.args[::-1]] if call.function == _PLUS else [call.args]
    for start, span in pairs:
        moment = _moment(start, times)
        if moment is None or not isinstance(span, Literal):
            continue
        length = span.value
        if isinstance(length, Interval) and not length.months:
            sign = 1 if call.function == _PLUS else -1
            moved = sign * (length.days * _DAY + length.seconds * _SECOND)
            # Spark takes whole days of a long span for days of the calendar, too.
            exact = moment.exact and abs(moved) < _DAY
            yield _Moment(moment.side, moment.moved + moved, exact)
