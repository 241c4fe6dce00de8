"""Variances and deviations, by the same steps as Spark's, one value after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

from narrows.stateful.folds.fold import Fold, Held, Place
from narrows.stateful.values import Value


@dataclass(frozen=True)
class Spread(Fold):
    """Holds how many values there were, their mean, and the sum of squared distances from it."""

    sample: bool
    """Of a sample, or of all there is?"""
    root: bool
    """The deviation, or its square?"""

    def start(self) -> Held:
        return (0.0, 0.0, 0.0)

    def add(self, held: Held, value: Value, place: Place) -> Held:
        if value is None:
            return held
        count, mean, squares = held
        count += 1.0
        delta = float(value) - mean
        part = delta / count
        return (count, mean + part, squares + delta * (delta - part))

    def result(self, held: Held) -> Value:
        count, _, squares = held
        if count == 0.0 or (self.sample and count == 1.0):
            return None
        variance = squares / (count - 1.0 if self.sample else count)
        return math.sqrt(variance) if self.root else variance
