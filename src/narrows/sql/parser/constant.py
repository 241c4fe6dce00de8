"""How constants, types and paths are read: `DATE '2020-01-01'`, `INTERVAL 1 day`, `ARRAY<INT>`.

What stands after a constant belongs to the whole of it: `DATE '2020-01-01'::string` is a cast of
the date.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

_UNITS = frozenset(
    f"{unit}{s}"
    for unit in (
        *("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"),
        *("MILLISECOND", "MICROSECOND", "NANOSECOND"),
    )
    for s in ("", "S")
)
_SIGNS = (TokenType.DASH, TokenType.PLUS)
_AMOUNTS = (TokenType.NUMBER, TokenType.STRING)

TYPED_CONSTANTS = frozenset(("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"))
"""The words that make a constant of the text after them; INTERVAL has a syntax of its own."""

WRITTEN = "written"
"""Where a type remembers how it was written; sqlglot would translate it."""


class ConstantParser(SparkParser):
    """Spark's parser, with constants as Spark itself reads them."""

    def _parse_type(
        self, parse_interval: bool = True, fallback_to_identifier: bool = False
    ) -> exp.Expr | None:
        constant = self._parse_interval() if parse_interval else None
        constant = constant or self._parse_typed_constant()
        if constant is not None:
            return self._parse_column_ops(constant)
        parsed: exp.Expr | None = super()._parse_type(parse_interval, fallback_to_identifier)
        return parsed

    def _parse_column_ops(self, this: exp.Expr | None) -> exp.Expr | None:
        """`v:a.b[0]`: a part of a VARIANT."""
        parsed: exp.Expr | None = super()._parse_column_ops(this)
        while parsed is not None and self._match(TokenType.COLON):
            part = exp.JSONExtract(this=parsed, expression=exp.Literal.string(self._path()))
            parsed = super()._parse_column_ops(part)
        return parsed

    def _path(self) -> str:
        bracket = self._match(TokenType.L_BRACKET)
        path = f"${self._path_index() if bracket else self._path_field()}"
        while True:
            if self._match(TokenType.DOT):
                path += self._path_field()
            elif self._match(TokenType.L_BRACKET):
                path += self._path_index()
            else:
                return path

    def _path_field(self) -> str:
        token = self._curr
        quoted = token.token_type is TokenType.IDENTIFIER
        named = token.token_type not in _AMOUNTS and token.text.isidentifier()
        if not token or not (quoted or named):  # no token at all: the end
            self.raise_error("expected the name of a field")
        self._advance()
        # As in Spark, a dot in backticks is one of the path's; `v:['a.b']` is a name with a dot.
        return "".join(map(_step, token.text.split(".")))

    def _path_index(self) -> str:
        token = self._curr
        if token.token_type not in _AMOUNTS:
            self.raise_error("expected a number or a name in quotes")
        self._advance()
        if not self._match(TokenType.R_BRACKET):
            self.raise_error("expected `]`")
        is_number = token.token_type is TokenType.NUMBER
        return f"[{token.text}]" if is_number else _step(token.text)

    def _parse_typed_constant(self) -> exp.Expr | None:
        """`DATE '2020-01-01'`: a word and a text."""
        word, text = self._curr, self._next
        if text.token_type is not TokenType.STRING or word.token_type is TokenType.IDENTIFIER:
            return None
        known = word.text.upper() in TYPED_CONSTANTS
        if not known and word.token_type not in self.TYPE_TOKENS:
            return None
        self._advance(2)
        constant = exp.Introducer(
            this=exp.Var(this=word.text.upper()), expression=exp.Literal.string(text.text)
        )
        return constant.update_positions(start=word.start, end=text.end)

    def _parse_interval(
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> Any:
        """`INTERVAL '1' DAY`, `INTERVAL 1 day 2 hours`, `INTERVAL '1:2' HOUR TO MINUTE`,
        `INTERVAL '1 day'`."""
        if self._curr.token_type is not TokenType.INTERVAL:
            return None
        end = self._index + 1
        pairs = 0
        while (after := self._after_amount(end)) is not None:
            if not self._is_unit(after):
                if pairs or self._tokens[end].token_type is not TokenType.STRING:
                    return None
                end = after  # a text that has its units in it
                break
            end, pairs = after + 1, pairs + 1
            if self._text_at(end).upper() == "TO" and self._is_unit(end + 1):
                end += 2
                break
        if end == self._index + 1:
            return None  # a column that is called so
        written = self._tokens[self._index + 1 : end]
        return self._interval_of(written, end)

    def _interval_of(self, written: list[Token], end: int) -> exp.Expr:
        start = self._curr.start
        self._advance(end - self._index)
        if len(written) == 2 and written[0].token_type in _AMOUNTS:
            amount, unit = exp.Literal.string(written[0].text), exp.Var(this=written[1].text)
            interval: exp.Expr = exp.Interval(this=amount, unit=unit)
        else:
            text = exp.Literal(this=_joined(written), is_string=False)
            interval = exp.Introducer(this=exp.Var(this="INTERVAL"), expression=text)
        return interval.update_positions(start=start, end=written[-1].end)

    def _after_amount(self, place: int) -> int | None:
        """The place after `1`, `'1'` or `-'1'`."""
        signed = place < len(self._tokens) and self._tokens[place].token_type in _SIGNS
        amount = place + 1 if signed else place
        if amount < len(self._tokens) and self._tokens[amount].token_type in _AMOUNTS:
            return amount + 1
        return None

    def _is_unit(self, place: int) -> bool:
        return self._text_at(place).upper() in _UNITS

    def _text_at(self, place: int) -> str:
        return str(self._tokens[place].text) if place < len(self._tokens) else ""

    def _parse_types(
        self,
        check_func: bool = False,
        schema: bool = False,
        allow_identifiers: bool = True,
        with_collation: bool = False,
    ) -> exp.Expr | None:
        first = self._curr
        dtype: exp.Expr | None = super()._parse_types(
            check_func, schema, allow_identifiers, with_collation
        )
        if isinstance(dtype, exp.DataType) and first:
            dtype.meta[WRITTEN] = self._find_sql(first, self._prev)
        return dtype


def _step(name: str) -> str:
    """A field in a path."""
    if name.isidentifier():
        return f".{name}"
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{escaped}']"


def _joined(tokens: list[Token]) -> str:
    texts = [
        exp.Literal.string(token.text).sql(dialect="spark")
        if token.token_type is TokenType.STRING
        else token.text
        for token in tokens
    ]
    return " ".join(texts)
