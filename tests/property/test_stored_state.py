"""What is remembered comes back from a checkpoint as it was: values of every type, to the bit."""

from __future__ import annotations

import math
import pickle
import struct
from datetime import timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from narrows.errors import Code, InternalError, NarrowsError
from narrows.stateful.rows import WindowRow
from narrows.stateful.stored import from_bytes, to_bytes

zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
doubles = st.one_of(
    st.floats(),
    st.floats(width=32),
    st.binary(min_size=8, max_size=8).map(lambda bits: struct.unpack("<d", bits)[0]),
    st.sampled_from([-0.0, math.inf, -math.inf, math.nan, -math.nan, 5e-324]),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    doubles,
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.sampled_from([Decimal("1.50"), Decimal("-0.00"), Decimal(10) ** 37, Decimal("1E+20")]),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=zones),
    st.times(),
    st.timedeltas(),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.lists(st.tuples(scalars, inner), max_size=3),
    ),
    max_leaves=8,
)
"""As Arrow gives them to Python: structs are dicts, maps are lists of pairs."""


def bits(value: Any) -> Any:
    """The value in a form in which equal means the same to the bit."""
    match value:
        case float():
            return struct.pack("<d", value)
        case Decimal():
            return value.as_tuple()
        case list():
            return [bits(part) for part in value]
        case tuple():
            return (type(value), *map(bits, value))
        case dict():
            return [(name, bits(part)) for name, part in value.items()]
        case _:
            return type(value), value


def kept(state: Any) -> Any:
    return from_bytes(to_bytes(state))


@given(values)
@example([1.0, None, -0.0])
@example([(), (), ()])
@example([None, Decimal(1)])
@example([(1,), (1, 2)])
@example(["\ud800", "\u2028"])
@example({"tuple": {"double": 1}})
def test_values_of_every_type(value: Any) -> None:
    assert bits(kept(value)) == bits(value)


@given(
    st.integers(1, 3).flatmap(
        lambda width: st.lists(st.lists(values, min_size=width, max_size=width).map(tuple))
    )
)
def test_rows_of_windows(rows: list[tuple[Any, ...]]) -> None:
    waiting = [
        WindowRow(1_000 * place, ((True, 1), (True, place)), (None, place % 2 == 0), row)
        for place, row in enumerate(rows)
    ]
    for state in ((3, 1, waiting), (3, waiting[:1]), (waiting[-1] if waiting else None, 2)):
        assert bits(kept(state)) == bits(state)


@given(st.lists(st.one_of(values, st.tuples(values), st.tuples(st.booleans(), values))))
def test_what_several_functions_remember(states: list[Any]) -> None:
    assert bits(kept(states)) == bits(states)


@given(values)
def test_what_another_version_kept_is_refused(value: Any) -> None:
    with pytest.raises(NarrowsError) as raised:
        from_bytes(pickle.dumps([(value,)]))
    (problem,) = raised.value.problems
    assert problem.code is Code.CHECKPOINT_MISMATCH
    assert "narrows reset" in str(problem.hint)


def test_only_data_is_kept() -> None:
    with pytest.raises(InternalError, match="cannot be kept"):
        to_bytes([object()])
