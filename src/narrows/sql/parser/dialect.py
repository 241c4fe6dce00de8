"""The SQL dialect: Spark's, as sqlglot reads it, with our own tokens and fewer liberties.

How expressions are read is in `sql/parser/expression.py`.

sqlglot is lenient where Spark is not: it reads over a missing bracket or a comma too many.
What is written must count, so brackets and commas are checked here, before it sees them.

What differs from Spark's SQL text is settled on the tokens, too:

* `b->c` is field access and means `b.c`. Spark reads `x -> ...` as a lambda, and so does sqlglot,
  even in `upper(b->c)`. An arrow is a lambda's only where the function called takes a lambda at
  that very place.
* `GROUP BY window(...)`: the word opens a WINDOW clause unless a parenthesis follows.
* `CREATE STREAM`, `EXPLAIN`, `SHOW`: sqlglot would swallow them whole as commands. Here the
  statements around queries are read by `sql/parser/script.py`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import ClassVar, cast

from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from narrows.errors import Code, NarrowsError, Span, fail
from narrows.functions import builtin_functions
from narrows.sql.parser.expression import NarrowsParser
from narrows.sql.parser.words import WordTokenizer

MAX_NESTING = 200
"""How deep brackets may nest. Deeper ones are no query, and would exhaust the parser's stack."""


class NarrowsDialect(Spark):
    """Spark SQL, parsed without translation."""

    class Tokenizer(Spark.Tokenizer):
        COMMANDS: ClassVar[set[TokenType]] = set()

        def _init_core(self) -> WordTokenizer:
            core = super()._init_core()
            core.__class__ = WordTokenizer  # sqlglot has no other place to say which one it makes
            return cast("WordTokenizer", core)

    Parser = NarrowsParser


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
    """The tokens of a text, with strings joined, arrows settled and brackets checked."""
    try:
        tokens: list[Token] = NarrowsDialect().tokenize(text)
    except TokenError as error:
        raise _unreadable(text, error) from None
    kinds = {token.token_type for token in tokens}
    if TokenType.DCOLON in kinds:
        tokens = _join_numbers(tokens)
    if kinds & _STRINGS:
        tokens = _join_strings(tokens, text)
    return _settle(tokens)


def _unreadable(text: str, error: TokenError) -> NarrowsError:
    opened = _unclosed_quote(text)
    if opened is not None:
        mark = text[opened : opened + 2] if text.startswith("/*", opened) else text[opened]
        place = Span(opened, opened + len(mark))
        return fail(Code.SYNTAX_ERROR, f"`{mark}` is not closed", place)
    message = str(error.__cause__ or error)
    end = len(text.rstrip())
    place = Span(max(0, end - 1), end)
    return fail(Code.SYNTAX_ERROR, f"cannot read this text: {message}", place)


