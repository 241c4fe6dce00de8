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
    ) -> pa.ChunkedArray:
        groups = _Groups.of(answer, beside[0])
        return groups.known(groups.means(values))


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
    ) -> pa.ChunkedArray:
        counts, means = beside
        groups = _Groups.of(answer, counts)
        with np.errstate(all="ignore"):
            apart = groups.apart(means, groups.means(means))
            return groups.known(groups.sums(groups.sorted(values) + groups.counts * apart * apart))


@dataclass(frozen=True)
class _Groups:
    """Rows, one group after the other."""

    order: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    """Where each group begins; none is empty."""
    counts: Doubles
    """How many values each row stands for."""

    @classmethod
    def of(cls, lists: pa.ChunkedArray, counts: pa.ChunkedArray) -> _Groups:
        rows = lists.combine_chunks()
        order = np.asarray(rows.flatten())
        ends = np.cumsum(np.asarray(rows.value_lengths(), dtype=np.int64))
        starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])[: len(ends)]
        return cls(order, starts, np.asarray(counts).astype(np.float64)[order])

    def sorted(self, values: pa.ChunkedArray) -> Doubles:
        """The values in the order of groups; zero where there are none."""
        return np.asarray(values.fill_null(0.0))[self.order]

    def sums(self, values: Doubles) -> Doubles:
        return np.add.reduceat(values, self.starts) if len(values) else values

    def spread(self, values: Doubles) -> Doubles:
        """What each group has, for each of its rows."""
        return np.repeat(values, np.diff(self.starts, append=len(self.order)))

    def apart(self, means: pa.ChunkedArray, point: Doubles) -> Doubles:
        """How far each row's mean is from the point of its group."""
        return np.where(self.counts > 0, self.sorted(means) - self.spread(point), 0.0)

    def means(self, means: pa.ChunkedArray) -> Doubles:
        values = self.sorted(means)
        if not len(values):
            return values
        places = np.where(self.counts > 0, np.arange(len(values)), len(values) - 1)
        one = values[np.minimum.reduceat(places, self.starts)]
        with np.errstate(all="ignore"):
            apart = self.sums(self.counts * self.apart(means, one))
            return one + apart / np.maximum(self.sums(self.counts), 1.0)

    def known(self, values: Doubles) -> pa.ChunkedArray:
        """NULL for groups that have no value."""
        return pa.chunked_array([pa.array(values, mask=self.sums(self.counts) == 0)], pa.float64())
