"""Bound expressions as people read them: `stream_4.b->items[0]->x`, `a > 1 AND b->c IS NULL`."""

from __future__ import annotations

from collections.abc import Callable

from narrows.expressions.function import Kind
from narrows.expressions.nodes import (
    Call,
    Cast,
    Column,
    ElementAccess,
    Expr,
    FieldAccess,
    Lambda,
    Literal,
    SortKey,
    SyntaxForm,
    Variable,
)
from narrows.expressions.precedence import ACCESS, LOOSEST, UNARY
from narrows.schema import quoted


def expression_text(expr: Expr) -> str:
    return _write(expr, LOOSEST)


def sort_key_text(key: SortKey) -> str:
    text = expression_text(key.expr)
    if key.descending:
        text += " DESC"
    if key.nulls_first == key.descending:  # not what the direction implies
        text += " NULLS FIRST" if key.nulls_first else " NULLS LAST"
    return text


def _write(expr: Expr, outer: int) -> str:
    """The text, in parentheses if it binds looser than what stands around it."""
    match expr:
        case Column(name=name, qualifier=qualifier):
            # A column without qualifier is named by an expression's text, not by the user.
            return f"{quoted(qualifier)}.{quoted(name)}" if qualifier else name
        case Variable(name=name):
            return name
        case Literal(text=text):
            return f"({text})" if text.startswith("-") and outer > UNARY else text
        case FieldAccess(base=base, name=name):
            return f"{_write(base, ACCESS)}->{quoted(name)}"
        case ElementAccess(base=base, index=index):
            return f"{_write(base, ACCESS)}[{_write(index, LOOSEST)}]"
        case Cast(operand=operand, to=to, safe=safe):
            return f"{'TRY_CAST' if safe else 'CAST'}({_write(operand, LOOSEST)} AS {to})"
        case Lambda(parameters=parameters, body=body):
            names = ", ".join(p.name for p in parameters)
            left = names if len(parameters) == 1 else f"({names})"
            return f"{left} -> {_write(body, LOOSEST)}"
        case Call():
            return _write_call(expr, outer)
        case SyntaxForm(pieces=pieces, operands=operands):
            inner = [_write(operand, ACCESS) for operand in operands]
            return "".join(p + o for p, o in zip(pieces, [*inner, ""], strict=True))
        case _:
            raise AssertionError(f"no text for {type(expr).__name__}")


def _write_call(call: Call, outer: int) -> str:
    syntax = call.function.syntax
    if syntax is not None:
        # One step tighter for the operands: `a - (b - c)` must not lose its parentheses.
        inner = LOOSEST if syntax.encloses else syntax.precedence + 1
        first = syntax.precedence if syntax.left_associative else inner
        parts = [_write(arg, inner if place else first) for place, arg in enumerate(call.args)]
        text = syntax.write(parts)
        return f"({text})" if syntax.precedence < outer else text
    args = ", ".join(_write(arg, LOOSEST) for arg in call.args)
    if not call.args and call.function.takes_star:
        args = "*"
    text = f"{call.function.name}({'DISTINCT ' if call.distinct else ''}{args})"
    if call.order_by:
        keys = ", ".join(sort_key_text(key) for key in call.order_by)
        text += f" WITHIN GROUP (ORDER BY {keys})"
    if call.filter is not None:
        text += f" FILTER (WHERE {_write(call.filter, LOOSEST)})"
    if call.ignore_nulls:
        text += " IGNORE NULLS"
    return text + over_text(call, lambda key: _write(key, LOOSEST), sort_key_text)


def over_text(
    call: Call, key_text: Callable[[Expr], str], sort_text: Callable[[SortKey], str]
) -> str:
    """The OVER clause of a call; nothing where there is none."""
    clauses = []
    if call.partition_by:
        clauses.append(f"PARTITION BY {', '.join(map(key_text, call.partition_by))}")
    if call.sorted_by:
        clauses.append(f"ORDER BY {', '.join(map(sort_text, call.sorted_by))}")
    if call.frame is not None:
        clauses.append(call.frame)
    is_analytic = call.function.kind is Kind.ANALYTIC
    return f" OVER ({' '.join(clauses)})" if clauses or is_analytic else ""
