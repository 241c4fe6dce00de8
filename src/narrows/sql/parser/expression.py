"""Spark's grammar of expressions, on top of sqlglot's parser.

sqlglot reads many dialects with one ladder of precedences, which is not Spark's: there `=` and `<`
bind alike, and looser than `|`; at most one of IS, IN, LIKE, BETWEEN ... follows, and takes all of
that as its operand; and what stands after a constant belongs to the whole of it:

    a = b IS NULL              (a = b) IS NULL
    1 = 1 < 2                  (1 = 1) < 2
    DATE '2020-01-01'::string  CAST(DATE '2020-01-01' AS STRING)
    -1::string                 CAST(-1 AS STRING); but -a::string is -CAST(a AS STRING)

Calls are left as they are: sqlglot is a translator, and turns functions into forms that all
dialects share. A call must reach Spark as the user wrote it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from narrows.sql.parser.constant import ConstantParser
from narrows.sql.parser.nearest import NearestParser
from narrows.sql.parser.pipes import PipeParser

_SYNTAX_OF_THEIR_OWN = frozenset(
    ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "SUBSTR", "TRIM", "POSITION", "OVERLAY")
)
_CASTS = frozenset(("CAST", "TRY_CAST"))
_WORDS_INSIDE = frozenset(("FROM", "FOR", "IN", "PLACING", "BOTH", "LEADING", "TRAILING"))
"""What tells `substring(a FROM 2)` from an ordinary call: `substring(a, 2)`."""
MOST_STEPS = "most_steps"
"""Where the name of a recursive table remembers `MAX RECURSION LEVEL`."""
_QUANTIFIERS = {TokenType.ALL: exp.All, TokenType.ANY: exp.Any, TokenType.SOME: exp.Any}


def _match_pattern(operator: type[exp.Binary]) -> Callable[[Any, exp.Expr | None], exp.Expr | None]:
    def parse(self: NarrowsParser, this: exp.Expr | None) -> exp.Expr | None:
        return self._parse_match(operator, this)

    return parse


class NarrowsParser(PipeParser, NearestParser, ConstantParser):
    """Spark's parser, with calls left as they are."""

    STRICT_CAST = True  # CAST is CAST; only TRY_CAST is TRY_CAST
    ADD_JOIN_ON_TRUE = False  # no ON is not `ON true` in a lateral join of Spark's
    ARRAY_CONSTRUCTORS: ClassVar[Any] = {}  # `array(1, 2)[0]` is an element, not `ARRAY[0]`
    FUNCTIONS: ClassVar[Any] = {}
    FUNCTION_PARSERS: ClassVar[Any] = {
        name: SparkParser.FUNCTION_PARSERS[name] for name in _SYNTAX_OF_THEIR_OWN
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[Any] = {
        "CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]
    }
    TERM: ClassVar[Any] = {
        TokenType.DASH: exp.Sub,
        TokenType.PLUS: exp.Add,
        TokenType.DPIPE: exp.DPipe,
    }
    NO_PAREN_FUNCTIONS: ClassVar[Any] = {
        TokenType.CURRENT_DATE: exp.CurrentDate,
        TokenType.CURRENT_TIMESTAMP: exp.CurrentTimestamp,
    }
    RANGE_PARSERS: ClassVar[Any] = {
        TokenType.BETWEEN: lambda self, this: self._parse_between(this),
        TokenType.IN: lambda self, this: self._parse_in(this),
        TokenType.IS: lambda self, this: self._parse_is(this),
        TokenType.LIKE: _match_pattern(exp.Like),
        TokenType.ILIKE: _match_pattern(exp.ILike),
        TokenType.RLIKE: _match_pattern(exp.RegexpLike),
    }

    def _parse_function_call(self, *args: Any, **options: Any) -> exp.Expr | None:
        """A function with a syntax of its own is called like any other where nobody uses that."""
        name = self._curr.text.upper()
        if name in _SYNTAX_OF_THEIR_OWN - _CASTS and not self._has_words_inside():
            options["anonymous"] = True
        parsed: exp.Expr | None = super()._parse_function_call(*args, **options)
        return parsed

    def _has_words_inside(self) -> bool:
        depth = 0
        for token in self._tokens[self._index + 1 :]:
            depth += (token.token_type is TokenType.L_PAREN) - (
                token.token_type is TokenType.R_PAREN
            )
            if depth == 1 and token.text.upper() in _WORDS_INSIDE:
                return token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
            if depth == 0:
                return False
        return False

    def _parse_subquery(
        self, this: exp.Expr | None, parse_alias: bool = True
    ) -> exp.Subquery | None:
        """`(SELECT ...) TABLESAMPLE (5 ROWS) AS x`: the alias comes after that."""
        query: exp.Subquery | None = super()._parse_subquery(this, parse_alias)
        if query is not None and parse_alias and query.args.get("sample") and not query.alias:
            query.set("alias", self._parse_table_alias())
        return query

    # --- from the loosest to the tightest ---------------------------------------------------------

    def _parse_expression(self) -> exp.Expr | None:
        """A name and a comma need no ladder: there are select lists of thousands of them."""
        token = self._curr
        if (
            token.token_type is TokenType.VAR
            and self._next.token_type is TokenType.COMMA
            and not token.comments
        ):
            self._advance()
            name = exp.Identifier(this=token.text, quoted=False)
            return exp.Column(this=name.update_positions(token))
        parsed: exp.Expr | None = super()._parse_expression()
        return parsed

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        """What AND and OR combine: NOT, or a value with at most one test after it."""
        if self._match(TokenType.NOT):
            return self.expression(exp.Not(this=self._operand(self._parse_equality)))
        return self._parse_test(self._parse_comparison())

    def _parse_test(self, this: exp.Expr | None) -> exp.Expr | None:
        negated = self._curr.token_type is TokenType.NOT
        token = self._next if negated else self._curr
        parser = self.RANGE_PARSERS.get(token.token_type)
        if this is None or parser is None or (negated and token.token_type is TokenType.IS):
            return this
        self._advance(2 if negated else 1)
        test: exp.Expr | None = parser(self, this)
        return self._negate_range(test) if negated else test

    def _parse_range(self, this: exp.Expr | None = None, parse_is: bool = False) -> Any:
        return self._parse_test(this or self._parse_comparison())

    def _parse_comparison(self, this: exp.Expr | None = None) -> exp.Expr | None:
        this = this or self._parse_bitwise()
        while self._curr.token_type in _COMPARISONS:
            self._advance()
            operator = _COMPARISONS[self._prev.token_type]
            right = self._operand(self._parse_bitwise)
            this = self.expression(operator(this=this, expression=right))
        return this

    def _parse_bitwise(self) -> exp.Expr | None:
        """Shifts bind tighter than `&`, that than `^`, that than `|`."""
        parse = self._parse_shift
        for kind, operator in _BITWISE:
            parse = self._left_associative(kind, operator, parse)
        return parse()

    def _left_associative(
        self, kind: TokenType, operator: type[exp.Binary], operand: Callable[[], exp.Expr | None]
    ) -> Callable[[], exp.Expr | None]:
        def parse() -> exp.Expr | None:
            this = operand()
            while self._match(kind):
                this = self.expression(operator(this=this, expression=self._operand(operand)))
            return this

        return parse

    def _parse_shift(self) -> exp.Expr | None:
        this = self._parse_term()
        while True:
            found = [(f, count) for f, kind, count in _SHIFTS if self._at_joined(kind, count)]
            if not found:
                return this
            # As a call, for after any `<` Spark takes `>>` for the end of two types.
            function, count = found[0]
            self._advance(count)
            operands = [this, self._operand(self._parse_term)]
            this = exp.Anonymous(this=function, expressions=operands)

    def _at_joined(self, kind: TokenType, count: int) -> bool:
        """`>>` and `>>>`: so many of a kind, and nothing between them."""
        if self._curr.token_type is not kind:
            return False
        following = self._tokens[self._index : self._index + count]
        touching = all(one.end + 1 == two.start for one, two in pairwise(following))
        return [token.token_type for token in following] == [kind] * count and touching

    def _parse_unary(self) -> exp.Expr | None:
        kind = self._curr.token_type
        if kind is TokenType.DASH and self._at_number(self._index + 1):
            self._advance()
            return self._parse_collate(self._parse_column_ops(exp.Neg(this=self._parse_primary())))
        if kind is TokenType.DASH:
            self._advance()
            return self.expression(exp.Neg(this=self._operand(self._parse_unary)))
        if kind is TokenType.TILDE:
            self._advance()
            return self.expression(exp.BitwiseNot(this=self._operand(self._parse_unary)))
        if kind is TokenType.PLUS:
            self._advance()
            return exp.Anonymous(this="positive", expressions=[self._operand(self._parse_unary)])
        return self._parse_collate(self._parse_type())

    def _parse_collate(self, this: exp.Expr | None) -> exp.Expr | None:
        while this is not None and self._match(TokenType.COLLATE):
            named = self._operand(self._parse_column)
            collation = exp.Var(this=named.sql(dialect="spark"))
            this = self.expression(exp.Collate(this=this, expression=collation))
        return this

    def _at_number(self, place: int) -> bool:
        kinds = [token.token_type for token in self._tokens[place : place + 2]]
        return kinds[:1] == [TokenType.NUMBER] or kinds == [TokenType.DOT, TokenType.NUMBER]

    def _operand(self, parse: Callable[[], exp.Expr | None]) -> exp.Expr:
        operand = parse()
        if operand is None:
            self.raise_error("an expression is missing here")
        assert operand is not None
        return operand

    def _parse_value(self, values: bool = True) -> exp.Tuple | None:
        """A row of VALUES. What follows the last one is the table's name: `VALUES 1, 2 AS t(a)`."""
        if self._curr.token_type is TokenType.L_PAREN:
            row: exp.Tuple | None = super()._parse_value(values)
            return row
        return self.expression(exp.Tuple(expressions=[self._operand(self._parse_disjunction)]))

    def _parse_table_alias(self, *args: Any, **options: Any) -> exp.TableAlias | None:
        """`WITH RECURSIVE r(n) MAX RECURSION LEVEL 200 AS (...)`."""
        alias: exp.TableAlias | None = super()._parse_table_alias(*args, **options)
        if alias is not None and self._match_text_seq("MAX", "RECURSION", "LEVEL"):
            number = self._parse_number()
            if number is None or not number.name.isdecimal():
                self.raise_error("a whole number belongs after MAX RECURSION LEVEL")
            else:
                alias.meta[MOST_STEPS] = int(number.name)
        return alias

    def _parse_pivot_aggregation(self) -> exp.Expr | None:
        """Spark takes what is computed of aggregates, too: `PIVOT (sum(x) / 2 AS half FOR ...)`."""
        return self._parse_alias(self._operand(self._parse_disjunction))

    # --- tests ------------------------------------------------------------------------------------

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        if self._match_text_seq("SYMMETRIC"):
            self.raise_error("BETWEEN SYMMETRIC is no Spark SQL")
        low = self._operand(self._parse_comparison)
        if not self._match(TokenType.AND):
            self.raise_error("BETWEEN needs AND")
        high = self._operand(self._parse_comparison)
        return self.expression(exp.Between(this=this, low=low, high=high))

    def _parse_match(self, operator: type[exp.Binary], this: exp.Expr | None) -> exp.Expr:
        quantifier = _QUANTIFIERS.get(self._curr.token_type)
        if quantifier is not None and self._next.token_type is TokenType.L_PAREN:
            self._advance(2)
            patterns = exp.Tuple(expressions=self._parse_csv(self._parse_disjunction))
            self._match_r_paren()
            return self.expression(operator(this=this, expression=quantifier(this=patterns)))
        pattern = self._operand(self._parse_comparison)
        matched = self.expression(operator(this=this, expression=pattern))
        escaped: exp.Expr = self._parse_escape(matched) or matched
        return escaped

    def _parse_is_rhs(self, distinct: bool = False) -> exp.Expr | None:
        return self._operand(self._parse_comparison) if distinct else self._parse_is_word()

    def _parse_is_word(self) -> exp.Expr | None:
        if self._match_text_seq("UNKNOWN"):
            return exp.Var(this="UNKNOWN")
        return self._parse_null() or self._parse_boolean()


_SHIFTS = (
    ("shiftrightunsigned", TokenType.GT, 3),
    ("shiftright", TokenType.GT, 2),
    ("shiftleft", TokenType.LT, 2),
)
_BITWISE = (
    (TokenType.AMP, exp.BitwiseAnd),
    (TokenType.CARET, exp.BitwiseXor),
    (TokenType.PIPE, exp.BitwiseOr),
)
_COMPARISONS: dict[TokenType, type[exp.Binary]] = {
    TokenType.EQ: exp.EQ,
    TokenType.NEQ: exp.NEQ,
    TokenType.NULLSAFE_EQ: exp.NullSafeEQ,
    TokenType.GT: exp.GT,
    TokenType.GTE: exp.GTE,
    TokenType.LT: exp.LT,
    TokenType.LTE: exp.LTE,
}
