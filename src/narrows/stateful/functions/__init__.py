"""Functions that remember earlier rows: one class each. Here they are registered."""

from narrows.stateful.functions.accumulations import AccAvg, AccCount, AccMax, AccMin, AccSum
from narrows.stateful.functions.changes import ChangedCol, HadChanged
from narrows.stateful.functions.earlier import Lag, Latest
from narrows.stateful.functions.function import RowFunction

FUNCTIONS: tuple[type[RowFunction], ...] = (
    Lag,
    Latest,
    ChangedCol,
    HadChanged,
    AccSum,
    AccMin,
    AccMax,
    AccCount,
    AccAvg,
)

__all__ = [
    "FUNCTIONS",
    "AccAvg",
    "AccCount",
    "AccMax",
    "AccMin",
    "AccSum",
    "ChangedCol",
    "HadChanged",
    "Lag",
    "Latest",
    "RowFunction",
]
