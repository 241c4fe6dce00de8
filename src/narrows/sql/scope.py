"""Which names an expression may use, and what they mean.

A name resolves to a `Column`: the relation that produces it and the ordinal there. Nothing after
the binder ever looks at a bare name again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from narrows.errors import Code, NarrowsError, Span, did_you_mean, fail, listed
from narrows.expressions.function import Kind
from narrows.expressions.nodes import Column, ColumnId, Expr, Variable, columns_of, in_place
from narrows.schema import VOID, Array, DataType, Map, Struct, Unknown


class Name(NamedTuple):
    """A part of a dotted name, as written."""

    text: str
    span: Span | None


@dataclass(frozen=True)
class Relation:
    """Something with columns that a query may refer to: a source, an exploded list, a window."""

    id: int
    name: str | None
    schema: Struct
    is_source: bool = False
    path: tuple[str, ...] = ()
    """The whole name of a table that has one of several parts: `spark_catalog.shop.orders`."""
    hidden: int = 0
    """How many columns, the last ones, are known by name only: `*` does not list them."""
    repeated: Mapping[int, int] = field(default_factory=dict, compare=False)
    """Columns that have the values of an earlier one, by ordinals: `SELECT a, a`. They are not two
    that a name could mean."""

    def find(self, name: str) -> list[int]:
        """The ordinals of the columns that a name may mean."""
        found = self.schema.find(name)
        if len(found) < 2:
            return found
        return [place for place in found if self.repeated.get(place) not in found]

    @cached_property
    def names(self) -> frozenset[tuple[str, ...]]:
        """What it may be called by, folded: its name, and whole names down to two parts."""
        whole = tuple(part.casefold() for part in self.path)
        called = {whole[place:] for place in range(len(whole) - 1)}
        return frozenset({*called, *({(self.name.casefold(),)} if self.name else ())})

    def column(self, ordinal: int, span: Span | None = None) -> Column:
        if span is None:
            return self.columns[ordinal]
        field = self.schema.fields[ordinal]
        return Column(
            id=self.ids[ordinal],
            name=field.name,
            qualifier=self.name,
            dtype=field.type,
            span=span,
        )

    def is_hidden(self, ordinal: int) -> bool:
        return self.hidden > 0 and ordinal >= len(self.schema.fields) - self.hidden

    @property
    def shown(self) -> Sequence[Column]:
        """The columns that `*` lists."""
        return self.columns[: len(self.schema) - self.hidden]

    @cached_property
    def ids(self) -> Sequence[ColumnId]:
        """All columns by their places; made once, like `columns`."""
        return [ColumnId(self.id, ordinal) for ordinal in range(len(self.schema))]

    @cached_property
    def columns(self) -> Sequence[Column]:
        """All columns in order; made once, for there may be 15 000 of them."""
        return [
            Column(id=number, name=field.name, qualifier=self.name, dtype=field.type)
            for number, field in zip(self.ids, self.schema, strict=True)
        ]


@dataclass(frozen=True)
class Merged:
    """A column that JOIN ... USING made of two: its value, and the columns it stands for."""

    name: str
    value: Expr
    columns: frozenset[ColumnId]
    place: int = 0
    """Before which of the relations in sight `*` lists it."""


def _may_have(dtype: DataType, fields: Sequence[Name], indexed: bool) -> bool:
    """Whether a value of this type may have such a part, with an index after that or without."""
    for name in fields:
        match dtype:
            case Struct():
                places = dtype.find(name.text)
                if not places:
                    return False
                dtype = dtype.fields[places[0]].type
            case Array() | Map() | Unknown():
                return True
            case _:
                return dtype == VOID  # any part of NULL is NULL
    return not indexed or dtype == VOID or isinstance(dtype, (Struct, Array, Map, Unknown))


def ambiguous_alias(name: Name) -> NarrowsError:
    return fail(
        Code.AMBIGUOUS_COLUMN,
        f"`{name.text}` is ambiguous: two items of the select list are called so",
        name.span,
        "give one of them another name, with AS",
    )


def _is_again(before: Expr, expr: Expr, name: str) -> bool:
    """`SELECT a, a`: the same column under its own name."""
    return isinstance(expr, Column) and before == expr and expr.name.casefold() == name


_NAMELESS = "a subquery without a name"


@dataclass
class Scope:
    """The relations in sight, in the order in which `*` lists them, and the lambda parameters."""

    relations: list[Relation] = field(default_factory=list)
    merged: dict[str, Merged] = field(default_factory=dict)
    """Columns named in a JOIN ... USING, by folded name."""
    aliases: dict[str, Expr] = field(default_factory=dict)
    """Aliases of the select list, where a clause may use them; columns go before them ..."""
    aliases_first: bool = False
    """... but in ORDER BY, which sorts the result."""
    ambiguous: set[str] = field(default_factory=set)
    """Aliases that several items have: they mean nothing, but columns of that name do."""
    ungrouped: frozenset[ColumnId] | None = None
    """In HAVING: columns that it cannot look at, for they are in no group. Aliases go before them,
    and before what may be one of several columns."""
    asking: frozenset[Kind] = frozenset()
    """Which functions the clause may call whose subquery is being planned: an aggregate of columns
    from around a subquery is computed there."""
    outer: Scope | None = None
    """What is in sight around a subquery; names that are not found here are looked up there."""
    in_the_end: Callable[[Name], Expr | None] = lambda name: None
    """What a name means that nothing else in sight has, here or around here."""
    _variables: list[dict[str, Variable]] = field(default_factory=list)
    _added: set[str] = field(default_factory=set)

    def find_relations(self, *parts: str) -> list[Relation]:
        """The relations of a name, `orders` or `shop.orders`: several, where a query has nothing
        that tells them apart."""
        folded = tuple(part.casefold() for part in parts)
        return [r for r in self.relations if folded in r.names]

    @contextmanager
    def with_aliases(
        self,
        items: Sequence[tuple[str, Expr]],
        others: Mapping[str, Expr] = MappingProxyType({}),
        *,
        first: bool = False,
        any_will_do: bool = False,
    ) -> Iterator[None]:
        """Lets a clause use the items of the select list by name, and `others` below them. Of two
        items of one name, `any_will_do`: the first one."""
        named: dict[str, Expr] = {}
        self.ambiguous = set()
        for name, expr in items:
            folded = name.casefold()
            before = named.setdefault(folded, expr)
            if before is not expr and not any_will_do and not _is_again(before, expr, folded):
                self.ambiguous.add(folded)
        self.aliases, self.aliases_first = {**others, **named}, first
        try:
            yield
        finally:
            self.aliases, self.aliases_first, self.ambiguous = {}, False, set()

    def add_alias(self, name: str, expr: Expr) -> None:
        """Lets the items of the select list that follow use one by name."""
        folded = name.casefold()
        if folded in self._added:
            self.ambiguous.add(folded)
        self._added.add(folded)
        self.aliases.setdefault(folded, expr)

    def enter_lambda(self, variables: Sequence[Variable]) -> None:
        self._variables.append({v.name.casefold(): v for v in variables})

    @property
    def lambda_depth(self) -> int:
        return len(self._variables)

    def leave_lambda(self) -> None:
        self._variables.pop()

    def resolve(
        self, names: Sequence[Name], *, indexed: bool = False, of_groups: bool = False
    ) -> tuple[Expr, Sequence[Name]]:
        """The value that a dotted name begins with, and the names left: fields to go into.
        `indexed`: after the name there is a `[`; `of_groups`: it is inside of no aggregate.

        Like Spark, `a.b` is tried as column `b` of relation `a` before field `b` of column `a`.
        """
        scope: Scope | None = self
        while scope is not None:
            found = scope._resolve_here(names, indexed=indexed, of_groups=of_groups)
            if found is not None:
                return found
            scope = scope.outer
        last = self.in_the_end(names[0])
        if last is not None:
            return last, names[1:]
        raise self._unknown(names)

    def knows(self, names: Sequence[Name]) -> bool:
        """Whether a name means something here or around here."""
        scope: Scope | None = self
        while scope is not None:
            if scope._resolve_here(names) is not None:
                return True
            scope = scope.outer
        return False

    def hides(self, word: str) -> bool:
        """Whether a function that is called without brackets is none here: where a relation of the
        query itself, or a lambda, has that name. An alias does where the result is sorted only."""
        folded = word.casefold()
        if any(folded in variables for variables in self._variables):
            return True
        if self.aliases_first and folded in self.aliases:
            return True
        return self._find_column(Name(word, None), hidden=False) is not None

    def has(self, name: Name) -> bool:
        """Whether a name means something here, whatever is around."""
        return self._resolve_here([name]) is not None

    def _resolve_here(
        self, names: Sequence[Name], *, indexed: bool = False, of_groups: bool = False
    ) -> tuple[Expr, Sequence[Name]] | None:
        first = names[0]
        folded = first.text.casefold()
        for variables in reversed(self._variables):
            variable = variables.get(folded)
            if variable is not None:
                return variable, names[1:]
        alias = None if folded in self.ambiguous else self.aliases.get(folded)
        fits = alias is not None and _may_have(alias.dtype, names[1:], indexed)
        if self.aliases_first and alias is not None and fits:
            return in_place(alias), names[1:]
        for length in range(len(names) - 1, 0, -1):
            column = names[length]
            relations = self.find_relations(*(name.text for name in names[:length]))
            qualified = [(r, place) for r in relations for place in r.find(column.text)]
            if len(qualified) == 1:
                relation, place = qualified[0]
                span = Span.around((first.span, column.span))
                return relation.column(place, span), names[length + 1 :]
            if qualified:
                raise self._ambiguous(column, [relation for relation, _ in qualified])
        if of_groups and alias is not None and self._give_way(first, alias):
            return in_place(alias), names[1:]
        found = self._find_column(first, hidden=False)
        # `col.x` is not about a column that can have no `x`, if an alias of that name may.
        if alias is not None and (found is None or not _may_have(found.dtype, names[1:], indexed)):
            found = in_place(alias)
        found = found or self._find_column(first, hidden=True)
        if found is None and folded in self.ambiguous:
            raise ambiguous_alias(first)
        return (found, names[1:]) if found is not None else None

    def _give_way(self, name: Name, alias: Expr) -> bool:
        """Whether the columns of a name say nothing of groups, and the alias is another."""
        if self.ungrouped is None:
            return False
        try:
            found = self._find_column(name, hidden=False)
        except NarrowsError:  # it may be one of several
            return True
        return isinstance(found, Column) and found.id in self.ungrouped and found != alias

    def _find_column(self, name: Name, *, hidden: bool) -> Expr | None:
        merged = self.merged.get(name.text.casefold())
        found: list[tuple[Relation, int]] = []
        for relation in self.relations:
            for ordinal in relation.find(name.text):
                listed = merged is None or ColumnId(relation.id, ordinal) not in merged.columns
                if listed and relation.is_hidden(ordinal) == hidden:
                    found.append((relation, ordinal))
        if merged is not None and not found:
            return merged.value
        if not found:
            return None
        if merged is not None:
            raise self._ambiguous(name, self.relations)
        if len(found) > 1:
            raise self._ambiguous(name, [relation for relation, _ in found])
        relation, ordinal = found[0]
        return relation.column(ordinal, name.span)

    def first(self, name: Name) -> Expr:
        """The column that a join by names takes: the first one, as `*` lists them."""
        merged = self.merged.get(name.text.casefold())
        if merged is not None:
            return merged.value
        for relation in self.relations:
            for ordinal in relation.schema.find(name.text):
                return relation.column(ordinal, name.span)
        raise self._unknown([name])

    def same(self, value: Expr) -> frozenset[ColumnId]:
        """The columns that a value is of, also where they are listed once more."""
        found = {column.id for column in columns_of(value)}
        for relation in self.relations:
            for place, first in relation.repeated.items():
                if ColumnId(relation.id, first) in found:
                    found.add(ColumnId(relation.id, place))
        return frozenset(found)

    def _ambiguous(self, name: Name, relations: Sequence[Relation]) -> NarrowsError:
        called = [r.name or _NAMELESS for r in relations]
        distinct = list({shown.casefold(): shown for shown in called}.values())
        named = [shown for shown in distinct if shown is not _NAMELESS]
        if len(distinct) == 1 and len({r.id for r in relations}) > 1 and named:
            return fail(
                Code.AMBIGUOUS_COLUMN,
                f"column `{name.text}` is ambiguous: two relations are called `{distinct[0]}`",
                name.span,
                f"give one of them an alias: `{distinct[0]} AS other`",
            )
        if len(distinct) == 1 and len({r.id for r in relations}) > 1:
            hint = "give each of the subqueries a name: `(SELECT ...) AS x`"
        elif len(distinct) == 1:
            candidates = [
                f"`{relations[0].schema.fields[o].name}`"
                for o in relations[0].schema.find(name.text)
            ]
            hint = f"columns differ by case only: write {' or '.join(candidates)} exactly"
            if len(set(candidates)) == 1:
                hint = "two columns have this name: give one of them another, with AS"
        else:
            hint = "write " + " or ".join(f"`{r}.{name.text}`" for r in named[:3])
            if len(named) < len(distinct):
                hint += ", or give the subquery a name: `(SELECT ...) AS x`"
        return fail(
            Code.AMBIGUOUS_COLUMN,
            f"column `{name.text}` is ambiguous: it is in {' and in '.join(distinct)}",
            name.span,
            hint,
        )

    def _unknown(self, names: Sequence[Name]) -> NarrowsError:
        relations = self.find_relations(names[0].text) if len(names) > 1 else []
        if relations:
            missing, where = names[1], f"in `{relations[0].name}`"
        elif len(names) > 1:
            known = [r.name for r in self.relations if r.name]
            hint = did_you_mean(names[0].text, [*known, *self._column_names()])
            if names[0].text.lower() == "_metadata" and self._metadata_names():
                hint = f"what is known beside the payload is {listed(self._metadata_names())}"
            if names[1].text.upper() == "FROM":
                hint = (
                    f"`FROM` is read as a field of `{names[0].text}`: a name is missing before it"
                )
            return fail(
                Code.UNKNOWN_QUALIFIER,
                f"`{names[0].text}` is neither a relation nor a column of this query",
                names[0].span,
                hint or (f"relations are {listed(known)}" if known else "the query has no FROM"),
            )
        else:
            missing, relations = names[0], self.relations
            named = [f"`{r.name}`" for r in self.relations if r.name]
            where = f"in {listed(named)}" if named else "in this query"
        columns = [column.name for r in relations for column in r.shown]
        there_are = f"columns are {listed(columns)}" if columns else None
        known = [name for r in relations for name in r.schema.names]
        hint = did_you_mean(missing.text, known) or there_are
        return fail(
            Code.UNKNOWN_COLUMN, f"column `{missing.text}` not found {where}", missing.span, hint
        )

    def _metadata_names(self) -> list[str]:
        return [f"`{c.name}`" for r in self.relations for c in r.columns[len(r.shown) :]]

    def _column_names(self) -> list[str]:
        return [name for relation in self.relations for name in relation.schema.names]
