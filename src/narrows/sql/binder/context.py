"""What all binding code shares: problems found so far, fresh ids, and places in the text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from itertools import count

from sqlglot import exp

from narrows.errors import Code, NarrowsError, Problem, Span, did_you_mean, fail
from narrows.expressions.function import Function
from narrows.functions import FunctionRegistry
from narrows.sql.scope import Name


class Problems:
    """What has been found wrong so far."""

    def __init__(self) -> None:
        self._found: dict[tuple[Code, Span | None, str], Problem] = {}

    def add(self, error: NarrowsError) -> None:
        for problem in error.problems:
            self._found.setdefault((problem.code, problem.span, problem.message), problem)

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Notes an error of the block instead of letting it out."""
        try:
            yield
        except NarrowsError as error:
            self.add(error)

    def raise_if_any(self) -> None:
        if self._found:
            raise NarrowsError(*self._found.values())


class SubqueryKind(Enum):
    """What an expression asks a subquery for."""

    SCALAR = "scalar"
    EXISTS = "exists"
    IN = "in"


class Ids:
    """Numbers for relations and lambda parameters, unique in a query."""

    def __init__(self) -> None:
        self._next = count()

    def new(self) -> int:
        return next(self._next)


def find_function(functions: FunctionRegistry, name: str, span: Span | None) -> Function:
    function = functions.find(name)
    if function is None:
        names = (*functions.names(), "cast", "try_cast", "extract")  # these are syntax
        message = f"function `{name}` not found"
        raise fail(Code.UNKNOWN_FUNCTION, message, span, did_you_mean(name, names))
    if function.name in _NOT_HERE:
        raise fail(
            Code.NOT_SUPPORTED,
            f"`{function.name}` knows no file: readers of ours open them, and not Spark",
            span,
            "files of different kinds can be streams of their own",
        )
    return function


_NOT_HERE = ("input_file_name", "input_file_block_start", "input_file_block_length")


def refused(what: str, node: exp.Expr) -> NarrowsError:
    return fail(Code.NOT_SUPPORTED, f"{what} cannot be planned yet", span_of(node))


def name_of(node: exp.Expr) -> Name:
    text = node.args["this"] if type(node) is exp.Identifier else node.name
    return Name(text, _own_span(node) or span_of(node))


def span_of(node: exp.Expr) -> Span | None:
    """Where a piece of syntax stands, as far as its identifiers and calls tell."""
    return Span.around(_own_span(part) for part in node.walk())


def _own_span(node: exp.Expr) -> Span | None:
    meta = node.meta
    return Span(meta["start"], meta["end"] + 1) if "start" in meta else None
