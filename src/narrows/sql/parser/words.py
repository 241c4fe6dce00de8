"""Words and commas, which most of a long query is, as sqlglot's tokenizer would read them.

It looks at one character after the other, for any of them may end a token in some dialect. A word
of letters that a blank or punctuation follows needs none of that: a regular expression finds the
names of 15 000 columns in a third of the time.
"""

from __future__ import annotations

import re

from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import Token, TokenizerCore, TokenType

_PIECE = re.compile(r"[ \t]*(\n[ \t\n]*)?(,|[A-Za-z_][A-Za-z0-9_]*(?=[ \t\n,.:;()<>\[\]]|\Z))")
_FIRST_WORDS = frozenset(
    keyword.split()[0] for keyword in Spark.Tokenizer.KEYWORDS if " " in keyword
)
"""What may be the beginning of more: `GROUP BY`."""


class WordTokenizer(TokenizerCore):
    """sqlglot's tokenizer, with a short way through words and commas."""

    __slots__ = ()

    def _scan_keywords(self) -> None:
        """Reads all words and commas from here on, or whatever else begins here."""
        commented = bool(self._comments)  # which the next token takes
        parameter = bool(self.tokens) and self.tokens[-1].token_type is TokenType.PARAMETER
        if commented or parameter or not self._read_pieces():
            super()._scan_keywords()

    def _read_pieces(self) -> bool:
        sql, tokens, keywords = self.sql, self.tokens, self.keywords
        read, line, line_start = self._start, self._line, self._current - self._col
        while (piece := _PIECE.match(sql, read)) is not None:
            breaks, text = piece.groups()
            start, end = piece.span(2)
            if text == ",":
                kind = TokenType.COMMA
            else:
                word = text.upper()
                if word in _FIRST_WORDS and sql[end : end + 1].isspace():
                    break
                kind = keywords.get(word, TokenType.VAR)
            if breaks is not None:
                line += breaks.count("\n")
                line_start = sql.rindex("\n", read, start) + 1
            tokens.append(Token(kind, text, line, end - line_start, start, end - 1))
            read = end
        if read == self._start:
            return False
        self._current, self._line, self._col = read, line, read - line_start
        self._char, self._peek, self._end = sql[read - 1], sql[read : read + 1], read >= self.size
        self._prev_token_line = line
        return True
