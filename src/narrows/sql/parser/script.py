"""From text to statements.

Queries are sqlglot's business (`sql/parser/query.py`); the statements around them are ours
(`sql/parser/statement.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from narrows.errors import Code, NarrowsError, Span, fail
from narrows.sql.parser.dialect import tokenize
from narrows.sql.parser.query import read_query
from narrows.sql.parser.recursion import deep_recursion
from narrows.sql.parser.statement import KINDS, StatementParser
from narrows.sql.parser.statements import Query, Statement


def parse(text: str, filename: str | None = None) -> list[Statement]:
    """All statements of a text. An empty text has none."""
    try:
        with deep_recursion():
            return [StatementParser(part, text).statement() for part in _split(tokenize(text))]
    except NarrowsError as error:
        raise error.located(text, filename) from None


def parse_spans(text: str, filename: str | None = None) -> list[tuple[Statement, Span]]:
    """All statements of a text, and where each of them stands."""
    try:
        return [
            (StatementParser(part, text).statement(), Span(part[0].start, part[-1].end + 1))
            for part in _split(tokenize(text))
        ]
    except NarrowsError as error:
        raise error.located(text, filename) from None


def parse_each(text: str) -> Iterator[tuple[Statement | NarrowsError, str | None]]:
    """The statements of a text, or what is wrong with them, one by one; and what each declares."""
    try:
        parts = list(_split(tokenize(text)))
    except NarrowsError as error:
        yield error, None
        return
    for part in parts:
        name = _declared_name(part)
        try:
            yield StatementParser(part, text).statement(), name
        except NarrowsError as error:
            yield error, name


def _declared_name(tokens: list[Token]) -> str | None:
    words = [token.text for token in tokens]
    if words[0].upper() != "CREATE":
        return None
    return next((word for word in words if word.upper() not in _BEFORE_A_NAME), None)


def parse_query(text: str) -> Query:
    """A text that must be a single query."""
    try:
        tokens = tokenize(text)
        parts = list(_split(tokens))
        if not parts:
            raise fail(Code.SYNTAX_ERROR, "expected a query, found nothing")
        if len(parts) > 1:
            second = parts[1][0]
            span = Span(second.start, second.end + 1)
            raise fail(Code.SYNTAX_ERROR, "expected a single query, found another statement", span)
        parser = StatementParser(parts[0], text)
        return parser.query()
    except NarrowsError as error:
        raise error.located(text) from None


def parse_expressions(text: str) -> list[exp.Expr]:
    """What a text has between its commas: `a, b->c`."""
    tokens = tokenize(text)
    if not tokens:
        raise fail(Code.SYNTAX_ERROR, "it names no value")
    first = tokens[0]
    select = Token(TokenType.SELECT, "SELECT", first.line, first.col, first.start, first.start)
    is_one = all(token.token_type is not TokenType.SEMICOLON for token in tokens)
    tree = read_query([select, *tokens], text).tree if is_one else None
    beside = [] if tree is None else [key for key, value in tree.args.items() if value]
    if not isinstance(tree, exp.Select) or beside != ["expressions"]:
        message = "it takes values with commas between them, and nothing else"
        raise fail(Code.SYNTAX_ERROR, message, Span(first.start, tokens[-1].end + 1))
    return tree.expressions


def _split(tokens: list[Token]) -> Iterator[list[Token]]:
    ends = [at for at, token in enumerate(tokens) if token.token_type is TokenType.SEMICOLON]
    start = 0
    for end in (*ends, len(tokens)):
        if end > start:
            yield tokens[start:end]
        start = end + 1


_BEFORE_A_NAME = frozenset(
    ("CREATE", "OR", "REPLACE", "TEMPORARY", "TEMP", "IF", "NOT", "EXISTS", *KINDS)
)
