"""Rows that tasks hand on: whoever takes them has all of them, or knows that they were too many."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from narrows.worker.keys import key_sets
from narrows.worker.keys.handed_rows import HandsOn, RowKeeper, handed_keys, handed_rows

PLENTY = 1 << 20
numbers = st.none() | st.integers(-(2**63), 2**63 - 1)
rows = st.lists(st.tuples(numbers, st.none() | st.text(max_size=3)), max_size=6)


def batch(made: Sequence[tuple[int | None, str | None]]) -> pa.RecordBatch:
    columns = [pa.array([row[0] for row in made], pa.int64())]
    columns += [pa.array([row[1] for row in made], pa.string())]
    return pa.RecordBatch.from_arrays(columns, ["n", "t"])


def value_of(
    batches: Sequence[pa.RecordBatch], places: tuple[int, ...], most_bytes: int, task: int = 0
) -> pa.Scalar:
    """What a task hands on; of two tasks, each may have half."""
    keeper = RowKeeper(HandsOn(places, most_bytes), task, 2)
    for each in batches:
        assert list(keeper.add(each)) == []
    (made,) = keeper.rest()
    assert made.column(0).to_pylist() == [task]
    return made.column(1)[0]


def keys_of(values: Sequence[pa.Scalar], places: tuple[int, ...], place: int) -> key_sets.KeySet:
    together = pa.array([[value.as_py() for value in values]], pa.list_(pa.binary()))
    return handed_keys(together[0], HandsOn(places, 0), place)


@given(st.lists(rows, max_size=4), st.sampled_from([PLENTY, 200, 0]))
def test_rows_come_back_as_they_were(
    made: list[list[tuple[int | None, str | None]]], most_bytes: int
) -> None:
    batches = [batch(each) for each in made]
    there = handed_rows(value_of(batches, (0,), most_bytes))
    size = sum(each.nbytes for each in batches)
    assert (there is None) == (size > most_bytes // 2)
    if there is not None:
        assert [row for each in there for row in each.to_pylist()] == [
            {"n": n, "t": t} for each in made for n, t in each
        ]


@given(st.lists(rows, min_size=1, max_size=4), st.lists(numbers), st.sampled_from([PLENTY, 200, 0]))
def test_every_key_is_found_whatever_was_handed_on(
    made: list[list[tuple[int | None, str | None]]], others: list[int | None], most_bytes: int
) -> None:
    values = [value_of([batch(each)], (0, 1), most_bytes, task) for task, each in enumerate(made)]
    for place, dtype in enumerate((pa.int64(), pa.string())):
        keys = [row[place] for each in made for row in each]
        asked = [*keys, *(others if place == 0 else ())]
        found = keys_of(values, (0, 1), place).has(pa.array(asked, dtype)).to_pylist()
        assert all(answer for key, answer in zip(keys, found, strict=False) if key is not None)
        assert not any(answer for key, answer in zip(asked, found, strict=True) if key is None)


def test_a_task_without_rows_says_so() -> None:
    value = value_of([], (0,), PLENTY)
    there = handed_rows(value)
    assert there is not None
    assert list(there) == []
    assert keys_of([value], (0,), 0).has(pa.array([1, None])).to_pylist() == [False, False]


def test_too_many_keys_test_nothing_and_need_no_more_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_sets, "MOST_KEYS", 3)
    keeper = RowKeeper(HandsOn((0,), 0), 0, 1)
    wanted = []
    for keys in ((1, 2), (3, 4, 5)):
        list(keeper.add(batch([(key, None) for key in keys])))
        wanted.append(keeper.wanted)
    assert wanted == [None, 0]
    (made,) = keeper.rest()
    asked = pa.array([1, 99, None], pa.int64())
    assert keys_of([made.column(1)[0]], (0,), 0).has(asked).to_pylist() == [True, True, False]
