"""Random relational queries over three small tables, from one seed: joins, subqueries, unions.

Every column that a query makes has a name of its own, so that all of them are unambiguous. Only
forms are used of which both Spark and `reference.py` know the meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any, NamedTuple

TABLES = {
    "t1": "id BIGINT, a BIGINT, name STRING, s STRUCT<x: BIGINT, y: STRING>",
    "t2": "id BIGINT, b BIGINT, name STRING, s STRUCT<x: BIGINT, y: STRING>",
    "t3": "id BIGINT, c BIGINT, name STRING, s STRUCT<x: BIGINT, y: STRING>",
}
_NUMBERS = {"t1": ("id", "a", "s.x"), "t2": ("id", "b", "s.x"), "t3": ("id", "c", "s.x")}
_TEXTS = ("name", "s.y")


class Columns(NamedTuple):
    """What an item of FROM offers, by type."""

    numbers: list[str]
    texts: list[str]


def make_rows(random: Random) -> dict[str, list[dict[str, Any]]]:
    """A few rows for each table, with NULLs and keys that meet by chance."""

    def number() -> int | None:
        return random.choice([None, 0, 1, 1, 2, 3])

    def text() -> str | None:
        return random.choice([None, "p", "p", "q", "r"])

    rows: dict[str, list[dict[str, Any]]] = {}
    for table in TABLES:
        own = _NUMBERS[table][1]
        rows[table] = [
            {
                "id": number(),
                own: number(),
                "name": text(),
                "s": random.choice([None, {"x": number(), "y": text()}]),
            }
            for _ in range(random.randint(0, 6))
        ]
    return rows


def write_query(random: Random, *, of_spark: bool = False) -> str:
    """A query; `of_spark` leaves out shapes that Spark does not have (UNION BY NAME), or does not
    always answer (of subqueries in ON it loses nested columns of the files that it reads)."""
    return _Writer(random, of_spark).query()


class _Writer:
    def __init__(self, random: Random, of_spark: bool) -> None:
        self._random = random
        self._of_spark = of_spark
        self._numbers = count()

    def _chance(self, of: float) -> bool:
        return self._random.random() < of

    def _newer(self, of: float) -> bool:
        return not self._of_spark and self._chance(of)

    def _name(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers)}"

    def query(self) -> str:
        if self._chance(0.2):
            shared = self._name("w")
            text, columns = self._select(1)
            names = ", ".join((*columns.numbers, *columns.texts))
            left, right = self._name("r"), self._name("r")
            on = f"{left}.{columns.numbers[0]} = {right}.{columns.numbers[0]}"
            picked = self._random.choice([*columns.numbers, *columns.texts])
            return (
                f"WITH {shared} AS (SELECT {names} FROM ({text})) SELECT {left}.{picked} AS c0"
                f" FROM {shared} {left} JOIN {shared} {right} ON {on}"
            )
        text, _ = self._select(2)
        return text

    def _select(self, depth: int) -> tuple[str, Columns]:
        if depth and self._chance(0.2):
            return self._union(depth)
        source, columns = self._from(depth)
        where = f" WHERE {self._condition(columns, depth)}" if self._chance(0.7) else ""
        if self._chance(0.3):
            return self._grouped(source, columns, where, depth)
        numbers = self._expressions(columns, depth)
        texts = [self._random.choice(columns.texts)] if columns.texts else []
        made = Columns([self._name("n") for _ in numbers], [self._name("x") for _ in texts])
        items = ", ".join(
            f"{expr} AS {name}"
            for expr, name in zip((*numbers, *texts), (*made.numbers, *made.texts), strict=True)
        )
        distinct = "DISTINCT " if self._chance(0.2) else ""
        return f"SELECT {distinct}{items} FROM {source}{where}", made

    def _expressions(self, columns: Columns, depth: int) -> list[str]:
        one, other = self._random.choice(columns.numbers), self._random.choice(columns.numbers)
        choices: list[Callable[[], str]] = [
            lambda: one,
            lambda: f"{one} + {other}",
            lambda: f"CASE WHEN {one} > 1 THEN {other} END",
            lambda: f"coalesce({one}, {other})",
        ]
        if depth:
            choices.append(lambda: self._scalar_subquery(columns))
        return [self._random.choice(choices)() for _ in range(self._random.randint(1, 2))]

    def _union(self, depth: int) -> tuple[str, Columns]:
        sides = []
        made = Columns([self._name("n")], [self._name("x")])
        by_name = self._newer(0.3)
        for turned in (False, by_name):
            source, columns = self._from(depth - 1)
            number = self._random.choice(columns.numbers)
            text = self._random.choice(columns.texts) if columns.texts else "'p'"
            where = f" WHERE {self._condition(columns, 0)}" if self._chance(0.5) else ""
            items = [f"{number} AS {made.numbers[0]}", f"{text} AS {made.texts[0]}"]
            if turned:
                items.reverse()
            sides.append(f"SELECT {', '.join(items)} FROM {source}{where}")
        return f" UNION ALL{' BY NAME' if by_name else ''} ".join(sides), made

    def _grouped(
        self, source: str, columns: Columns, where: str, depth: int
    ) -> tuple[str, Columns]:
        key, folded = self._random.choice(columns.numbers), self._random.choice(columns.numbers)
        made = Columns([self._name("n"), self._name("n")], [])
        plain = [f"{name}({folded})" for name in ("count", "max", "min", "sum")]
        some = [f"{name} FILTER (WHERE {folded} > 1)" for name in ("count(*)", *plain)]
        calls = ["count(*)", f"count(DISTINCT {folded})", *plain, self._random.choice(some)]
        call = self._random.choice(calls)
        having = " HAVING count(*) > 1" if self._chance(0.3) else ""
        text = (
            f"SELECT {key} AS {made.numbers[0]}, {call} AS {made.numbers[1]}"
            f" FROM {source}{where} GROUP BY {'ALL' if self._newer(0.3) else key}{having}"
        )
        return text, made

    def _from(self, depth: int) -> tuple[str, Columns]:
        source, columns = self._item(depth)
        while depth and self._chance(0.4):
            other, more = self._item(depth - 1)
            left, right = self._random.choice(columns.numbers), self._random.choice(more.numbers)
            kind = self._random.choice(["JOIN", "LEFT JOIN"])
            both = Columns([*columns.numbers, *more.numbers], [*columns.texts, *more.texts])
            extra = f" AND {self._condition(both, 0)}" if self._chance(0.4) else ""
            if kind == "JOIN" and self._newer(0.2):
                extra += f" AND {self._subquery(self._random.choice([columns, more]))}"
            source, columns = f"{source} {kind} {other} ON {left} = {right}{extra}", both
        if depth and self._newer(0.25):
            source, columns = self._lateral(source, columns)
        return source, columns

    def _lateral(self, source: str, columns: Columns) -> tuple[str, Columns]:
        """Joined with a subquery that looks at the columns before it."""
        outer, alias, made = self._random.choice(columns.numbers), self._name("r"), self._name("n")
        table, inner = self._random.choice(list(TABLES)), self._name("r")
        own, key = (f"{inner}.{self._random.choice(_NUMBERS[table])}" for _ in range(2))
        query, kind = self._random.choice(
            [
                (f"SELECT {outer} + 1 AS {made}", "JOIN"),
                (f"SELECT {own} AS {made} FROM {table} {inner} WHERE {key} = {outer}", "JOIN"),
                (f"SELECT {own} AS {made} FROM {table} {inner} WHERE {key} = {outer}", "LEFT JOIN"),
                (f"SELECT max({own}) AS {made} FROM {table} {inner} WHERE {key} = {outer}", "JOIN"),
            ]
        )
        on = "true" if self._chance(0.6) else f"{alias}.{made} > 0"
        joined = f"{source} {kind} LATERAL ({query}) {alias} ON {on}"
        return joined, Columns([*columns.numbers, f"{alias}.{made}"], columns.texts)

    def _item(self, depth: int) -> tuple[str, Columns]:
        alias = self._name("r")
        if depth and self._chance(0.4):
            text, made = self._select(depth - 1)
            named = Columns(
                [f"{alias}.{n}" for n in made.numbers], [f"{alias}.{x}" for x in made.texts]
            )
            if len(made.numbers) == 2 and self._newer(0.3):
                return self._turned(text, made, alias)
            return f"({text}) {alias}", named
        table = self._random.choice(list(TABLES))
        numbers = [f"{alias}.{name}" for name in _NUMBERS[table]]
        return f"{table} {alias}", Columns(numbers, [f"{alias}.{name}" for name in _TEXTS])

    def _turned(self, text: str, made: Columns, alias: str) -> tuple[str, Columns]:
        """Two columns of a query as rows, or values of one as columns of the other."""
        one, other = made.numbers
        if self._chance(0.5):
            value, name = self._name("n"), self._name("x")
            named = Columns(
                [f"{alias}.{value}"], [f"{alias}.{name}", *(f"{alias}.{x}" for x in made.texts)]
            )
            turned = f"({text}) UNPIVOT ({value} FOR {name} IN ({one}, {other}))"
            return f"(SELECT * FROM {turned}) {alias}", named
        names = [self._name("n"), self._name("n")]
        call = self._random.choice([f"max({one})", f"count({one})", "count(*)"])
        values = ", ".join(f"{value} AS {name}" for value, name in enumerate(names))
        keys = [*([one] if call == "count(*)" else []), *names]
        named = Columns([f"{alias}.{n}" for n in keys], [f"{alias}.{x}" for x in made.texts])
        return f"(SELECT * FROM ({text}) PIVOT ({call} FOR {other} IN ({values}))) {alias}", named

    def _condition(self, columns: Columns, depth: int) -> str:
        one, other = self._random.choice(columns.numbers), self._random.choice(columns.numbers)
        choices: list[Callable[[], str]] = [
            lambda: f"{one} > 0",
            lambda: f"{one} <= {other}",
            lambda: f"{one} IS NULL",
            lambda: f"{one} IN (1, 2)",
            lambda: f"coalesce({one}, 1) = 1",
        ]
        if columns.texts:
            text = self._random.choice(columns.texts)
            choices.append(lambda: f"upper({text}) = 'P'")
        if depth:
            choices.append(lambda: self._subquery(columns))
            choices.append(lambda: self._subquery(columns))
            deeper = [self._condition, self._condition]
            choices.append(lambda: " AND ".join(f"({make(columns, depth - 1)})" for make in deeper))
            choices.append(lambda: " OR ".join(f"({make(columns, 0)})" for make in deeper))
        return self._random.choice(choices)()

    def _subquery(self, columns: Columns) -> str:
        outer = self._random.choice(columns.numbers)
        table, alias = self._random.choice(list(TABLES)), self._name("r")
        own = f"{alias}.{self._random.choice(_NUMBERS[table])}"
        negated = "NOT " if self._chance(0.4) else ""
        if self._chance(0.5):
            more = f" AND {alias}.s.x > 0" if self._chance(0.4) else ""
            return f"{negated}EXISTS (SELECT 1 FROM {table} {alias} WHERE {own} = {outer}{more})"
        where = f" WHERE {alias}.name = 'p'" if self._chance(0.5) else ""
        return f"{outer} {negated}IN (SELECT {own} FROM {table} {alias}{where})"

    def _scalar_subquery(self, columns: Columns) -> str:
        table, alias = self._random.choice(list(TABLES)), self._name("r")
        one, key = (f"{alias}.{self._random.choice(_NUMBERS[table])}" for _ in range(2))
        call = self._random.choice([f"max({one})", "count(*)"])
        outer = self._random.choice(columns.numbers)
        where = f" WHERE {key} = {outer}" if self._chance(0.6) else ""
        return f"(SELECT {call} FROM {table} {alias}{where})"
