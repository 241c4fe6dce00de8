"""The number of a row depends on the values of its keys, and on nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from narrows.arrow.key_hash import key_hashes

VALUES: Sequence[tuple[pa.DataType, Sequence[Any]]] = [
    (pa.bool_(), [True, False]),
    (pa.int8(), [0, 1, -128]),
    (pa.int32(), [0, 1, -1, 2**31 - 1]),
    (pa.int64(), [0, 1, -1, 2**63 - 1, -(2**63)]),
    (pa.decimal128(38, 2), [Decimal("0.01"), Decimal("-0.01"), Decimal(10**35)]),
    (pa.string(), ["", "a", "b", "ab", "ba", "aa", "ä", "\0", "a" * 1_000]),
    (pa.binary(), [b"", b"\0", b"\0\0", b"\xff"]),
    (pa.date32(), [date(1970, 1, 1), date(1900, 1, 1)]),
    (
        pa.timestamp("us", "UTC"),
        [datetime(1970, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)],
    ),
]


@pytest.mark.parametrize(("dtype", "values"), VALUES, ids=str)
def test_each_value_has_a_number_of_its_own(dtype: pa.DataType, values: Sequence[Any]) -> None:
    column = pa.array([None, *values], dtype)
    assert len(set(key_hashes([column], len(column)).tolist())) == len(column)


@pytest.mark.parametrize(("dtype", "values"), VALUES, ids=str)
def test_it_is_the_same_wherever_the_value_stands(
    dtype: pa.DataType, values: Sequence[Any]
) -> None:
    column = pa.array([None, *values, None, *reversed(values)], dtype)
    whole = key_hashes([column, column], len(column))
    for first in range(len(column)):
        part = column.slice(first, 3)
        assert np.array_equal(key_hashes([part, part], len(part)), whole[first : first + 3])
        alone = pa.array(part.to_pylist(), dtype)
        assert np.array_equal(key_hashes([alone, alone], len(alone)), whole[first : first + 3])


def test_keys_are_not_taken_for_each_other() -> None:
    first, second = pa.array(["a", "b", "", "ab"]), pa.array(["b", "a", "ab", ""])
    assert len(set(key_hashes([first, second], 4).tolist())) == 4


def test_without_keys_all_rows_are_alike() -> None:
    assert key_hashes([], 3).tolist() == [0, 0, 0]


def test_buckets_are_about_as_large_as_each_other() -> None:
    for column in (pa.array(range(64_000)), pa.array([f"key-{i}" for i in range(64_000)])):
        sizes = np.bincount((key_hashes([column], len(column)) % np.uint64(64)).astype(np.int64))
        assert len(sizes) == 64
        assert sizes.min() > 700
        assert sizes.max() < 1_300
