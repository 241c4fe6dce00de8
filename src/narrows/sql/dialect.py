"""The SQL dialect: Spark's, as sqlglot reads it, with our own tokens and fewer liberties.

sqlglot is a translator, so it turns functions into forms that all dialects share. We do not
translate: a call must reach Spark as the user wrote it, and the function registry must see the
name that the user wrote. So here every call is parsed as what it is, a name with arguments, except
for the few that have a syntax of their own, such as CAST and EXTRACT.

What differs from Spark's SQL text is settled before parsing, on the tokens:

* `b->c` is field access and means `b.c`. Spark reads `x -> ...` as a lambda, and so does sqlglot,
  even in `upper(b->c)`. An arrow is a lambda's only where the function called takes a lambda at
  that very place.
* `GROUP BY window(...)`: the word opens a WINDOW clause unless a parenthesis follows.
* `CREATE STREAM`, `EXPLAIN`, `SHOW`: sqlglot would swallow them whole as commands. Here the
  statements around queries are read by `sql/parse.py`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from narrows.errors import Code, NarrowsError, Span, fail
from narrows.sql.functions import builtin_functions

MAX_NESTING = 200
"""How deep brackets may nest. Deeper ones are no query, and would exhaust the parser's stack."""

_SYNTAX_OF_THEIR_OWN = frozenset(
    ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "SUBSTR", "TRIM", "POSITION", "OVERLAY")
)


class NarrowsParser(SparkParser):
    """Spark's parser, with calls left as they are."""

    STRICT_CAST = True  # CAST is CAST; only TRY_CAST is TRY_CAST
    ARRAY_CONSTRUCTORS: ClassVar[Any] = {}  # `array(1, 2)[0]` is an element, not `ARRAY[0]`
    FUNCTIONS: ClassVar[Any] = {}
    FUNCTION_PARSERS: ClassVar[Any] = {
        name: SparkParser.FUNCTION_PARSERS[name] for name in _SYNTAX_OF_THEIR_OWN
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[Any] = {
        name: SparkParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "ANY")
    }
    NO_PAREN_FUNCTIONS: ClassVar[Any] = {
        TokenType.CURRENT_DATE: exp.CurrentDate,
        TokenType.CURRENT_TIMESTAMP: exp.CurrentTimestamp,
    }


class NarrowsDialect(Spark):
    """Spark SQL, parsed without translation."""

    class Tokenizer(Spark.Tokenizer):
        COMMANDS: ClassVar[set[TokenType]] = set()

    Parser = NarrowsParser


_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_NOT_A_NAME = {TokenType.STRING, TokenType.NUMBER}


def new_parser() -> NarrowsParser:
    """A parser that stops at the first thing it cannot read."""
    try:
        return NarrowsParser(dialect=NarrowsDialect(), error_level=ErrorLevel.IMMEDIATE)
    except TypeError as error:
        raise ImportError(
            "Narrows extends sqlglot's parser, which the compiled `sqlglotc` does not allow:"
            " run `pip uninstall sqlglotc`"
        ) from error


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, arrows and windows settled."""
    try:
        tokens: list[Token] = NarrowsDialect().tokenize(text)
    except TokenError as error:
        raise _unreadable(text, error) from None
    return _settle(tokens)


def _unreadable(text: str, error: TokenError) -> NarrowsError:
    message = str(error.__cause__ or error)
    end = len(text.rstrip())
    if "Missing" in message:
        what = "a quote, backtick or comment is not closed"
        return fail(Code.SYNTAX_ERROR, what, Span(max(0, end - 1), end))
    return fail(Code.SYNTAX_ERROR, f"cannot read this text: {message}", Span(max(0, end - 1), end))


class _Bracket:
    """An open bracket while tokens are being settled: whose it is, and which argument we are in."""

    __slots__ = ("argument", "lambdas", "opened", "start")

    def __init__(self, lambdas: frozenset[int], opened: int) -> None:
        self.lambdas = lambdas
        self.opened = opened
        self.argument = 0
        self.start = opened + 1  # where the present argument begins


def _settle(tokens: list[Token]) -> list[Token]:
    settled: list[Token] = []
    open_brackets: list[_Bracket] = []
    closed_at = -1  # where the bracket that was closed last had been opened
    for place, token in enumerate(tokens):
        kind = token.token_type
        if kind is TokenType.ARROW:
            bracket = open_brackets[-1] if open_brackets else None
            if not _is_lambda(bracket, place, tokens, closed_at):
                token = _retyped(token, TokenType.DOT, ".")
        elif kind in _OPENING:
            if len(open_brackets) == MAX_NESTING:
                raise fail(
                    Code.NESTED_TOO_DEEPLY,
                    f"brackets are nested more than {MAX_NESTING} deep",
                    Span(token.start, token.end + 1),
                )
            name = tokens[place - 1].text if kind is TokenType.L_PAREN and place else ""
            open_brackets.append(_Bracket(_lambda_places().get(name.lower(), frozenset()), place))
        elif kind in _CLOSING:
            if open_brackets:
                closed_at = open_brackets.pop().opened
        elif kind is TokenType.COMMA:
            if open_brackets:
                open_brackets[-1].argument += 1
                open_brackets[-1].start = place + 1
        elif kind is TokenType.WINDOW and _follows(tokens, place, TokenType.L_PAREN):
            token = _retyped(token, TokenType.VAR, token.text)
        settled.append(token)
    return settled


def _retyped(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end, token.comments)


def _is_lambda(bracket: _Bracket | None, place: int, tokens: list[Token], closed_at: int) -> bool:
    """Is the arrow at `place` a lambda's: `f(..., x -> ...` or `f(..., (x, y) -> ...`?"""
    if bracket is None or bracket.argument not in bracket.lambdas:
        return False
    if tokens[place - 1].token_type is TokenType.R_PAREN:
        return closed_at == bracket.start
    return place - 1 == bracket.start and tokens[place - 1].token_type not in _NOT_A_NAME


def _follows(tokens: list[Token], place: int, kind: TokenType) -> bool:
    return place + 1 < len(tokens) and tokens[place + 1].token_type is kind


@cache
def _lambda_places() -> dict[str, frozenset[int]]:
    """Which arguments of which functions are lambdas."""
    return {f.name: frozenset(f.lambdas) for f in builtin_functions() if f.lambdas}
