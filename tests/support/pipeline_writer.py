"""Writes random pipelines, each in our words and - where that can be said - in Spark's own SQL over
plain tables of the same rows, which knows nothing of streams.

In Spark's words every relation has two columns more: when a row happened, and its place in the
stream. What remembers rows is a column of a subquery, made by `OVER (ORDER BY place)`; windows that
rows cut are numbers of groups, made likewise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import NamedTuple

STREAMS, TABLE = ("s1", "s2"), "t"
TIME, PLACE = "zz_time", "zz_place"
_NUMBERS = ("k", "a", "s.x", "s.z.p", "items[0].u", "size(items)")
_TEXTS = ("s.y", "s.z.q", "items[1].w")
_NESTED = ("s", "s.z", "items", "items[0]", "items.u")
_WORDS = {"lag": "lag({})", "acc_sum": "sum({})", "acc_count": "count({})", "acc_max": "max({})"}


class Written(NamedTuple):
    """A text in our words and in Spark's."""

    ours: str
    sparks: str

    @staticmethod
    def of(template: str, *parts: Written | str) -> Written:
        pairs = [part if isinstance(part, Written) else (part, part) for part in parts]
        return Written(*(template.format(*words) for words in zip(*pairs, strict=True)))


def _same(text: str) -> Written:
    return Written(text, text)


@dataclass
class _Rows:
    """What an item of FROM offers, by type."""

    text: Written
    numbers: list[str]
    texts: list[str]
    nested: list[str] = field(default_factory=list)
    time: str = ""
    place: str = ""
    """Where Spark finds when rows happened, and their place; none where they have none."""
    alias: str = ""
    """What it is called, if it is one relation."""
    remembered: list[str] = field(default_factory=list)
    """Columns that Spark has to make of rows before anything else looks at them."""

    @property
    def item(self) -> Written:
        if not self.remembered:
            return self.text
        columns = ", ".join(["*", *self.remembered])
        return _in_sparks(self.text, f"(SELECT {columns} FROM {self.text.sparks}) {self.alias}")


def _in_sparks(text: Written, sparks: str) -> Written:
    return Written(text.ours, sparks)


