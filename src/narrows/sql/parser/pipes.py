"""Pipes: `FROM t |> WHERE a > 1 |> EXTEND a + 1 AS b |> ORDER BY b`.

Each operator is a SELECT around the query before it, so nothing behind the parser knows of them:

    t |> SET a = 1 |> DROP b     SELECT * EXCEPT (b) FROM (SELECT * REPLACE (1 AS a) FROM t)

As long as all that there is are rows of relations (`FROM t |> JOIN u ... |> WHERE ...`), the query
is not closed: what comes next stands in the same SELECT, and sees `t` and `u` by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

_OPEN = frozenset(("expressions", "from_", "joins", "laterals", "with_"))
_FILTERED = _OPEN | {"where"}
_SORTED = _FILTERED | {"order"}
_SET_WORDS = ("UNION", "INTERSECT", "EXCEPT", "MINUS")


class PipeParser(SparkParser):
    """Reads what stands after `|>`."""

    def _parse_pipe_syntax_query(self, query: exp.Query) -> exp.Query:
        while self._match(TokenType.PIPE_GT):
            word = self._curr.text.upper()
            parse = _OPERATORS.get(word)
            query = parse(self, query) if parse is not None else self._joined(query)
        return query

    def _parse_select(self, *args: Any, **options: Any) -> exp.Expr | None:
        """`VALUES ... |>` as well, which sqlglot does not take for a query."""
        query: exp.Expr | None = super()._parse_select(*args, **options)
        piped = self._match(TokenType.PIPE_GT, advance=False)
        if isinstance(query, exp.Values) and piped and options.get("consume_pipe", True):
            return self._parse_pipe_syntax_query(_select(query))
        return query

    # --- columns ----------------------------------------------------------------------------------

    def _selected(self, query: exp.Query) -> exp.Query:
        listed = self._parse_select(consume_pipe=False, parse_set_operation=False)
        if not isinstance(listed, exp.Select) or listed.args.get("from_"):
            self.raise_error("after `|>`, SELECT takes a list and nothing else")
        select = _open(query, _FILTERED)
        for key, value in listed.args.items() if listed is not None else ():
            if value:
                select.set(key, value)
        return select

    def _extended(self, query: exp.Query) -> exp.Query:
        self._advance()
        select = _open(query, _FILTERED)
        select.set("expressions", [exp.Star(), *self._parse_expressions()])
        return self._with_windows(select)

    def _set(self, query: exp.Query) -> exp.Query:
        """Each assignment sees those before it."""
        self._advance()
        while True:
            column = self._parse_id_var()
            if column is None or not self._match(TokenType.EQ):
                self.raise_error("SET takes `column = expression`")
            value = exp.Alias(this=self._parse_disjunction(), alias=column)
            query = _open(query, _FILTERED)
            query.set("expressions", [exp.Star(replace=[value])])
            if not self._match(TokenType.COMMA):
                return self._with_windows(query)

    def _dropped(self, query: exp.Query) -> exp.Query:
        self._advance()
        select = _open(query, _FILTERED)
        select.set("expressions", [exp.Star(except_=self._parse_csv(self._parse_column))])
        return select

    def _with_windows(self, select: exp.Query) -> exp.Query:
        windows = self._parse_query_modifiers(exp.Select(expressions=[exp.Star()]))
        if windows is not None and windows.args.get("windows"):
            select.set("windows", windows.args["windows"])
        return select

    # --- rows -------------------------------------------------------------------------------------

    def _filtered(self, query: exp.Query) -> exp.Query:
        select = _open(query, _FILTERED)
        before = select.args.get("where")
        where = self._parse_where()
        if before is not None and where is not None:
            where = exp.Where(this=exp.And(this=_bracketed(before), expression=_bracketed(where)))
        select.set("where", where)
        return select

    def _sorted(self, query: exp.Query) -> exp.Query:
        """ORDER BY, LIMIT and the like, as they end a query."""
        begins = self._curr.token_type in (TokenType.LIMIT, TokenType.OFFSET)
        select = _open(query, _SORTED if begins else _FILTERED)
        sorted_: exp.Query = self._parse_query_modifiers(select) or select
        return sorted_

    def _aggregated(self, query: exp.Query) -> exp.Query:
        self._advance()
        select = _open(query, _FILTERED)
        calls = [] if self._curr.token_type is TokenType.GROUP_BY else self._parse_expressions()
        keys: list[exp.Expr] = []
        if self._match(TokenType.GROUP_BY):
            keys = [_of_input(key) for key in self._parse_expressions()]
            select.set("group", exp.Group(expressions=[_group_key(key) for key in keys]))
        select.set("expressions", [*keys, *calls])
        return select

    # --- relations --------------------------------------------------------------------------------

    def _named(self, query: exp.Query) -> exp.Query:
        self._advance()
        alias = exp.TableAlias(this=self._parse_id_var())
        return _select(exp.Subquery(this=query, alias=alias))

    def _joined(self, query: exp.Query) -> exp.Query:
        select = _open(query)
        join = self._parse_join()
        if join is None:
            self.raise_error("this is no operator of a pipe")
        select.append("joins", join)
        return select

    def _turned(self, query: exp.Query) -> exp.Query:
        return _select(exp.Subquery(this=query, pivots=self._parse_pivots()))

    def _sampled(self, query: exp.Query) -> exp.Query:
        return _select(exp.Subquery(this=query, sample=self._parse_table_sample()))

    def _combined(self, query: exp.Query) -> exp.Query:
        combined = self._parse_set_operations(query)
        assert isinstance(combined, exp.Query)
        return combined


_OPERATORS: Mapping[str, Callable[[Any, exp.Query], exp.Query]] = {
    "SELECT": PipeParser._selected,
    "EXTEND": PipeParser._extended,
    "SET": PipeParser._set,
    "DROP": PipeParser._dropped,
    "WHERE": PipeParser._filtered,
    "AGGREGATE": PipeParser._aggregated,
    "AS": PipeParser._named,
    "PIVOT": PipeParser._turned,
    "UNPIVOT": PipeParser._turned,
    "TABLESAMPLE": PipeParser._sampled,
    **dict.fromkeys(_SET_WORDS, PipeParser._combined),
    **dict.fromkeys(
        ("ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY", "LIMIT", "OFFSET", "WINDOW"),
        PipeParser._sorted,
    ),
}


OPERATOR_WORDS = frozenset(
    {
        *_OPERATORS,
        *("JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "NATURAL", "ANTI", "SEMI", "LATERAL"),
    }
)
"""What operators begin with."""


def _open(query: exp.Query, args: frozenset[str] = _OPEN) -> exp.Select:
    """The query itself, if it is `SELECT *` with nothing but these clauses; one around it else."""
    if isinstance(query, exp.Select):
        plain = len(query.expressions) == 1 and query.expressions[0] == exp.Star()
        if plain and all(key in args for key, value in query.args.items() if value):
            return query
    return _select(query if _is_relation(query) else exp.Subquery(this=query))


def _of_input(key: exp.Expr) -> exp.Expr:
    """`GROUP BY 2` is by the second column of what comes out of the pipe; with an alias, a 2 is
    a constant as any other."""
    return exp.PositionalColumn(this=key) if _is_number(key) else key


def _group_key(key: exp.Expr) -> exp.Expr:
    value = key.unalias()
    return exp.Paren(this=value) if _is_number(value) else value


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal()


def _is_relation(query: exp.Query) -> bool:
    return isinstance(query, (exp.Subquery, exp.Values))


def _select(relation: exp.Expr) -> exp.Select:
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=relation))


def _bracketed(where: exp.Expr) -> exp.Paren:
    return exp.Paren(this=where.this)
