"""Random pipelines over two streams and a table, from one seed: windows and functions that remember
rows above subqueries, unions, joins and generators.

Not every shape that comes out can be planned - two streams joined without a key, say -, and then
the planner has to say so: `make_pipelines` leaves those out, and counts them.
"""

from __future__ import annotations

from itertools import count
from random import Random
from typing import Any, NamedTuple

import narrows

SCHEMA = (
    "k BIGINT, a BIGINT, s STRUCT<x: BIGINT, y: STRING, z: STRUCT<p: BIGINT, q: STRING>>,"
    " items ARRAY<STRUCT<u: BIGINT, w: STRING>>, ts TIMESTAMP"
)
STREAMS, TABLE = ("s1", "s2"), "t"
_NUMBERS = ("k", "a", "s.x", "s.z.p", "items[0].u", "size(items)")
_TEXTS = ("s.y", "s.z.q", "items[1].w")


class Made(NamedTuple):
    pipelines: list[str]
    refused: int


def declarations(folder: str, *, on_change: bool = True) -> str:
    """The streams, one of which may give changes only, the table and a sink."""
    changes = ", on_change = 's.x', on_change_by = 'k'" if on_change else ""
    timed = "eventtime = 'ts', watermark = '1 hour'"
    return f"""
        CREATE STREAM s1 ({SCHEMA})
          WITH (connector = 'file', path = '{folder}/s1', {timed});
        CREATE STREAM s2 ({SCHEMA})
          WITH (connector = 'file', path = '{folder}/s2', {timed}{changes});
        CREATE TABLE t ({SCHEMA}) WITH (connector = 'file', path = '{folder}/t');
        CREATE SINK out WITH (connector = 'memory');
        """


def make_rows(random: Random) -> dict[str, list[dict[str, Any]]]:
    """Rows of each source, with NULLs and keys that meet; times are all there, as they must be."""

    def number() -> int | None:
        return random.choice([None, 0, 1, 1, 2, 3])

    def text() -> str | None:
        return random.choice([None, "p", "p", "q"])

    def row(second: int) -> dict[str, Any]:
        nested = random.choice([None, {"p": number(), "q": text()}])
        items = [
            random.choice([None, {"u": number(), "w": text()}]) for _ in range(random.randint(0, 3))
        ]
        return {
            "k": number(),
            "a": number(),
            "s": random.choice([None, {"x": number(), "y": text(), "z": nested}]),
            "items": random.choice([None, items]),
            "ts": f"2024-05-01T00:00:{second:02d}Z",
        }

    rows = {}
    for name in (*STREAMS, TABLE):
        seconds = [number * 3 + random.randint(0, 4) for number in range(random.randint(4, 12))]
        rows[name] = [row(second) for second in seconds]
    return rows


def make_pipelines(random: Random, catalog: narrows.Catalog, wanted: int) -> Made:
    """So many queries that can be pipelines, and how many that were made beside them cannot."""
    made: list[str] = []
    refused = 0
    while len(made) < wanted:
        sql = _Writer(random).pipeline()
        if _can_be_planned(sql, catalog):
            made.append(sql)
        else:
            refused += 1
            assert refused < 20 * wanted, "hardly anything can be planned"
    return Made(made, refused)


def _can_be_planned(sql: str, catalog: narrows.Catalog) -> bool:
    try:
        catalog.execute(f"CREATE OR REPLACE PIPELINE p INTO out AS {sql}")
    except narrows.NarrowsError as error:
        if error.code not in ("not_supported", "invalid_window", "misplaced_function"):
            raise
        return False
    return True


class _Rows(NamedTuple):
    """What an item of FROM offers, by type."""

    text: str
    numbers: list[str]
    texts: list[str]


