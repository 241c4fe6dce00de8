"""Settings of the Spark session under which a query means something else.

We read the text of queries, so a setting by which Spark would read one differently must not be
passed over. Most settings are about how Spark computes, and it does compute: those hold as they
are. What is left are these:

* `MEANINGS` change what a piece of SQL says: `INTERSECT` before `UNION`, or from left to right. A
  query that has such a piece is refused where the setting is not the usual one; all others are
  planned. A setting is asked for only where there is such a piece.
* `_COMPUTED` change what arithmetic gives. Readers compute as Spark does by default, so where one
  of these is set nothing is left to them that could differ.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple, TypeVar

from sqlglot import exp

from narrows.errors import Code, Span, fail
from narrows.logical.nodes import Node
from narrows.logical.walk import sources_of
from narrows.sql.binder.context import span_of
from narrows.sql.parser.statements import Query

Setting = Callable[[str], str | None]
"""The value of one of Spark's settings; None where it has none of its own."""
Tree = TypeVar("Tree", bound=exp.Expr)


class Written:
    """A query as it is written: its text, the words of it, and its syntax tree by kinds of node.

    Words are found many times as fast as nodes are walked, which matters to a query that has
    thousands of names: so one looks for the word first without which there is no such node.
    """

    def __init__(self, query: Query) -> None:
        self.text, self.start = query.sql, query.span.start
        self._tree = query.tree

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.text))

    @cached_property
    def _upper(self) -> frozenset[str]:
        return frozenset(map(str.upper, self.words))

    @cached_property
    def _nodes(self) -> dict[type[exp.Expr], list[exp.Expr]]:
        nodes: dict[type[exp.Expr], list[exp.Expr]] = defaultdict(list)
        for node in self._tree.walk():
            nodes[type(node)].append(node)
        return nodes

    def all(self, kind: type[Tree], word: str | None = None) -> list[Tree]:
        """The nodes of a kind, which no query has that lacks the word."""
        if word is not None and word not in self._upper:
            return []
        return self._nodes[kind]  # type: ignore[return-value]


class Meaning(NamedTuple):
    """A setting, and which pieces of a query it gives another meaning to."""

    key: str
    usual: str
    what: str
    pieces: Callable[[Written], Iterator[Span | None]]


def refuse_other_meanings(query: Query, setting: Setting) -> None:
    """Raises where a piece of the query would mean something else to Spark."""
    written = Written(query)
    for each in MEANINGS:
        for span in each.pieces(written):
            value = setting(each.key)
            if value is not None and value.upper() != each.usual.upper():
                raise fail(
                    Code.NOT_SUPPORTED,
                    f"{each.what} has another meaning where `{each.key}` is `{value}`, as in this"
                    " Spark session",
                    span,
                    f"set it back: `spark.conf.set('{each.key}', '{each.usual}')`",
                )
            break


def rules_that_would_differ(plan: Node, setting: Setting) -> frozenset[str]:
    """The rules that let readers compute what Spark would compute differently."""
    if not any(source.source.row.has_decimals for source in sources_of(plan)):
        return frozenset()
    usual = all(setting(key) in (None, value) for key, value in _COMPUTED.items())
    return frozenset() if usual else _COMPUTING_RULES


_COMPUTED = {
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "false",
}
"""How many digits a DECIMAL has that is computed."""
_COMPUTING_RULES = frozenset(
    {
        "EndlessAggregationIntoReader",
        "FilterIntoDecoder",
        "PartialAggregationIntoReader",
        "ProjectionIntoReader",
        "WindowIntoReader",
        "WindowRowsIntoReader",
    }
)


_WORD = re.compile(r"\w+")
_EXPONENT = re.compile(r"[\d.][eE][-+]?\d")

# --- pieces of text ------------------------------------------------------------------------------

