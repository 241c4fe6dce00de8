"""Patterns in place of names, where Spark is told to read them so.

    SET spark.sql.parser.quotedRegexColumnNames = true;
    SELECT `(a|b)?+.+` FROM t           -- all columns but a and b

In a select list, and in the calls there, a name in backticks stands for all columns that it
matches, like a star that says which. What is made of word characters alone matches itself, and
stays a name. `\\h`, `\\R` and the like, which Java's patterns have and Python's lack, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from narrows.errors import Code, fail
from narrows.planner.spark_settings import Setting
from narrows.sql.binder.context import span_of
from narrows.sql.binder.stars import MATCHING
from narrows.sql.parser.statements import Query

_PATTERNS = "spark.sql.parser.quotedRegexColumnNames"
_CASE = "spark.sql.caseSensitive"


def with_patterns(query: Query, setting: Setting) -> Query:
    """The query with stars where Spark would read patterns."""
    if "`" not in query.sql or not any(_patterns(query.tree)) or setting(_PATTERNS) != "true":
        return query
    flags = re.NOFLAG if setting(_CASE) == "true" else re.IGNORECASE
    tree = query.tree.copy()
    for column in list(_patterns(tree)):
        try:
            pattern = re.compile(column.name, flags)
        except re.error as error:
            message = f"`{column.name}` cannot be read as a pattern of names: {error}"
            raise fail(Code.SYNTAX_ERROR, message, span_of(column)) from None
        column.set("this", exp.Star(**{MATCHING: pattern}))
    return replace(query, tree=tree)


def _patterns(tree: exp.Expr) -> Iterator[exp.Column]:
    for select in tree.find_all(exp.Select):
        for item in select.expressions:
            for column in item.find_all(exp.Column):
                name = column.this
                if isinstance(name, exp.Identifier) and name.quoted and re.search(r"\W", name.name):
                    yield column
