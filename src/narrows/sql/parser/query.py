"""A query, as sqlglot reads it; and what to say when it cannot."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from narrows.errors import Code, NarrowsError, Span, fail, nearest
from narrows.sql.parser.cursor import MISSING_SEMICOLON
from narrows.sql.parser.dialect import check_query, new_parser
from narrows.sql.parser.pipes import OPERATOR_WORDS
from narrows.sql.parser.recursion import deep_recursion
from narrows.sql.parser.statements import Query

COMMANDS = ("CREATE", "DROP", "SHOW", "DESCRIBE", "EXPLAIN", "ANALYZE", "REFRESH", "START", "STOP")
"""Words that begin a statement of ours."""
_CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "JOIN", "LATERAL")
QUERY_WORDS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")
_PER_BATCH = (("PER",), ("BATCH",))
"""What a pipeline's ORDER BY ends with, behind all that sqlglot knows."""
_SQLGLOT_INTERNALS = ("Invalid expression", "Required keyword", "but got <", "<class")
"""Messages that tell a user nothing: what was unexpected, and where, says more."""


_UNKNOWN_CLAUSES = (
    ("USING", "TRANSFORM", "a script that rows are sent through (TRANSFORM ... USING)"),
)
"""Clauses that sqlglot does not read: the word that it stumbles over, one that stands before it,
and what to call them."""


def read_query(tokens: list[Token], source: str) -> Query:
    span, per_batch = Span(tokens[0].start, tokens[-1].end + 1), None
    if len(tokens) > len(_PER_BATCH) and all(map(_is_word, tokens[-2:], _PER_BATCH)):
        per_batch = Span(tokens[-2].start, tokens[-1].end + 1)
        tokens = tokens[:-2]
    kinds = {token.token_type for token in tokens}
    if TokenType.PIPE in kinds:
        tokens = _pipes(tokens)
    if TokenType.TABLE in kinds:
        tokens = _tables_spelled_out(tokens)
    if TokenType.VALUES in kinds:
        tokens = _values_spelled_out(tokens)
    if TokenType.ALL in kinds:
        tokens = _columns_called_all(tokens)
    check_query(tokens)
    with deep_recursion():
        try:
            (tree,) = new_parser().parse(tokens, source)
        except ParseError as error:
            raise _syntax_error(error, tokens) from None
        except TokenError:  # inside a hint, which sqlglot reads by itself
            raise fail(Code.SYNTAX_ERROR, "a hint or comment cannot be read", span) from None
    if tree is None:
        raise fail(Code.SYNTAX_ERROR, "expected a query, found nothing", span)
    return Query(tree, source, span, per_batch)


def _pipes(tokens: list[Token]) -> list[Token]:
    """`t | WHERE a > 1`: before the name of an operator, `|` is `|>`, and combines no bits."""
    found = list(tokens)
    for place, (token, following) in enumerate(pairwise(tokens)):
        if token.token_type is TokenType.PIPE and _is_word(following, OPERATOR_WORDS):
            place_of = (token.line, token.col, token.start, token.end, token.comments)
            found[place] = Token(TokenType.PIPE_GT, "|>", *place_of)
    return found


def _columns_called_all(tokens: list[Token]) -> list[Token]:
    """`SELECT all, a`: where no value follows, it is a name, and not the word of `SELECT ALL a`."""
    found = list(tokens)
    for place, (before, token) in enumerate(pairwise(tokens), start=1):
        if before.token_type is TokenType.SELECT and token.token_type is TokenType.ALL:
            following = tokens[place + 1] if place + 1 < len(tokens) else None
            if following is None or following.token_type in _AFTER_A_VALUE:
                place_of = (token.line, token.col, token.start, token.end, token.comments)
                found[place] = Token(TokenType.VAR, token.text, *place_of)
    return found


def _tables_spelled_out(tokens: list[Token]) -> list[Token]:
    """`TABLE t`, where a query begins or behind the tables of WITH, is `SELECT * FROM t`."""
    found: list[Token] = []
    for place, token in enumerate(tokens):
        begins = _begins_query(tokens, place)
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        named = following is not None and following.token_type in _NAMES
        if _is_word(token, ("TABLE",)) and begins and named:
            found.extend(_select_all_from(token))
        else:
            found.append(token)
    return found


