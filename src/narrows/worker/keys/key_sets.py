"""Sets of a join's keys, by which a reader drops rows that will find no partner.

The tasks that read one side give a list of its keys each, and those that read the other side get
all lists. One that is longer than it may be is not whole, and tests nothing.

Whoever joins the rows looks again, so a set may say yes to what is not in it, and never no to what
is. Whole numbers and dates are looked up in a table of flags: by their distance from the smallest
where they lie close together, else by a hash. NULL is in no set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

MOST_KEYS = 1_000_000
_MOST_TEXTS = 10_000
"""Arrow makes its table of them anew for every batch."""
_FLAGS_A_KEY = 32
"""Bytes of a table for each key: a few megabytes for the most keys that there are in practice."""
_FEW_FLAGS = 1 << 16
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2**64 by the golden ratio: scatters multiples of anything


class KeySet(ABC):
    @abstractmethod
    def has(self, values: pa.Array) -> pa.Array:
        """For each value whether it may be in the set."""


class KeyList:
    """Keys, each once; of too many a few more than there may be."""

    def __init__(self) -> None:
        self._keys: list[pa.Array] = []
        self._count = 0

    def is_full(self) -> bool:
        return self._count > MOST_KEYS

    def add(self, values: pa.Array) -> None:
        if self.is_full():
            return
        keys = pc.unique(plain_keys(values)).drop_null()
        self._keys.append(keys)
        self._count += len(keys)
        if self.is_full():  # as far as it was counted; many may be there twice
            self._keys = [self.values()[: MOST_KEYS + 1]]
            self._count = len(self._keys[0])

    def values(self) -> pa.Array:
        """All keys; there must have been some values."""
        return pc.unique(pa.concat_arrays(self._keys))


class KeyGatherer:
    """Takes the rows of a task; gives one with a list of the keys in their first column."""

    wanted: int | None = None

    def __init__(self, name: str) -> None:
        self._name = name
        self._keys: KeyList | None = None

    def add(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        self._keys = self._keys or KeyList()
        self._keys.add(rows.column(0))
        return iter(())

    def rest(self) -> Iterator[pa.RecordBatch]:
        if self._keys is not None:
            keys = self._keys.values()
            offsets = pa.array([0, len(keys)], pa.int32())
            yield pa.RecordBatch.from_arrays(
                [pa.ListArray.from_arrays(offsets, keys)], [self._name]
            )


def key_set(lists: pa.Scalar) -> KeySet:
    """The set of what is in some lists."""
    return key_set_of(lists.values.flatten())


def key_set_of(keys: pa.Array | None) -> KeySet:
    """The set of these keys; None where there is none, of whichever type."""
    if keys is None:
        return _Nothing()
    if len(keys) > (_MOST_TEXTS if pa.types.is_string(keys.type) else MOST_KEYS):
        return _Everything()
    if pa.types.is_string(keys.type):
        return _Texts(keys)
    numbers = keys.to_numpy(zero_copy_only=False)
    if not len(numbers):
        return _Near(0, np.zeros(1, np.bool_))
    smallest, span = int(numbers.min()), int(numbers.max()) - int(numbers.min()) + 1
    if span <= max(_FEW_FLAGS, _FLAGS_A_KEY * len(numbers)):
        flags = np.zeros(span, np.bool_)
        flags[numbers - smallest] = True
        return _Near(smallest, flags)
    bits = (_FLAGS_A_KEY * len(numbers)).bit_length()
    flags = np.zeros(1 << bits, np.bool_)
    flags[_hashed(numbers, bits)] = True
    return _Hashed(bits, flags)


class _Nothing(KeySet):
    def has(self, values: pa.Array) -> pa.Array:
        return pa.array(np.zeros(len(values), np.bool_))


class _Everything(KeySet):
    def has(self, values: pa.Array) -> pa.Array:
        return values.is_valid()


class _Texts(KeySet):
    def __init__(self, keys: pa.Array) -> None:
        self._keys = keys

    def has(self, values: pa.Array) -> pa.Array:
        return pc.is_in(values, value_set=self._keys.cast(values.type))


class _Near(KeySet):
    def __init__(self, smallest: int, flags: npt.NDArray[np.bool_]) -> None:
        self._smallest = smallest
        self._flags = flags

    def has(self, values: pa.Array) -> pa.Array:
        numbers = _numbers(values)
        # Below the smallest they wrap around, to places far behind the last.
        places = (numbers - np.int64(self._smallest)).view(np.uint64)
        inside = places < np.uint64(len(self._flags))
        found = self._flags[np.where(inside, places, 0)] & inside
        return pc.and_(pa.array(found), values.is_valid())


class _Hashed(KeySet):
    def __init__(self, bits: int, flags: npt.NDArray[np.bool_]) -> None:
        self._bits = bits
        self._flags = flags

    def has(self, values: pa.Array) -> pa.Array:
        found = self._flags[_hashed(_numbers(values), self._bits)]
        return pc.and_(pa.array(found), values.is_valid())


def _hashed(numbers: npt.NDArray[np.int64], bits: int) -> npt.NDArray[np.uint64]:
    made: npt.NDArray[np.uint64] = (numbers.view(np.uint64) * _FACTOR) >> np.uint64(64 - bits)
    return made


def _numbers(values: pa.Array) -> npt.NDArray[np.int64]:
    numbers = plain_keys(values)
    filled = numbers.fill_null(0) if numbers.null_count else numbers
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def plain_keys(values: pa.Array) -> pa.Array:
    """Texts as they are, and everything else as whole numbers of one type."""
    if pa.types.is_string(values.type):
        return values
    days = values.view(pa.int32()) if pa.types.is_date32(values.type) else values
    return days.cast(pa.int64())
