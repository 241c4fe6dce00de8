"""ConstantFolding: computes what does not depend on any row.

SQL:     SELECT b->items[1 + 1]->x FROM stream_4 WHERE a > 1 AND true
Before:  Project fields=[stream_4.b->items[1 + 1]->x]
         └─Filter predicate=stream_4.a > 1 AND true
           └─DataSource source=stream_4
After:   Project fields=[stream_4.b->items[2]->x]
         └─Filter predicate=stream_4.a > 1
           └─DataSource source=stream_4

Recognises: integer `+`, `-`, `*` and comparisons of integers; a date plus or minus an interval of
whole years, months or days (a bound that a reader can then test by itself); AND, OR and NOT with
TRUE or FALSE among their arguments; CASE whose condition is known; a filter on TRUE.

Refuses: whatever could differ from Spark in any setting. Integer results outside INT (Spark's
literals are INT, and overflow depends on ANSI mode), division, decimals, NULLs, strings, a CASE
whose branches differ in type.

Terminates: every step replaces an expression by a smaller one.

Runs first, because an index that becomes constant prunes more, and so does a branch that goes away.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta

from narrows.expressions.nodes import Call, Cast, Expr, Literal, in_place
from narrows.functions import operator
from narrows.logical.nodes import Aggregation, Filter, Node, Sort
from narrows.logical.walk import transform_up
from narrows.schema import BOOLEAN, INT, UNKNOWN, VOID, Unknown
from narrows.sql.binder.literals import Interval, date_literal, literal

_INT_RANGE = range(-(2**31), 2**31)

_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
_COMPARISON: dict[str, Callable[[int, int], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_FOLDED_ARITHMETIC = {operator(name): fold for name, fold in _ARITHMETIC.items()}
_FOLDED_COMPARISON = {operator(name): fold for name, fold in _COMPARISON.items()}
_AND, _OR, _NOT, _CASE = operator("and"), operator("or"), operator("not"), operator("case")


class ConstantFolding:
    def apply(self, plan: Node) -> Node | None:
        return transform_up(plan, _fold_node)


def _fold_node(node: Node) -> Node | None:
    before = node.expressions
    after = [fold(expr) for expr in before]
    if isinstance(node, (Aggregation, Sort)):
        # A bare number as a key would be the place of a column.
        after = [
            old if isinstance(new, Literal) else new for new, old in zip(after, before, strict=True)
        ]
    if any(new is not old for new, old in zip(after, before, strict=True)):
        node = node.with_expressions(after)
        changed = True
    else:
        changed = False
    if isinstance(node, Filter) and _is(node.predicate, True):
        return node.child
    return node if changed else None


def fold(expr: Expr) -> Expr:
    """The expression with its constant parts computed; the same object when there are none."""
    children = expr.children
    if not children:
        return expr
    folded = tuple(fold(child) for child in children)
    if any(new is not old for new, old in zip(folded, children, strict=True)):
        expr = expr.with_children(folded)
    return _fold_call(expr) if isinstance(expr, Call) else expr


def _fold_call(call: Call) -> Expr:
    function = call.function
    if function in _FOLDED_ARITHMETIC or function in _FOLDED_COMPARISON:
        return _fold_integers(call)
    if function == _AND:
        return _fold_connector(call, absorbing=False)
    if function == _OR:
        return _fold_connector(call, absorbing=True)
    if function == _NOT and _is_boolean(call.args[0]):
        return literal(_is(call.args[0], False))
    if function == _CASE:
        return _fold_case(call)
    return call


def _fold_integers(call: Call) -> Expr:
    moved = _fold_date(call)
    if moved is not None:
        return moved
    a, b = (_int_value(arg) for arg in call.args)
    if a is None or b is None:
        return call
    compare = _FOLDED_COMPARISON.get(call.function)
    if compare is not None:
        return literal(compare(a, b))
    result = _FOLDED_ARITHMETIC[call.function](a, b)
    return in_place(literal(result)) if result in _INT_RANGE else call


def _fold_date(call: Call) -> Expr | None:
    """`DATE '1998-12-01' - INTERVAL '90' DAY`, if there is such a day."""
    sign = {operator("+"): 1, operator("-"): -1}.get(call.function)
    if sign is None or len(call.args) != 2:
        return None
    start, span = (arg.value if isinstance(arg, Literal) else None for arg in call.args)
    if not (isinstance(start, date) and isinstance(span, Interval)) or span.seconds:
        return None
    months = start.year * 12 + start.month - 1 + sign * span.months
    year, month = months // 12, months % 12 + 1
    try:
        day = min(start.day, monthrange(year, month)[1])  # a month later than the 31st: its end
        return date_literal(date(year, month, day) + timedelta(days=sign * span.days))
    except (ValueError, OverflowError):
        return None


def _fold_connector(call: Call, absorbing: bool) -> Expr:
    """`x AND false` is false, also when x is NULL; `x AND true` is x."""
    if not all(arg.dtype in (BOOLEAN, VOID, UNKNOWN) for arg in call.args):
        return call  # Spark will say what is wrong with it
    if any(_is(arg, absorbing) for arg in call.args):
        return literal(absorbing)
    kept = tuple(arg for arg in call.args if not _is(arg, not absorbing))
    if len(kept) == len(call.args):
        return call
    if not kept:
        return literal(not absorbing)
    if len(kept) == 1:
        return kept[0] if kept[0].dtype == BOOLEAN else call
    return Call(function=call.function, args=kept, dtype=call.dtype)


def _fold_case(call: Call) -> Expr:
    """Drops branches that cannot be taken, and stops at one that always is."""
    args = call.args
    default: Expr | None = args[-1] if len(args) % 2 == 1 else None
    results = [*args[1::2], *((default,) if default is not None else ())]
    if isinstance(call.dtype, Unknown) or any(r.dtype != call.dtype for r in results):
        return call  # a branch that goes away may have decided the type
    kept: list[Expr] = []
    for place in range(0, len(args) - 1, 2):
        condition, result = args[place], args[place + 1]
        if _is(condition, True):
            default = result
            break
        if not _is(condition, False):
            kept.extend((condition, result))
    folded = (*kept, *((default,) if default is not None else ()))
    if len(folded) == len(args):
        return call
    if kept:
        return Call(function=call.function, args=folded, dtype=call.dtype, span=call.span)
    if default is not None:
        return in_place(default)
    null = Literal(text="NULL", dtype=VOID)
    return Cast(operand=null, to=call.dtype.sql(), dtype=call.dtype)


def _int_value(expr: Expr) -> int | None:
    if isinstance(expr, Literal) and expr.dtype == INT and isinstance(expr.value, int):
        return expr.value
    return None


def _is_boolean(expr: Expr) -> bool:
    return isinstance(expr, Literal) and isinstance(expr.value, bool)


def _is(expr: Expr, truth: bool) -> bool:
    return isinstance(expr, Literal) and expr.value is truth