class PipelineWriter:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._count = count()
        self.is_plain = True
        """Can all of it be said in Spark's words?"""
        self.joins_streams = False
        self.waits = False
        """May rows of an outer join wait for a match when the input has ended?"""

    def _chance(self, of: float) -> bool:
        return self._random.random() < of

    def _name(self, prefix: str) -> str:
        return f"{prefix}{next(self._count)}"

    def pipeline(self) -> Written:
        of_two = self._chance(0.15)
        rows = self._with_stream(self._source("s1")) if of_two else self._from(2)
        if self._chance(0.65):
            self.waits = False  # windows close at the end, and so does what is below
            return self._windowed(rows, [self._name("v") for _ in range(5)])
        where = self._where(rows)
        items = [self._value(rows) for _ in range(2)]
        if rows.texts:
            items.append(_same(self._random.choice(rows.texts)))
        if rows.nested and self._chance(0.3):
            items.append(_same(self._random.choice(rows.nested)))
        listed = _listed([Written.of("{} AS {}", item, self._name("v")) for item in items])
        order = f" ORDER BY {self._random.choice(rows.numbers)} PER BATCH"
        distinct = "DISTINCT " if self._chance(0.05) else ""
        ours = order if not distinct and self._chance(0.2) else ""
        return Written.of(
            "SELECT {}{} FROM {}{}{}", distinct, listed, rows.item, where, Written(ours, "")
        )

    def _where(self, rows: _Rows) -> Written:
        if self._chance(0.5):
            return _same("")
        conditions = [self._condition(rows) for _ in range(1 + self._chance(0.3))]
        return _same(f" WHERE {' AND '.join(conditions)}")

    # --- windows ----------------------------------------------------------------------------------

    def _windowed(self, rows: _Rows, names: Sequence[str]) -> Written:
        """Groups of a window: a key, aggregates, and perhaps the window's beginning."""
        key, one = self._random.choice(rows.numbers), self._random.choice(rows.numbers)
        where = self._where(rows)
        kinds = ["tumbling", "hopping", "session"]
        # Mostly there is no use in asking for an order that rows do not have.
        kinds += ["sliding", "count", "state"] if rows.place or self._chance(0.1) else []
        kind = self._random.choice(kinds)
        calls = self._calls(rows)
        chosen = self._random.sample(calls, len(names) - 2)
        if rows.place and self._chance(0.3):  # beside aggregates: its value on the last row
            value = self._remembering(rows)
            self.is_plain &= len(chosen) > 1  # without aggregates a window gives its rows
            chosen[-1] = _in_sparks(value, self._last(value.sparks, rows))
        items = [_same(key), *chosen]
        starts = Written("window_start()", "window.start")
        seconds = self._random.choice([3, 10])
        from_text = Written.of("{}{}", rows.item, where)
        match kind:
            case "tumbling":
                by = Written(f"tumblingwindow('ss', {seconds})", self._window(rows, seconds))
            case "hopping":
                by = Written("hoppingwindow('ss', 10, 5)", self._window(rows, 10, 5))
            case "session":
                by = Written("sessionwindow('ss', 4)", f"session_window({rows.time}, '4 seconds')")
                starts = Written("window_start()", "session_window.start")
            case "sliding":
                by, from_text = self._sliding(rows, key, from_text)
                starts = Written("window_end()", f"max({rows.time})")
            case "count":
                by, from_text = self._counting(rows, key, from_text)
                starts = Written("window_start()", f"min({rows.time})")
            case _:
                self.is_plain = False
                by = _same(f"statewindow({one} > 0, {one} > 1) OVER (PARTITION BY {key})")
        items.append(starts if self._chance(0.5) else self._random.choice(calls))
        listed = _listed(
            Written.of("{} AS {}", item, name) for item, name in zip(items, names, strict=True)
        )
        conditions = ["count(*) > 1", f"max({one}) > 0", f"sum({one}) IS NULL"]
        having = f" HAVING {self._random.choice(conditions)}" if self._chance(0.3) else ""
        return Written.of("SELECT {} FROM {} GROUP BY {}, {}{}", listed, from_text, key, by, having)

    def _calls(self, rows: _Rows) -> list[Written]:
        value, other = self._value(rows), self._random.choice(rows.numbers)
        calls = [
            _same("count(*)"),
            *(Written.of(f"{name}({{}})", value) for name in ("count", "sum", "min", "max")),
            Written.of("count(DISTINCT {})", value),
            Written.of("sum(DISTINCT {})", value),
            _same(f"max({other} * 2) - min({other})"),
            Written.of("sum({}) FILTER (WHERE {})", value, self._condition(rows)),
            _same(f"sort_array(collect_list({other}))"),
        ]
        if rows.place:
            calls.append(Written(f"last_row({value.ours})", self._last(value.sparks, rows)))
            for nested in rows.nested[:2]:
                calls.append(Written(f"last_row({nested})", self._last(nested, rows)))
        return calls

    def _last(self, value: str, rows: _Rows) -> str:
        return f"max_by({value}, {rows.place})"

    def _window(self, rows: _Rows, *seconds: int) -> str:
        lengths = ", ".join(f"'{length} seconds'" for length in seconds)
        return f"window({rows.time}, {lengths})"

    def _sliding(self, rows: _Rows, key: str, text: Written) -> tuple[Written, Written]:
        """In Spark's words each row of a window stands beside the row that the window is of."""
        if not self._is_relation(rows):
            return _same("slidingwindow('ss', 5)"), text
        alias, of, own = rows.alias, self._name("w"), self._name("z")
        inside = f"(SELECT *, {key} AS {own} FROM {text.sparks})"
        pairs = (
            f"{inside} {alias} JOIN {inside} {of} ON {alias}.{own} <=> {of}.{own}"
            f" AND {rows.time} BETWEEN {of}.{TIME} - INTERVAL '5' SECOND AND {of}.{TIME}"
        )
        by = Written("slidingwindow('ss', 5)", f"{of}.{PLACE}")
        return by, _in_sparks(text, pairs)

    def _counting(self, rows: _Rows, key: str, text: Written) -> tuple[Written, Written]:
        if not self._is_relation(rows):
            return _same("countwindow(3)"), text
        number = self._name("z")
        numbered = f"row_number() OVER (PARTITION BY {key} ORDER BY {rows.place})"
        inside = f"(SELECT *, ({numbered} - 1) DIV 3 AS {number} FROM {text.sparks}) {rows.alias}"
        return Written("countwindow(3)", f"{rows.alias}.{number}"), _in_sparks(text, inside)

    def _is_relation(self, rows: _Rows) -> bool:
        self.is_plain &= bool(rows.alias and rows.place)
        return self.is_plain

    # --- values -----------------------------------------------------------------------------------

    def _value(self, rows: _Rows) -> Written:
        if self._chance(0.35 if rows.place else 0.05):
            return self._remembering(rows)
        one, other = (self._random.choice(rows.numbers) for _ in range(2))
        made = [one, one, f"{one} + {other}", f"CASE WHEN {one} > 1 THEN {other} END"]
        return _same(self._random.choice(made))

    def _remembering(self, rows: _Rows) -> Written:
        one, key = (self._random.choice(rows.numbers) for _ in range(2))
        name = self._random.choice([*_WORDS, "latest"])
        ours = f"{name}({one}) OVER (PARTITION BY {key})"
        if not self._is_relation(rows):
            return _same(ours)
        so_far = "" if name == "lag" else " ROWS UNBOUNDED PRECEDING"
        call = _WORDS.get(name, "last({}, true)").format(one)
        column = self._name("m")
        rows.remembered.append(
            f"{call} OVER (PARTITION BY {key} ORDER BY {rows.place}{so_far}) AS {column}"
        )
        return Written(ours, f"{rows.alias}.{column}")

    def _condition(self, rows: _Rows) -> str:
        one, other = (self._random.choice(rows.numbers) for _ in range(2))
        r, q = self._name("q"), self._name("q")
        return self._random.choice(
            [
                f"{one} > 0",
                f"{one} <= {other}",
                f"{one} IS NULL",
                f"coalesce({one}, 1) IN (1, 2)",
                *(f"upper({text}) = 'P'" for text in rows.texts[:1]),
                f"{one} IN (SELECT {r}.s.x FROM t {r} WHERE {r}.a > 0)",
                f"EXISTS (SELECT 1 FROM t {r} WHERE {r}.k = {one} AND {r}.s.z.p >= 0)",
                f"{one} <= (SELECT max({r}.a) FROM t {r})",
                f"{one} IN (SELECT {r}.k FROM t {r} INTERSECT SELECT {q}.a FROM t {q})",
                f"{one} IN (SELECT {r}.k FROM t {r} EXCEPT SELECT {q}.s.x FROM t {q})",
            ]
        )

    # --- FROM -------------------------------------------------------------------------------------

    def _from(self, depth: int) -> _Rows:
        rows = self._item(depth)
        if "LATERAL VIEW" in rows.text.ours:  # those come behind joins
            return rows
        if self._chance(0.25):
            return self._with_table(rows)
        return self._with_stream(rows) if self._chance(0.4) else rows

    def _with_table(self, rows: _Rows) -> _Rows:
        other = self._source(TABLE)
        kinds = ["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]
        return self._joined(rows, other, self._random.choice(kinds), "")

    def _with_stream(self, rows: _Rows) -> _Rows:
        """Two streams; where that has to end, times are bounded."""
        other = self._item(1)
        kind = self._random.choice(["JOIN", "JOIN", "LEFT JOIN", "LEFT SEMI JOIN"])
        bound = ""
        if rows.alias and rows.nested and other.nested:
            early, late = f"{rows.alias}.ts", f"{other.alias}.ts"
            bound = f" AND {late} BETWEEN {early} AND {early} + INTERVAL '5' SECOND"
        else:
            kind = "JOIN"
        if "LATERAL VIEW" in other.text.ours:
            return rows
        self.joins_streams = True
        self.waits |= kind == "LEFT JOIN"
        bounded = kind != "JOIN" or self._chance(0.5)
        return replace(self._joined(rows, other, kind, bound if bounded else ""), place="")

    def _joined(self, rows: _Rows, other: _Rows, kind: str, bound: str) -> _Rows:
        left, right = self._random.choice(rows.numbers), self._random.choice(other.numbers)
        on = f"{left} = {right}{bound}"
        text = Written.of("{} {} {} ON {}", rows.item, kind, other.item, on)
        if "SEMI" in kind or "ANTI" in kind:
            return replace(rows, text=text, alias="", remembered=[])
        return _Rows(
            text,
            [*rows.numbers, *other.numbers],
            [*rows.texts, *other.texts],
            [*rows.nested, *other.nested],
            rows.time or other.time,
            rows.place and other.place and f"struct({rows.place}, {other.place})",
        )

    def _item(self, depth: int) -> _Rows:
        if not depth or self._chance(0.3):
            return self._source(self._random.choice(STREAMS))
        if self._chance(0.2):
            return self._exploded()
        alias, number, text = self._name("r"), self._name("n"), self._name("x")
        if self._chance(0.15):
            return self._window_inside(depth, alias)
        several = self._chance(0.3)
        sides = [self._side(depth - 1, number, text, several) for _ in range(1 + several)]
        between = self._random.choice(["UNION ALL"] * 8 + ["UNION", "INTERSECT", "EXCEPT"])
        self.is_plain &= not several or between == "UNION ALL"  # others compare whole rows
        inside = Written.of("({}) {}", _listed(sides, f" {between} "), alias)
        place = "" if several else f"{alias}.{PLACE}"
        numbers, texts = [f"{alias}.{number}"], [f"{alias}.{text}"]
        return _Rows(inside, numbers, texts, [], f"{alias}.{TIME}", place, alias)

    def _side(self, depth: int, number: str, text: str, several: bool) -> Written:
        rows = self._from(depth)
        words = self._random.choice(rows.texts) if rows.texts else "'p'"
        value = self._value(rows)
        where = self._where(rows)
        place = "NULL" if several else rows.place or "NULL"
        hidden = f", {rows.time or 'NULL'} AS {TIME}, {place} AS {PLACE}"
        return Written.of(
            "SELECT {} AS {}, {} AS {}{} FROM {}{}",
            *(value, number, words, text, Written("", hidden), rows.item, where),
        )

    def _window_inside(self, depth: int, alias: str) -> _Rows:
        """Groups of windows, whose rows have neither place nor time."""
        names = [self._name("n") for _ in range(3)]
        inside = self._windowed(self._from(depth - 1), names)
        first = [f"{alias}.{names[0]}"]  # the others may be anything
        return _Rows(Written.of("({}) {}", inside, alias), first, [], [], alias=alias)

    def _exploded(self) -> _Rows:
        rows, item = self._source(self._random.choice(STREAMS)), self._name("e")
        generator = f"LATERAL VIEW explode({rows.alias}.items) {self._name('g')} AS {item}"
        numbers, texts = [*rows.numbers, f"{item}.u"], [*rows.texts, f"{item}.w"]
        text = Written.of("{} {}", rows.text, generator)
        return _Rows(text, numbers, texts, rows.nested, rows.time)

    def _source(self, name: str) -> _Rows:
        alias = self._name("r")
        return _Rows(
            _same(f"{name} {alias}"),
            [_of(alias, path) for path in _NUMBERS],
            [_of(alias, path) for path in _TEXTS],
            [_of(alias, path) for path in _NESTED],
            f"{alias}.{TIME}",
            f"{alias}.{PLACE}",
            alias,
        )


def _listed(items: Iterable[Written], between: str = ", ") -> Written:
    return Written(*(between.join(words) for words in zip(*items, strict=True)))


def _of(alias: str, path: str) -> str:
    inside = path.removeprefix("size(").removesuffix(")")
    return f"size({alias}.{inside})" if inside != path else f"{alias}.{path}"
