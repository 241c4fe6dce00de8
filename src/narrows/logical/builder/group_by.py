"""GROUP BY: its keys and its window, bound. What becomes of them is in `grouping.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from narrows.errors import Code, fail
from narrows.expressions.function import Kind
from narrows.expressions.nodes import Call, Expr, columns_of, walk
from narrows.logical.builder.clauses import Generated, Grouping
from narrows.logical.builder.grouping_sets import combine, expand
from narrows.logical.builder.ordering import select_item
from narrows.logical.nodes import NamedExpr
from narrows.sql.binder.context import refused, span_of
from narrows.sql.binder.expression import Binder
from narrows.sql.scope import Name

_OF_GROUPS = (Kind.AGGREGATE, Kind.ANALYTIC)


class GroupBy:
    """The GROUP BY clause of one SELECT, if it has one."""

    def __init__(self, node: exp.Group | None, binder: Binder) -> None:
        self._node = node
        self._binder = binder

    def named_keys(self) -> dict[str, Expr]:
        """Keys that may be used by name: `window.start` of `GROUP BY window(...)`."""
        named: dict[str, Expr] = {}
        for element in self._elements():
            if isinstance(element, exp.Anonymous):
                function = self._binder.functions.find(element.name)
                if function is not None and function.key_name is not None:
                    named[function.key_name] = self._binder.bind_in("GROUP BY", element)
        return named

    def set_number(self, name: Name) -> Expr | None:
        """`grouping__id`, which is Hive's way to write `grouping_id()`."""
        if self._node is None or name.text.casefold() != "grouping__id":
            return None
        return self._binder.bind(exp.Anonymous(this="grouping_id", expressions=[]))

    def _elements(self) -> Iterator[exp.Expr]:
        """The keys, also those of ROLLUP, CUBE and GROUPING SETS."""
        pending = list(self._node.expressions) if self._node is not None else []
        while pending:
            element = pending.pop()
            if isinstance(element, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)):
                pending.extend(element.expressions)
            elif isinstance(element, exp.Paren):
                pending.append(element.this)
            else:
                yield element

    def bind(self, items: Sequence[NamedExpr], generated: Sequence[Generated]) -> Grouping | None:
        node = self._node
        if node is None:
            return None
        if node.args.get("totals"):
            raise refused("GROUP BY ... WITH TOTALS", node)
        grouping, written = Grouping(), list(node.expressions)
        if node.args.get("all"):
            if not written and not self._binder.scope.has(Name("all", None)):
                grouping.keys = self._all(items, generated)
                return grouping
            written.insert(0, exp.column("all"))  # the parser takes the column for the word
        with self._binder.scope.with_aliases(items, any_will_do=True):
            elements = [
                expand(element, lambda key: self._key(key, items, grouping)) for element in written
            ]
            grouping.sets = combine(elements, node, lambda key: self._key(key, items, grouping))
        return grouping

    def _all(self, items: Sequence[NamedExpr], generated: Sequence[Generated]) -> list[Expr]:
        """`GROUP BY ALL`: every item of the select list that folds nothing, and what generators
        take of such."""
        made = {each.relation.id for each in generated}
        taken = [arg for each in generated for arg in each.call.args if [*columns_of(arg)]]
        return [
            expr
            for expr in (*(item.expr for item in items), *taken)
            if not _looks_at_groups(expr)
            and not any(column.id.relation in made for column in columns_of(expr))
        ]

    def _key(self, node: exp.Expr, items: Sequence[NamedExpr], grouping: Grouping) -> list[Expr]:
        """Notes a key of the grouping; the window is not a key like any other."""
        key = self._bind_key(node, items)
        if isinstance(key, Call) and key.function.kind is Kind.STREAM_WINDOW:
            if grouping.window is not None:
                raise fail(Code.INVALID_WINDOW, "a query may have one window only", key.span)
            grouping.window = key
            return []
        grouping.keys.append(key)
        return [key]

    def _bind_key(self, node: exp.Expr, items: Sequence[NamedExpr]) -> Expr:
        """An expression, the number of a select item, or an alias where no column is called so."""
        key = select_item(node, items, "GROUP BY")
        if key is None:
            key = self._binder.bind_in("GROUP BY", node, Kind.STREAM_WINDOW, Kind.STATEFUL)
        for part in walk(key):
            if isinstance(part, Call) and part.function.kind is Kind.AGGREGATE:
                raise fail(
                    Code.MISPLACED_FUNCTION,
                    f"aggregate function `{part.function.name}` cannot be a group key",
                    span_of(node) or part.span,
                )
        return key


def _looks_at_groups(expr: Expr) -> bool:
    return any(isinstance(part, Call) and part.function.kind in _OF_GROUPS for part in walk(expr))