_QUOTED = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`""", re.DOTALL
)


def _quoted(query: Written, begins: str, inside: str) -> Iterator[Span]:
    """What stands in one of these quotes and has one of these in it."""
    if not any(quote in query.text for quote in begins):
        return
    for found in _QUOTED.finditer(query.text):
        if found[0][0] in begins and re.search(inside, found[0][1:-1]):
            start = query.start + found.start()
            yield Span(start, start + len(found[0]))


def _in_double_quotes(query: Written) -> Iterator[Span]:
    return _quoted(query, '"', "")


def _with_a_quote_twice(query: Written) -> Iterator[Span]:
    return _quoted(query, "'\"", "''|\"\"")


def _with_a_backslash(query: Written) -> Iterator[Span]:
    """... or a quote, before which there will be one when Spark reads it."""
    return _quoted(query, "'\"", r"\\|'")


# --- pieces of the syntax tree -------------------------------------------------------------------


def _hidden_tables(query: Written) -> Iterator[Span | None]:
    """Tables of WITH that have the name of another one in the same query."""
    seen: set[str] = set()
    for table in query.all(exp.CTE, "WITH"):
        name = table.alias.casefold()
        if name in seen:
            yield span_of(table)
        seen.add(name)


def _mixed_set_operations(query: Written) -> Iterator[Span | None]:
    intersections: list[exp.Expr] = [*query.all(exp.Intersect, "INTERSECT")]
    others: list[exp.Expr] = [*query.all(exp.Union, "UNION"), *query.all(exp.Except, "EXCEPT")]
    if others or query.all(exp.Except, "MINUS"):
        yield from map(span_of, intersections)


def _having_alone(query: Written) -> Iterator[Span | None]:
    for having in query.all(exp.Having, "HAVING"):
        if having.parent is not None and not having.parent.args.get("group"):
            yield span_of(having)


def _numbers_in(clause: type[exp.Expr], word: str, query: Written) -> Iterator[Span | None]:
    for found in query.all(clause, word):
        if isinstance(found.parent, exp.Window):
            continue  # there, a number is one
        for number in found.find_all(exp.Literal):
            if not number.is_string and isinstance(number.parent, (clause, *_AROUND_KEYS)):
                yield span_of(number)


_AROUND_KEYS = (exp.Ordered, exp.Tuple, exp.Paren, exp.Rollup, exp.Cube, exp.GroupingSets)


def _numbers_in_group_by(query: Written) -> Iterator[Span | None]:
    return _numbers_in(exp.Group, "GROUP", query)


def _numbers_in_order_by(query: Written) -> Iterator[Span | None]:
    return _numbers_in(exp.Order, "ORDER", query)


def _commas_beside_joins(query: Written) -> Iterator[Span | None]:
    for join in query.all(exp.Join, "JOIN"):
        others = join.parent.args.get("joins") if join.parent is not None else None
        if len(others or ()) > 1 and not any(join.args.get(key) for key in _AFTER_JOIN):
            yield span_of(join)


_AFTER_JOIN = ("side", "method", "on", "using")
"""The parser takes a comma for CROSS JOIN."""


def _exponents(query: Written) -> Iterator[Span | None]:
    if not _EXPONENT.search(query.text):
        return
    for number in query.all(exp.Literal):
        if not number.is_string and re.fullmatch(r"[\d.]+[eE][-+]?\d+", number.name):
            yield span_of(number)


def _names_by_case(query: Written) -> Iterator[Span | None]:
    """Names that differ by case only; and joins by names that are not written."""
    if len({word.casefold() for word in query.words}) < len(query.words):
        spelled: dict[str, str] = {}
        for name in query.all(exp.Identifier):
            if spelled.setdefault(name.name.casefold(), name.name) != name.name:
                yield span_of(name)
    for join in query.all(exp.Join, "JOIN"):
        if join.args.get("method") or join.args.get("using"):
            yield span_of(join)


MEANINGS = (
    Meaning(
        "spark.sql.legacy.ctePrecedencePolicy",
        "CORRECTED",
        "a table of WITH that has the name of another",
        _hidden_tables,
    ),
    Meaning(
        "spark.sql.legacy.setopsPrecedence.enabled",
        "false",
        "INTERSECT beside UNION or EXCEPT",
        _mixed_set_operations,
    ),
    Meaning(
        "spark.sql.legacy.parser.havingWithoutGroupByAsWhere",
        "false",
        "HAVING without GROUP BY",
        _having_alone,
    ),
    Meaning(
        "spark.sql.legacy.consecutiveStringLiterals.enabled",
        "false",
        "a quote that is written twice",
        _with_a_quote_twice,
    ),
    Meaning(
        "spark.sql.ansi.doubleQuotedIdentifiers",
        "false",
        "what is in double quotes",
        _in_double_quotes,
    ),
    Meaning(
        "spark.sql.parser.escapedStringLiterals",
        "false",
        "a backslash or a quote in a text",
        _with_a_backslash,
    ),
    Meaning("spark.sql.groupByOrdinal", "true", "a number in GROUP BY", _numbers_in_group_by),
    Meaning("spark.sql.orderByOrdinal", "true", "a number in ORDER BY", _numbers_in_order_by),
    Meaning(
        "spark.sql.ansi.relationPrecedence",
        "false",
        "a comma beside JOIN",
        _commas_beside_joins,
    ),
    Meaning(
        "spark.sql.legacy.exponentLiteralAsDecimal.enabled",
        "false",
        "a number with an exponent",
        _exponents,
    ),
    Meaning("spark.sql.caseSensitive", "false", "a name that has no case", _names_by_case),
)