class _Writer:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._count = count()

    def _chance(self, of: float) -> bool:
        return self._random.random() < of

    def _name(self, prefix: str) -> str:
        return f"{prefix}{next(self._count)}"

    def pipeline(self) -> str:
        rows = self._from(2)
        where = f" WHERE {self._condition(rows)}" if self._chance(0.5) else ""
        if self._chance(0.7):
            return self._windowed(rows, where)
        items = ", ".join(f"{self._value(rows)} AS {self._name('v')}" for _ in range(2))
        text = f", {self._random.choice(rows.texts)} AS {self._name('v')}" if rows.texts else ""
        order = f" ORDER BY {self._random.choice(rows.numbers)} PER BATCH"
        return f"SELECT {items}{text} FROM {rows.text}{where}{order if self._chance(0.2) else ''}"

    # --- windows ----------------------------------------------------------------------------------

    def _windowed(self, rows: _Rows, where: str) -> str:
        key, one = self._random.choice(rows.numbers), self._random.choice(rows.numbers)
        window = self._random.choice(
            [
                "tumblingwindow('ss', 10)",
                "hoppingwindow('ss', 10, 5)",
                "sessionwindow('ss', 4)",
                "slidingwindow('ss', 5)",
                "countwindow(3)",
                f"statewindow({one} > 0, {one} > 1) OVER (PARTITION BY {key})",
            ]
        )
        value = self._value(rows)
        calls = [
            "count(*)",
            *(f"{name}({value})" for name in ("count", "sum", "min", "max", "last_row")),
            f"count(DISTINCT {value})",
            f"sum({value}) FILTER (WHERE {self._condition(rows)})",
        ]
        chosen = self._random.sample(calls, 2)
        items = [f"{key} AS {self._name('v')}", *(f"{c} AS {self._name('v')}" for c in chosen)]
        if self._chance(0.5):
            items.append(f"window_start() AS {self._name('v')}")
        having = " HAVING count(*) > 1" if self._chance(0.3) else ""
        return f"SELECT {', '.join(items)} FROM {rows.text}{where} GROUP BY {key}, {window}{having}"

    # --- values -----------------------------------------------------------------------------------

    def _value(self, rows: _Rows) -> str:
        one, other = (self._random.choice(rows.numbers) for _ in range(2))
        key = self._random.choice(rows.numbers)
        return self._random.choice(
            [
                one,
                one,
                f"{one} + {other}",
                f"CASE WHEN {one} > 1 THEN {other} END",
                f"lag({one}) OVER (PARTITION BY {key})",
                f"acc_sum({one}) OVER (PARTITION BY {key})",
                f"latest({one}) OVER (PARTITION BY {key})",
            ]
        )

    def _condition(self, rows: _Rows) -> str:
        one, other = (self._random.choice(rows.numbers) for _ in range(2))
        return self._random.choice(
            [
                f"{one} > 0",
                f"{one} <= {other}",
                f"{one} IS NULL",
                f"coalesce({one}, 1) IN (1, 2)",
                *(f"upper({text}) = 'P'" for text in rows.texts[:1]),
            ]
        )

    # --- FROM -------------------------------------------------------------------------------------

    def _from(self, depth: int) -> _Rows:
        rows = self._item(depth)
        if "LATERAL VIEW" not in rows.text and self._chance(0.25):  # those come behind joins
            other = self._source(TABLE)
            left, right = self._random.choice(rows.numbers), self._random.choice(other.numbers)
            kind = self._random.choice(["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
            both = rows if "SEMI" in kind or "ANTI" in kind else _joined(rows, other)
            return both._replace(text=f"{rows.text} {kind} {other.text} ON {left} = {right}")
        return rows

    def _item(self, depth: int) -> _Rows:
        if not depth or self._chance(0.3):
            return self._source(self._random.choice(STREAMS))
        if self._chance(0.2):
            return self._exploded()
        alias, number, text = self._name("r"), self._name("n"), self._name("x")
        sides = [self._side(depth - 1, number, text) for _ in range(1 + self._chance(0.3))]
        inside = " UNION ALL ".join(sides)
        return _Rows(f"({inside}) {alias}", [f"{alias}.{number}"], [f"{alias}.{text}"])

    def _side(self, depth: int, number: str, text: str) -> str:
        rows = self._from(depth)
        where = f" WHERE {self._condition(rows)}" if self._chance(0.5) else ""
        words = self._random.choice(rows.texts) if rows.texts else "'p'"
        value = self._random.choice([self._random.choice(rows.numbers), self._value(rows)])
        return f"SELECT {value} AS {number}, {words} AS {text} FROM {rows.text}{where}"

    def _exploded(self) -> _Rows:
        rows, item = self._source(self._random.choice(STREAMS)), self._name("e")
        alias = rows.text.split()[-1]
        text = f"{rows.text} LATERAL VIEW explode({alias}.items) {self._name('g')} AS {item}"
        return _Rows(text, [*rows.numbers, f"{item}.u"], [*rows.texts, f"{item}.w"])

    def _source(self, name: str) -> _Rows:
        alias = self._name("r")
        numbers = [_of(alias, path) for path in _NUMBERS]
        return _Rows(f"{name} {alias}", numbers, [_of(alias, path) for path in _TEXTS])


def _of(alias: str, path: str) -> str:
    inside = path.removeprefix("size(").removesuffix(")")
    return f"size({alias}.{inside})" if inside != path else f"{alias}.{path}"


def _joined(left: _Rows, right: _Rows) -> _Rows:
    return _Rows("", [*left.numbers, *right.numbers], [*left.texts, *right.texts])
