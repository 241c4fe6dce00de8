"""A stream window's constants as numbers: sizes in milliseconds, and when all windows are over."""

from __future__ import annotations

from dataclasses import dataclass

from narrows.errors import InternalError
from narrows.expressions.function import WindowArgument, WindowKind
from narrows.expressions.nodes import Call, Expr, Literal
from narrows.physical.incremental import CUT_BY_SPARK

_MILLISECONDS = {"ms": 1, "ss": 1_000, "mi": 60_000, "hh": 3_600_000, "dd": 86_400_000}


@dataclass(frozen=True)
class WindowSpec:
    """`lengths` are what the function takes after its unit: size, hop, gap, lookback, lookahead."""

    kind: WindowKind
    lengths: tuple[int, ...]
    conditions: tuple[Expr, ...] = ()

    @property
    def goes_by_time(self) -> bool:
        """Cut by the time of rows; windows of the other kinds are cut by the rows themselves."""
        return self.kind in CUT_BY_SPARK or self.kind is WindowKind.SLIDING

    @property
    def period(self) -> int:
        """How often, in quiet times, somebody has to look whether a window is over."""
        return self.lengths[1] if self.kind is WindowKind.HOPPING else max(self.lengths[-1], 100)

    def closing_time(self, newest: int) -> int:
        """The time at which all windows are over, when no row is newer than `newest`.

        Rows may be newer by less than a millisecond, so windows that end with a row get one more.
        """
        match self.kind:
            case WindowKind.TUMBLING:
                return newest // self.lengths[0] * self.lengths[0] + self.lengths[0]
            case WindowKind.HOPPING:
                size, hop = self.lengths
                return newest // hop * hop + size
            case WindowKind.SESSION:
                return newest + self.lengths[0] + 1
            case WindowKind.SLIDING:
                return newest + (self.lengths[1] if len(self.lengths) > 1 else 0) + 1
            case _:
                return newest + 1


def window_spec(call: Call) -> WindowSpec:
    kind = call.function.window_kind
    if kind is None:
        raise InternalError(f"`{call.function.name}` is no window")
    unit = 1
    lengths: list[int] = []
    conditions: list[Expr] = []
    for arg, takes in zip(call.args, call.function.window_arguments, strict=False):
        value = arg.value if isinstance(arg, Literal) else None
        if takes is WindowArgument.UNIT:
            unit = _MILLISECONDS[str(value)]
        elif takes is WindowArgument.COUNT:
            assert isinstance(value, int)
            lengths.append(value * unit)
        else:
            conditions.append(arg)
    return WindowSpec(kind, tuple(lengths), tuple(conditions))
