"""Operators as functions: arithmetic, comparison, logic, CASE, IN, IS NULL ...

They are registered under names that no user can call, beside how they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from narrows.demand import PRESENCE
from narrows.expressions.function import Function, Kind, Look, Syntax, whole
from narrows.expressions.precedence import (
    ACCESS,
    AND,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    COMPARE,
    NOT,
    OR,
    PRODUCT,
    SUM,
    UNARY,
)
from narrows.functions import looks, results
from narrows.functions.results import Result
from narrows.schema import BOOLEAN, UNKNOWN


def _infix(symbol: str, precedence: int, result: Result, name: str | None = None) -> Function:
    return Function(
        name or symbol,
        Kind.OPERATOR,
        2,
        None,
        result=result,
        syntax=Syntax(
            precedence,
            lambda parts: f" {symbol} ".join(parts),
            left_associative=precedence > COMPARE,
        ),
    )


def _prefix(symbol: str, precedence: int, result: Result, name: str) -> Function:
    return Function(
        name,
        Kind.OPERATOR,
        1,
        1,
        result=result,
        syntax=Syntax(precedence, lambda parts: f"{symbol}{parts[0]}"),
    )


def _postfix(name: str, text: str, look: Look | None = None) -> Function:
    return Function(
        name,
        Kind.OPERATOR,
        1,
        1,
        result=results.fixed(BOOLEAN),
        look=look or whole,
        any_shape=frozenset({0}),
        syntax=Syntax(COMPARE, lambda parts: f"{parts[0]} {text}"),
    )


def _special(
    name: str, result: Result, write: Callable[[Sequence[str]], str], precedence: int = COMPARE
) -> Function:
    return Function(name, Kind.OPERATOR, 1, None, result=result, syntax=Syntax(precedence, write))


def _write_case(parts: Sequence[str]) -> str:
    pairs = [f"WHEN {parts[i]} THEN {parts[i + 1]}" for i in range(0, len(parts) - 1, 2)]
    if len(parts) % 2 == 1:
        pairs.append(f"ELSE {parts[-1]}")
    return f"CASE {' '.join(pairs)} END"


def _write_match(keyword: str) -> Callable[[Sequence[str]], str]:
    def write(parts: Sequence[str]) -> str:
        escape = f" ESCAPE {parts[2]}" if len(parts) > 2 else ""
        return f"{parts[0]} {keyword} {parts[1]}{escape}"

    return write


_boolean = results.fixed(BOOLEAN)
_only_presence = looks.each(PRESENCE)

OPERATORS: tuple[Function, ...] = (
    _infix("OR", OR, _boolean, name="or"),
    _infix("AND", AND, _boolean, name="and"),
    _prefix("NOT ", NOT, _boolean, name="not"),
    *(_infix(symbol, COMPARE, _boolean) for symbol in ("=", "<>", "<", "<=", ">", ">=", "<=>")),
    _infix("|", BIT_OR, results.arithmetic),
    _infix("^", BIT_XOR, results.arithmetic),
    _infix("&", BIT_AND, results.arithmetic),
    _infix("+", SUM, results.arithmetic),
    _infix("-", SUM, results.arithmetic),
    _infix("||", SUM, results.fixed(UNKNOWN)),  # strings, binaries or lists
    _infix("*", PRODUCT, results.arithmetic),
    _infix("/", PRODUCT, results.fixed(UNKNOWN)),
    _infix("%", PRODUCT, results.arithmetic),
    _infix("DIV", PRODUCT, results.fixed(UNKNOWN), name="div"),
    _prefix("-", UNARY, results.with_sign, name="negative"),
    _prefix("~", UNARY, results.of_argument(0), name="bitnot"),
    _postfix("is null", "IS NULL", _only_presence),
    _postfix("is not null", "IS NOT NULL", _only_presence),
    _postfix("is true", "IS TRUE"),
    _postfix("is false", "IS FALSE"),
    _postfix("is unknown", "IS UNKNOWN"),
    _special("in", _boolean, lambda parts: f"{parts[0]} IN ({', '.join(parts[1:])})"),
    _special("between", _boolean, lambda parts: f"{parts[0]} BETWEEN {parts[1]} AND {parts[2]}"),
    _special("like", _boolean, _write_match("LIKE")),
    _special("ilike", _boolean, _write_match("ILIKE")),
    _special("rlike", _boolean, _write_match("RLIKE")),
    Function(
        "case",
        Kind.OPERATOR,
        2,
        None,
        result=results.of_case,
        look=looks.case,
        syntax=Syntax(ACCESS, _write_case, encloses=True),
    ),
)

BY_NAME = {operator.name: operator for operator in OPERATORS}


def operator(name: str) -> Function:
    return BY_NAME[name]
