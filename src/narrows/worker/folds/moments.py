"""Means, and sums of squared distances from them: what variances and deviations are made of.

    n        sum of n_i
    mean     a + sum of n_i (mean_i - a), by n
    squares  sum of squares_i + n_i (mean_i - mean)^2

Distances are taken before anything is squared, and from a value of the group itself: however far
values are from zero, no digits get lost, and equal values have no distance at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from narrows.worker.folds.folding import LIST, Asked, only

Doubles = npt.NDArray[np.float64]


class Mean:
    def alone(
        self, values: pa.Array, taken: pa.Array | None, beside: Sequence[pa.Array]
    ) -> pa.Array:
        return only(taken, values)

    def asked(self, values: pa.ChunkedArray, beside: Sequence[pa.ChunkedArray]) -> Asked:
        return Asked(LIST)

    def folded(
        self,
        answer: pa.ChunkedArray,
        values: pa.ChunkedArray,
        beside: Sequence[pa.ChunkedArray],
        made: Sequence[pa.ChunkedArray],
    ) -> pa.ChunkedArray:
        groups = _Groups.of(answer, beside[0])
        return groups.known(groups.means(groups.sorted(values)))


class Squares:
    def alone(
        self, values: pa.Array, taken: pa.Array | None, beside: Sequence[pa.Array]
    ) -> pa.Array:
        # Zero, but for what is no number: from infinity nothing has a distance.
        return only(taken, pc.subtract(values, values))

    def asked(self, values: pa.ChunkedArray, beside: Sequence[pa.ChunkedArray]) -> Asked:
        return Asked(LIST)

    def folded(
        self,
        answer: pa.ChunkedArray,
        values: pa.ChunkedArray,
        beside: Sequence[pa.ChunkedArray],
        made: Sequence[pa.ChunkedArray],
    ) -> pa.ChunkedArray:
        counts, means = beside
        groups = _Groups.of(answer, counts)
        with np.errstate(all="ignore"):
            apart = groups.apart(groups.sorted(means), _doubles(made[1]))
            squares = groups.weighted(apart * apart)
            return groups.known(groups.sums(groups.sorted(values) + squares))


@dataclass(frozen=True)
class _Groups:
    """Rows, one group after the other."""

    order: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    """Where each group begins; none is empty."""
    lengths: npt.NDArray[np.int64]
    counts: Doubles | None
    """How many values each row stands for; None if it is one for all, as it is of rows that have
    not been folded before: most, and they are dealt with in half the time."""

    @classmethod
    def of(cls, lists: pa.ChunkedArray, counts: pa.ChunkedArray) -> _Groups:
        rows = lists.combine_chunks()
        order = np.asarray(rows.flatten())
        lengths = np.asarray(rows.value_lengths(), dtype=np.int64)
        numbers = np.asarray(counts)
        weights = None if (numbers == 1).all() else numbers.astype(np.float64)[order]
        return cls(order, np.cumsum(lengths) - lengths, lengths, weights)

    def sorted(self, values: pa.ChunkedArray) -> Doubles:
        """The values in the order of groups; zero where there are none."""
        return _doubles(values)[self.order]

    def sums(self, values: Doubles) -> Doubles:
        return np.add.reduceat(values, self.starts) if len(values) else values

    def weighted(self, values: Doubles) -> Doubles:
        return values if self.counts is None else self.counts * values

    @property
    def totals(self) -> Doubles:
        """How many values each group has."""
        return self.lengths.astype(np.float64) if self.counts is None else self.sums(self.counts)

    def apart(self, means: Doubles, point: Doubles) -> Doubles:
        """How far each row's mean is from the point of its group."""
        apart = means - np.repeat(point, self.lengths)
        return apart if self.counts is None else np.where(self.counts > 0, apart, 0.0)

    def means(self, means: Doubles) -> Doubles:
        if not len(means):
            return means
        one = means[self._with_value()]
        with np.errstate(all="ignore"):
            apart = self.sums(self.weighted(self.apart(means, one)))
            return one + apart / np.maximum(self.totals, 1.0)

    def _with_value(self) -> npt.NDArray[np.int64]:
        """A row of each group that has a value, if there is one."""
        if self.counts is None:
            return self.starts
        rows = np.arange(len(self.counts))
        places = np.where(self.counts > 0, rows, len(rows) - 1)
        return np.minimum.reduceat(places, self.starts)

    def known(self, values: Doubles) -> pa.ChunkedArray:
        """NULL for groups that have no value."""
        mask = None if self.counts is None else self.totals == 0
        return pa.chunked_array([pa.array(values, mask=mask)], pa.float64())


def _doubles(values: pa.ChunkedArray) -> Doubles:
    return np.asarray(values.fill_null(0.0) if values.null_count else values)