_QUOTED = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/""", re.DOTALL
)


def _unclosed_quote(text: str) -> int | None:
    """Where a quote, backtick or comment opens that never closes."""
    blanked = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    found = re.search(r"""['"`]|/\*""", blanked)
    return found.start() if found is not None else None


def _join_strings(tokens: list[Token], text: str) -> list[Token]:
    """`'a' "b"` is one string; `'it''s'`, where they touch, has a quote in it."""
    joined: list[Token] = []
    raw = False
    for token in tokens:
        is_raw = token.token_type is TokenType.RAW_STRING
        if is_raw:
            token = _retyped(token, TokenType.STRING, token.text)
        last = joined[-1] if joined else None
        if last is None or not (last.token_type is token.token_type is TokenType.STRING):
            joined.append(token)
        else:
            quote = text[token.start]
            is_quote = last.end + 1 == token.start and text[last.end] == quote and not raw
            between = quote if is_quote else ""
            whole = Span(last.start, token.end)
            joined[-1] = _spanning(token, TokenType.STRING, last.text + between + token.text, whole)
        raw = is_raw
    return joined


def _join_numbers(tokens: list[Token]) -> list[Token]:
    """`5L`, which sqlglot takes for `5 :: BIGINT`, as one token."""
    joined: list[Token] = []
    for token in tokens:
        number = joined[-2] if len(joined) > 1 else None
        if (
            number is not None
            and number.token_type is TokenType.NUMBER
            and joined[-1].token_type is TokenType.DCOLON
            and number.start == joined[-1].start == token.start
        ):
            joined.pop()
            joined[-1] = _retyped(number, TokenType.NUMBER, number.text + token.text)
        else:
            joined.append(token)
    return joined


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
    brackets: list[_Bracket] = []
    angles = 0
    closed_at = -1  # where the bracket that was closed last had been opened
    for place, token in enumerate(tokens):
        kind = token.token_type
        if kind is TokenType.VAR:  # most are, and nothing is to be settled about those
            settled.append(token)
            continue
        before = settled[-1] if settled else None
        if kind is TokenType.COMMA:
            if before is None or before.token_type in _BEFORE_A_VALUE:
                raise _unexpected(token)
            if brackets:
                brackets[-1].argument += 1
                brackets[-1].start = place + 1
        elif before is not None and before.token_type is TokenType.DOT and _is_word(token):
            token = _retyped(token, TokenType.VAR, token.text)  # `b.order`: no keyword here
        elif kind is TokenType.ARROW:
            if before is None or not _ends_value(before):
                raise _unexpected(token)
            if not _is_lambda(brackets[-1] if brackets else None, place, tokens, closed_at):
                token = _retyped(token, TokenType.DOT, ".")
        elif kind in _CLOSED_BY:
            if len(brackets) == MAX_NESTING:
                raise fail(
                    Code.NESTED_TOO_DEEPLY,
                    f"brackets are nested more than {MAX_NESTING} deep",
                    _span(token),
                )
            name = before.text if kind is TokenType.L_PAREN and before is not None else ""
            brackets.append(_Bracket(_lambda_places().get(name.lower(), frozenset()), place))
        elif kind in _CLOSING:
            if not brackets or _CLOSED_BY[tokens[brackets[-1].opened].token_type] is not kind:
                raise _unexpected(token)
            if before is not None and before.token_type is TokenType.COMMA:
                raise _unexpected(before)
            closed_at = brackets.pop().opened
        elif kind is TokenType.SEMICOLON:
            if brackets:
                raise _unclosed(tokens[brackets[-1].opened])
        elif kind is TokenType.WINDOW and _follows(tokens, place, TokenType.L_PAREN):
            token = _retyped(token, TokenType.VAR, token.text)
        elif kind in _TYPES and _follows(tokens, place, TokenType.LT):
            # `CAST(x AS MAP<...>)`; anywhere else it is a column of that name: `map < 2`.
            if angles or (before is not None and before.token_type in _BEFORE_A_TYPE):
                angles += 1
            else:
                token = _retyped(token, TokenType.VAR, token.text)
        elif kind is TokenType.GT and angles:
            angles -= 1
        settled.append(token)
    if brackets:
        raise _unclosed(tokens[brackets[-1].opened])
    return settled


def check_query(tokens: list[Token]) -> None:
    """Refuses what sqlglot would read over in a query: dangling commas, clauses without anything in
    them, marks of other dialects."""
    angles = 0
    for place, token in enumerate(tokens):
        kind = token.token_type
        if kind is TokenType.VAR:
            continue
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        if kind is TokenType.COMMA:
            if following is None or following.token_type in _CLAUSE_WORDS:
                raise _unexpected(token)
            continue
        if kind in _FOREIGN_MARKS:
            raise _unexpected(token)
        if kind in _BEFORE_EXPRESSIONS and (
            following is None or following.token_type in _NO_EXPRESSION
        ):
            message = f"there is nothing after `{token.text}`"
            raise fail(Code.SYNTAX_ERROR, message, _span(token))
        if kind in _TYPES and following is not None and following.token_type is TokenType.LT:
            angles += 1
        elif kind is TokenType.GT and angles:
            angles -= 1
        elif kind is TokenType.COLON and not angles and not _begins_path(tokens, place):
            raise _unexpected(token)


_CLOSED_BY = {
    TokenType.L_PAREN: TokenType.R_PAREN,
    TokenType.L_BRACKET: TokenType.R_BRACKET,
    TokenType.L_BRACE: TokenType.R_BRACE,
}
_CLOSING = frozenset(_CLOSED_BY.values())
_BEFORE_A_VALUE = frozenset((*_CLOSED_BY, TokenType.COMMA, TokenType.SELECT))
_CLAUSE_WORDS = frozenset(
    {
        TokenType.FROM,
        TokenType.WHERE,
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.ORDER_BY,
        TokenType.LIMIT,
    }
)
_BEFORE_EXPRESSIONS = frozenset({TokenType.GROUP_BY, TokenType.PARTITION_BY})
_NO_EXPRESSION = frozenset(
    (*_CLAUSE_WORDS, *_CLOSING, TokenType.WITH, TokenType.UNION, TokenType.EXCEPT)
)
_FOREIGN_MARKS = frozenset(
    {
        TokenType.PLACEHOLDER,
        TokenType.PARAMETER,
        TokenType.L_BRACE,
        TokenType.DARROW,
        TokenType.HASH_ARROW,
        TokenType.DHASH_ARROW,
    }
)
_TYPES = frozenset({TokenType.STRUCT, TokenType.ARRAY, TokenType.MAP, TokenType.LIST})
_BEFORE_A_TYPE = frozenset({TokenType.ALIAS, TokenType.DCOLON})
_STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_NOT_A_NAME = frozenset({TokenType.STRING, TokenType.NUMBER})


def _is_word(token: Token) -> bool:
    plain = token.token_type not in (*_NOT_A_NAME, TokenType.IDENTIFIER, TokenType.VAR)
    return plain and token.text.isidentifier()


def _ends_value(token: Token) -> bool:
    return (
        token.token_type in _CLOSING
        or token.text.isidentifier()
        or (token.token_type is TokenType.IDENTIFIER)
    )


def _begins_path(tokens: list[Token], place: int) -> bool:
    """Is the colon at `place` that of a path into a VARIANT: `v:a.b[0]`?"""
    if not 0 < place < len(tokens) - 1 or not _ends_value(tokens[place - 1]):
        return False
    following = tokens[place + 1]
    return following.token_type is TokenType.L_BRACKET or _ends_value(following)


def _is_lambda(bracket: _Bracket | None, place: int, tokens: list[Token], closed_at: int) -> bool:
    """Is the arrow at `place` a lambda's: `f(..., x -> ...` or `f(..., (x, y) -> ...`?"""
    if bracket is None or bracket.argument not in bracket.lambdas:
        return False
    if tokens[place - 1].token_type is TokenType.R_PAREN:
        return closed_at == bracket.start
    return place - 1 == bracket.start and tokens[place - 1].token_type not in _NOT_A_NAME


def _follows(tokens: list[Token], place: int, kind: TokenType) -> bool:
    return place + 1 < len(tokens) and tokens[place + 1].token_type is kind


def _retyped(token: Token, kind: TokenType, text: str) -> Token:
    return _spanning(token, kind, text, Span(token.start, token.end))


def _spanning(token: Token, kind: TokenType, text: str, place: Span) -> Token:
    return Token(kind, text, token.line, token.col, place.start, place.end, token.comments)


def _span(token: Token) -> Span:
    return Span(token.start, token.end + 1)


def _unexpected(token: Token) -> NarrowsError:
    return fail(Code.SYNTAX_ERROR, f"unexpected `{token.text}`", _span(token))


def _unclosed(token: Token) -> NarrowsError:
    return fail(Code.SYNTAX_ERROR, f"`{token.text}` is not closed", _span(token))


@cache
def _lambda_places() -> dict[str, frozenset[int]]:
    """Which arguments of which functions are lambdas."""
    return {f.name: frozenset(f.lambdas) for f in builtin_functions() if f.lambdas}
