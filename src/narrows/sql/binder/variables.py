"""Variables of a Spark session, in queries: `DECLARE VARIABLE most = 10`, then `WHERE v < most`.

A name is one where nothing in the query is called so. Spark puts the value in: to us it is a value
that is the same for all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from narrows.errors import Span
from narrows.expressions.nodes import Expr, SyntaxForm
from narrows.sql.scope import Name

if TYPE_CHECKING:
    from narrows.sql.binder.expression import Binder

_QUALIFIERS = ("system", "session")


def bind_variable(binder: Binder, names: Sequence[Name]) -> tuple[Expr, Sequence[Name]] | None:
    """The variable that a dotted name begins with, and the fields that are left."""
    place = 0
    for qualifier in _QUALIFIERS:
        if place + 1 < len(names) and names[place].text.casefold() == qualifier:
            place += 1
    dtype = binder.functions.variable(names[place].text)
    if dtype is None:
        return None
    text = variable_text(names[place].text)
    span = Span.around(name.span for name in names[: place + 1])
    return SyntaxForm(pieces=(text,), operands=(), dtype=dtype, span=span), names[place + 1 :]


def variable_text(name: str) -> str:
    """How Spark reads a variable, whatever columns there are."""
    return f"system.session.`{name.replace('`', '``')}`"