def _values_spelled_out(tokens: list[Token]) -> list[Token]:
    """`VALUES 1, 2 LIMIT 1`, where a query begins, is `SELECT * FROM VALUES 1, 2 LIMIT 1`; also
    behind the tables of WITH."""
    found: list[Token] = []
    for place, token in enumerate(tokens):
        behind = _is_behind_with(tokens, place)
        if token.token_type is not TokenType.VALUES:
            found.append(token)
        elif behind or (
            _begins_query(tokens, place) and _is_sorted_or_limited(tokens[place + 1 :])
        ):
            found.extend([*_select_all_from(token), token])
        else:
            found.append(token)
    return found


def _begins_query(tokens: list[Token], place: int) -> bool:
    before = tokens[place - 1].token_type if place else None
    return before is None or before in _BEFORE_A_QUERY or _is_behind_with(tokens, place)


def _is_behind_with(tokens: list[Token], place: int) -> bool:
    before = tokens[place - 1].token_type if place else None
    return before is TokenType.R_PAREN and tokens[0].token_type is TokenType.WITH


def _is_sorted_or_limited(tokens: list[Token]) -> bool:
    """Whether clauses of a query follow what begins here, as long as its brackets are open."""
    depth = 0
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth < 0 or token.token_type is TokenType.PIPE_GT:
            return False
        if not depth and token.token_type in _AFTER_ROWS:
            return True
    return False


def _select_all_from(token: Token) -> list[Token]:
    place_of = (token.line, token.col, token.start, token.end, token.comments)
    words = ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM"))
    return [Token(kind, text, *place_of) for kind, text in words]


_BEFORE_A_QUERY = frozenset(
    {
        *(TokenType.L_PAREN, TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT),
        *(TokenType.ALL, TokenType.DISTINCT),
    }
)
_AFTER_A_VALUE = frozenset(
    {TokenType.COMMA, TokenType.FROM, TokenType.ALIAS, TokenType.R_PAREN, TokenType.UNION}
)
_AFTER_ROWS = frozenset(
    {
        *(TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY),
        *(TokenType.LIMIT, TokenType.OFFSET),
    }
)
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


def _syntax_error(error: ParseError, tokens: list[Token]) -> NarrowsError:
    details = error.errors[0] if error.errors else {}
    message = str(details.get("description") or error).rstrip(".")
    # sqlglot tells line and column of the *end* of the token that it stumbled over.
    line, column = details.get("line"), details.get("col")
    stumbled = [t for t in tokens if t.line == line and t.col == column]
    token = stumbled[0] if stumbled else tokens[-1]
    for word, before, what in _UNKNOWN_CLAUSES:
        read = tokens[: tokens.index(token)]
        if _is_word(token, (word,)) and any(_is_word(each, (before,)) for each in read):
            span = Span(token.start, token.end + 1)
            return fail(Code.NOT_SUPPORTED, f"{what} cannot be planned yet", span)
    if any(internal in message for internal in _SQLGLOT_INTERNALS):
        at_end = token is tokens[-1]
        where = "the query ends too early, after" if at_end else "unexpected"
        message = f"{where} `{token.text}`"
    return fail(
        Code.SYNTAX_ERROR,
        message if message[:2].isupper() else message[:1].lower() + message[1:],
        Span(token.start, token.end + 1),
        _syntax_hint(tokens[: tokens.index(token) + 1]),
    )


def _syntax_hint(read: list[Token]) -> str | None:
    """What may be wrong, from the tokens up to the one that did not fit: a statement that begins
    before the last one has ended, or a word before it that is misspelt."""
    if _is_word(read[-1], ("VALUES",)):
        return "VALUES begins rows of constants; the function is written `` `values`(...) ``"
    open_brackets = sum((token.text == "(") - (token.text == ")") for token in read)
    if len(read) > 2 and not open_brackets:
        before, last = read[-2:]
        if _is_word(before, COMMANDS) or _is_word(last, (*COMMANDS, "SELECT")):
            return MISSING_SEMICOLON
    for token in reversed(read[-3:]):
        meant = nearest(token.text, _CLAUSES) if token.token_type is TokenType.VAR else None
        if meant is not None and not _is_word(token, _CLAUSES):
            return f"did you mean `{meant}` in place of `{token.text}`?"
    return None


def _is_word(token: Token, words: Collection[str]) -> bool:
    quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
    return not quoted and " ".join(token.text.upper().split()) in words
