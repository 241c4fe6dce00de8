"""Sets of join keys: what is in one is found, and NULL never; near numbers are told exactly."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from narrows.worker.keys import key_sets
from narrows.worker.keys.key_sets import key_set

near = st.integers(-300, 300)
far = st.one_of(near, st.integers(-(2**63), 2**63 - 1))
texts = st.text(max_size=3)


def found(keys: pa.Array, values: pa.Array) -> list[bool]:
    among = key_set(pa.array([[keys[:1], keys[1:]]], pa.list_(pa.list_(keys.type)))[0])
    made: list[bool] = among.has(values).to_pylist()
    return made


@given(st.sets(far), st.lists(st.none() | far))
def test_what_is_in_the_set_is_found(keys: set[int], others: list[int | None]) -> None:
    values = [*keys, *others]
    answers = found(pa.array(list(keys), pa.int64()), pa.array(values, pa.int64()))
    for value, answer in zip(values, answers, strict=True):
        assert answer or value not in keys
        assert value is not None or answer is False


@given(st.sets(near), st.lists(st.none() | far))
def test_near_numbers_are_told_exactly(keys: set[int], values: list[int | None]) -> None:
    answers = found(pa.array(list(keys), pa.int64()), pa.array(values, pa.int64()))
    assert answers == [value in keys for value in values]


@pytest.mark.parametrize("dtype", [pa.int8(), pa.int16(), pa.int32(), pa.int64()])
def test_narrow_columns_are_compared_as_numbers(dtype: pa.DataType) -> None:
    keys = pa.array([-128, 5, 2**40], pa.int64())
    assert found(keys, pa.array([5, -128, None, 6], dtype)) == [True, True, False, False]


def test_dates_are_days() -> None:
    days = pa.array([0, 20_000], pa.int64())
    values = [date(1970, 1, 1), date(1970, 1, 2), None, date(2024, 10, 4)]
    assert found(days, pa.array(values, pa.date32())) == [True, False, False, True]


@given(st.sets(texts), st.lists(st.none() | texts))
def test_texts_are_told_exactly(keys: set[str], values: list[str | None]) -> None:
    answers = found(pa.array(list(keys), pa.string()), pa.array(values, pa.string()))
    assert answers == [value in keys for value in values]


def test_a_list_that_is_not_whole_tests_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_sets, "MOST_KEYS", 2)
    assert found(pa.array([1, 2, 3], pa.int64()), pa.array([1, 9], pa.int64())) == [True, True]
    assert found(pa.array([1, 2], pa.int64()), pa.array([1, 9], pa.int64())) == [True, False]
