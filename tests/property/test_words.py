"""The short way through words and commas reads what sqlglot's tokenizer reads."""

from __future__ import annotations

from typing import ClassVar

from hypothesis import given
from hypothesis import strategies as st
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from narrows.sql.parser.dialect import NarrowsDialect


class SqlglotTokenizer(Spark.Tokenizer):
    COMMANDS: ClassVar[set[TokenType]] = set()


KEYWORDS = [*NarrowsDialect.Tokenizer.KEYWORDS]
PIECES = st.one_of(
    st.sampled_from([" ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", ",", ", ", ",\n  "]),
    st.sampled_from([*KEYWORDS, *map(str.lower, KEYWORDS), *(word[:-1] for word in KEYWORDS)]),
    st.sampled_from(["a", "column_1", "_x", "größe", "a$b", "1", "1L", "2.5e3", "x1"]),
    st.sampled_from(["'t'", '"q"', "`b`", "r'a'", "x'0f'", "N'n'", "r", "x", "n", "'", "`"]),
    st.sampled_from(["-- note\n", "/* note */", "/*+ hint */", "@", ":", "::", "$", "?", ";"]),
    st.sampled_from([*"()[]{}<>.=+-*/%!|&^~#"]),
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_tokens_are_those_of_sqlglot(text: str) -> None:
    assert _tokens(NarrowsDialect.Tokenizer(NarrowsDialect), text) == _tokens(
        SqlglotTokenizer(Spark), text
    )


def test_a_list_of_names_is_read_at_once() -> None:
    text = "SELECT a, b.c AS d,\n\t order , e\nFROM t GROUP BY a"
    assert _tokens(NarrowsDialect.Tokenizer(NarrowsDialect), text) == _tokens(
        SqlglotTokenizer(Spark), text
    )


def _tokens(tokenizer: Spark.Tokenizer, text: str) -> list[object] | str:
    try:
        return [*map(_content, tokenizer.tokenize(text))]
    except TokenError as error:
        return str(error)


def _content(token: Token) -> object:
    return (
        token.token_type,
        token.text,
        (token.line, token.col, token.start, token.end),
        token.comments,
    )
