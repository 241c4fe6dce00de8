"""What Narrows knows of a function: kind, arity, result, and how it looks at its arguments.

Everything that depends on *which* function is called is data of this kind. The binder, the demand
collector, the rules and the printers ask the `Function`; none of them tests a name. Which functions
there are stands in `functions/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from narrows.demand import ALL, Demand
from narrows.expressions.nodes import Call, Expr, Lambda
from narrows.schema import UNKNOWN, DataType, Struct
from narrows.stateful.functions.function import RowFunction
from narrows.stateful.windows.window import StreamWindow

InsideLambda = Callable[[Lambda, Demand], Sequence[Demand]]
"""Demands a lambda's body and answers with what that demands of each parameter."""

Look = Callable[[Call, Demand, InsideLambda], Sequence[Demand]]
"""From what is wanted of a call's result to what that demands of each argument."""

Result = Callable[[Sequence[Expr]], DataType]
"""The type of a call's result."""

LambdaTypes = Callable[[Sequence[DataType]], Sequence[DataType]]
"""From the types of the arguments to those of a lambda's parameters (the most it may have)."""


def whole(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    """Every argument in full. The only safe answer for a function that is not known."""
    return [ALL] * len(call.args)


class Kind(Enum):
    SCALAR = "scalar"
    OPERATOR = "operator"
    AGGREGATE = "aggregate"
    ANALYTIC = "analytic"  # needs OVER (... ORDER BY ...): row_number, rank
    GENERATOR = "generator"  # many rows for one: explode
    STATEFUL = "stateful"  # remembers earlier rows of the stream: lag, latest, acc_sum
    STREAM_WINDOW = "stream window"  # cuts the stream, in GROUP BY: tumblingwindow
    WINDOW_BOUND = "window bound"  # window_start(), window_end()
    TABLE = "table"


@dataclass(frozen=True)
class Body:
    """What a function means, in SQL: `sql/binder/written_out.py` writes its calls out."""

    text: Callable[[Sequence[Expr]], str | None]
    """The expression, for these arguments; None: this call is Spark's."""
    parameters: Struct | None = None
    """What the text calls the arguments, and the types they are cast to; None: `_1`, `_2`, ..., as
    they are."""
    returns: DataType | None = None
    """What the value is cast to."""

    def names(self, count: int) -> Sequence[str]:
        if self.parameters is not None:
            return self.parameters.names
        return [f"_{place}" for place in range(1, count + 1)]


class Output(NamedTuple):
    """A column that a generator makes."""

    name: str
    dtype: DataType


@dataclass(frozen=True)
class Generator:
    """How a generator makes rows."""

    outputs: Callable[[Sequence[Expr]], Sequence[Output] | None]
    """Its columns by default names; None when the arguments are not of a kind it takes."""
    look: Callable[[Call, Sequence[Demand]], Sequence[Demand]]
    """From what is wanted of its columns to what that demands of the arguments."""
    in_from: bool = False
    """Spark has it in FROM, and there alone."""


@dataclass(frozen=True)
class Syntax:
    """How an operator is written, and how tightly it binds (higher is tighter)."""

    precedence: int
    write: Callable[[Sequence[str]], str]
    encloses: bool = False
    """Its operands stand between words of its own (CASE ... END): they need no parentheses."""
    left_associative: bool = False
    """`a - b - c` means `(a - b) - c`."""


@dataclass(frozen=True)
class Function:
    name: str
    kind: Kind = Kind.SCALAR
    min_args: int = 0
    max_args: int | None = None
    result: Result = field(default=lambda args: UNKNOWN, repr=False, compare=False)
    look: Look = field(default=whole, repr=False, compare=False)
    lambdas: Mapping[int, LambdaTypes] = field(default_factory=dict, repr=False, compare=False)
    optional_parameters: int = field(default=0, repr=False, compare=False)
    """How many of a lambda's parameters may be left out: the index in `transform(list, x -> x)`."""
    generator: Generator | None = field(default=None, repr=False, compare=False)
    table: Callable[[Sequence[Expr]], Sequence[Output]] | None = field(
        default=None, repr=False, compare=False
    )
    """The columns of a function that stands in FROM."""
    syntax: Syntax | None = field(default=None, repr=False, compare=False)
    remembers: type[RowFunction] | None = field(default=None, repr=False, compare=False)
    """What a stateful function takes, gives and does."""
    window: type[StreamWindow] | None = field(default=None, repr=False, compare=False)
    """What a stream window takes, and how it cuts."""
    key_name: str | None = field(default=None, repr=False, compare=False)
    """The name under which SELECT may use this call when it is a group key: `window.start`."""
    incremental: bool = field(default=True, repr=False, compare=False)
    """An aggregate that can be kept up to date row by row, so a window need not keep its rows."""
    by_order: bool = field(default=False, repr=False, compare=False)
    """An aggregate that takes the value of the last row, in the order of the source."""
    unit_first: bool = field(default=False, repr=False, compare=False)
    """`dateadd(DAY, 1, ts)`: with one argument more than usual, the first one names a unit."""
    takes_star: bool = field(default=False, repr=False, compare=False)
    """`count(*)`: may be called with a star instead of arguments."""
    any_shape: frozenset[int] = field(default=frozenset(), repr=False, compare=False)
    """Arguments whose nested values may come without the fields that nobody demanded. Elsewhere
    Spark compares the types of arguments, so they must be complete."""
    names_keys: bool = field(default=False, repr=False, compare=False)
    """`grouping(a)`: the arguments name group keys, their values do not matter."""
    deterministic: bool = field(default=True, repr=False, compare=False)
    drawn: bool = field(default=False, repr=False, compare=False)
    """Gives another value wherever it stands, in the same row, too. (`now()` is the same in all of
    a query, though not in the next one.)"""
    known: bool = field(default=True, repr=False, compare=False)
    """False for a user's function, of which nothing is known: its use costs pruning."""
    body: Body | None = field(default=None, repr=False, compare=False)
    """What it is short for, where it is no function of Spark's."""
    in_spark: Callable[[Sequence[str]], str] | None = field(default=None, repr=False, compare=False)
    """How Spark is told, where it has no such function and a plan needs it all the same."""
    with_names: str | None = field(default=None, repr=False, compare=False)
    """The function that `f(x AS name)` means, called as `g('name', x)`; None: no names allowed."""

    def accepts(self, count: int) -> bool:
        return self.min_args <= count and (self.max_args is None or count <= self.max_args)

    def arity_text(self) -> str:
        low, high = self.min_args, self.max_args
        if high is None:
            return f"at least {_arguments(low)}"
        return _arguments(low) if low == high else f"{low} to {_arguments(high)}"


def _arguments(count: int) -> str:
    return f"{count} argument" if count == 1 else f"{count} arguments"
