"""A place in a list of tokens, with the few moves that our own statements need."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from narrows.errors import Code, Span, fail

MISSING_SEMICOLON = "statements end with a `;`: one is missing here"
_QUOTED = (TokenType.STRING, TokenType.IDENTIFIER)
_NOT_A_WORD = (TokenType.STRING, TokenType.NUMBER)


class Cursor:
    """Reads tokens one after another; every complaint points at the token it is about."""

    def __init__(self, tokens: Sequence[Token], source: str, place: int = 0) -> None:
        self._tokens = tokens
        self._source = source
        self._go_to(place)

    def _go_to(self, place: int) -> None:
        self._place = place
        self._token = self._tokens[place] if place < len(self._tokens) else None

    @property
    def at_end(self) -> bool:
        return self._token is None

    @property
    def text(self) -> str:
        """The present token as written; empty at the end."""
        return "" if self._token is None else self._token.text

    @property
    def span(self) -> Span:
        token = self._token
        if token is None:
            end = self._tokens[-1].end + 1 if self._tokens else len(self._source)
            return Span(end, end + 1)
        return Span(token.start, token.end + 1)

    @property
    def found(self) -> str:
        """The present token, for a message."""
        return "the end of the statement" if self.at_end else f"`{self.text}`"

    def advance(self) -> None:
        self._go_to(self._place + 1)

    def take_rest(self) -> list[Token]:
        """All tokens that have not been read."""
        rest = list(self._tokens[self._place :])
        self._go_to(len(self._tokens))
        return rest

    def at_word(self, *words: str) -> bool:
        """Is this one of the words (upper case), unquoted?"""
        return self._kind not in _QUOTED and self.text.upper() in words

    def take(self, symbol_or_word: str) -> bool:
        token = self._token
        if token is None or token.text.upper() != symbol_or_word or token.token_type in _QUOTED:
            return False
        self.advance()
        return True

    def take_words(self, words: str) -> bool:
        """All of these words, or none of them."""
        start = self._place
        if all(self.take(word) for word in words.split()):
            return True
        self._go_to(start)
        return False

    def expect(self, symbol_or_word: str) -> None:
        if not self.take(symbol_or_word):
            message = f"expected `{symbol_or_word}`, found {self.found}"
            raise fail(Code.SYNTAX_ERROR, message, self.span)

    def expect_end(self, what: str, begins_another: Collection[str] = ()) -> None:
        """`begins_another` are words that begin what may only follow a semicolon."""
        if not self.at_end:
            hint = MISSING_SEMICOLON if self.at_word(*begins_another) else None
            message = f"unexpected {self.found} after {what}"
            raise fail(Code.SYNTAX_ERROR, message, self.span, hint)

    def name(self, what: str) -> tuple[str, Span]:
        """An identifier, quoted or not; a keyword is as good a name as any."""
        span = self.span
        text = self.text
        if self.at_end or self._kind in _NOT_A_WORD or not (self._is_quoted or _is_word(text)):
            raise fail(Code.SYNTAX_ERROR, f"expected {what}, found {self.found}", span)
        self.advance()
        return text, span

    def integer(self, what: str) -> int:
        fits = self._kind is TokenType.NUMBER and self.text.isdecimal() and len(self.text) < 20
        if self.at_end or not fits:
            raise fail(Code.SYNTAX_ERROR, f"expected {what}, found {self.found}", self.span)
        value = int(self.text)
        self.advance()
        return value

    def value(self) -> tuple[str | int | float | bool, Span]:
        """A constant: string, number or boolean."""
        span = self.span
        if self.at_end:
            raise fail(Code.SYNTAX_ERROR, f"expected a value, found {self.found}", span)
        if self._kind is TokenType.STRING:
            return self._strings(), span
        if self.at_word("TRUE", "FALSE"):
            truth = self.at_word("TRUE")
            self.advance()
            return truth, span
        sign = -1 if self.take("-") else 1
        text = self.text
        if not self.at_end and self._kind is TokenType.NUMBER and len(text) < 20:
            self.advance()
            return sign * (int(text) if text.isdecimal() else float(text)), span
        hint = f"write it in quotes: '{text}'" if _is_word(text) else None
        raise fail(Code.SYNTAX_ERROR, f"expected a value, found {self.found}", span, hint)

    def _strings(self) -> str:
        """Strings that stand side by side are one string, as in Spark."""
        parts = []
        while self._kind is TokenType.STRING:
            parts.append(self.text)
            self.advance()
        return "".join(parts)

    @property
    def _kind(self) -> TokenType | None:
        return None if self._token is None else self._token.token_type

    @property
    def _is_quoted(self) -> bool:
        return self._kind is TokenType.IDENTIFIER


def _is_word(text: str) -> bool:
    return text.replace("$", "_").isidentifier() or (text[:1].isdecimal() and text.isalnum())
