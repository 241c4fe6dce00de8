"""Forms that Spark understands and we do not have to: their text goes to Spark as it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from narrows.errors import Span
from narrows.expressions.nodes import Expr, SyntaxForm
from narrows.schema import UNKNOWN, quoted
from narrows.sql.binder.context import span_of
from narrows.sql.parser.dialect import NarrowsDialect

if TYPE_CHECKING:
    from narrows.sql.binder.expression import Binder


def carried(binder: Binder, node: exp.Expr) -> Expr:
    """A form that Spark understands and we do not have to: its text, around bound operands."""
    operands: list[Expr] = []

    def hole_for(operand: exp.Expr) -> exp.Expr:
        operands.append(binder.bind(operand))
        return exp.column(_hole(len(operands) - 1))

    template = _with_holes(node, hole_for)
    # The text may have the operands in another order than the tree.
    pieces = _HOLE.split(template.sql(dialect=NarrowsDialect))
    return SyntaxForm(
        pieces=tuple(pieces[0::2]),
        operands=tuple(operands[int(number)] for number in pieces[1::2]),
        dtype=UNKNOWN,
        span=Span.around(operand.span for operand in operands) or span_of(node),
    )


def named_argument(binder: Binder, node: exp.Kwarg) -> Expr:
    """`name => value`. Spark alone knows which argument that is, so all of the value is demanded,
    however the function looks at what stands at this place."""
    value = binder.bind(node.expression)
    pieces = (f"{quoted(node.this.name)} => ", "")
    return SyntaxForm(pieces=pieces, operands=(value,), dtype=UNKNOWN, span=value.span)


def _with_holes(node: exp.Expr, hole_for: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """A copy of a form with its values cut out; brackets, types and words belong to the form.

    The values themselves are not copied, for they may be as large as the query.
    """

    def cut(part: object) -> object:
        match part:
            case list():
                return [cut(inner) for inner in part]
            case exp.Tuple() | exp.Paren():
                return _with_holes(part, hole_for)
            case exp.Var() | exp.DataType() | exp.Identifier() | exp.IntervalSpan():
                return part.copy()
            case exp.Expr():
                return hole_for(part)
            case _:
                return part

    return type(node)(**{name: cut(part) for name, part in node.args.items()})


_HOLE = re.compile(r"__operand_(\d+)__")


def _hole(number: int) -> str:
    return f"__operand_{number}__"
