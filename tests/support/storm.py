"""Pipelines that join and leave a shared stream at random, from several threads, while rows flow.

Each thread has pipelines of its own, which it starts and stops as it likes. From time to time all
of them pause: then the stream must decode what those that run need together, and no more. In the
end each pipeline must have the rows of its own lives, all of them and each once:

    entries of the stream   1  2  3  4  5  6  7  8  9 ...
    a pipeline's lives         └─────┘     └──────┘          from `first` to `position`
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import narrows
from support.file_log import FileLog

COLUMNS = ("c1", "c2", "c3", "c4", "x", "y")
_SCHEMA = (
    "a BIGINT, k BIGINT, c1 STRING, c2 STRING, c3 STRING, c4 STRING, n STRUCT<x: BIGINT, y: BIGINT>"
)
_TRIGGER = "100 milliseconds"
_PATIENCE = 300.0
_ROWS_PER_FILE = 20


@dataclass
class Visitor:
    """A pipeline of the storm."""

    name: str
    columns: tuple[str, ...]
    remembers: bool
    """Does it keep state, and so have a query of its own?"""
    lives: list[tuple[int, int]] = field(default_factory=list)
    """First and last entry of each."""
    run: narrows.Run | None = None

    @property
    def select(self) -> str:
        texts = [f"n->{name} AS {name}" if name in "xy" else name for name in self.columns]
        if self.remembers:
            texts += ["k", "lag(a) OVER (PARTITION BY k) AS before"]
        return f"SELECT a, {', '.join(texts)} FROM s"


class Storm:
    def __init__(
        self, spark: SparkSession, folder: Path, seed: int, *, threads: int = 3, each: int = 3
    ) -> None:
        self._folder = folder
        self._chance = random.Random(seed)
        (folder / "in").mkdir(parents=True)
        self.session = narrows.connect(spark, state=folder / "state")
        self.session.execute(
            f"CREATE STREAM s ({_SCHEMA}) WITH (connector = 'file', path = '{folder}/in',"
            " shared = true, max_files_per_trigger = 3)"
        )
        self._threads = [
            [self._visitor(f"p{thread}_{number}", remembers=number == 0) for number in range(each)]
            for thread in range(threads)
        ]
        self.rows = 0
        self.wrong: list[str] = []
        self._over = threading.Event()

    @property
    def visitors(self) -> list[Visitor]:
        return [visitor for thread in self._threads for visitor in thread]

    def play(self, seconds: float = 0.0, *, rounds: int = 1, moves: int = 3) -> None:
        """Rounds of so many moves of each thread, and more of them until the time is over."""
        deadline = time.monotonic() + seconds
        feeder = threading.Thread(target=self._feed)
        feeder.start()
        try:
            while not self.wrong and (rounds > 0 or time.monotonic() < deadline):
                rounds -= 1
                seeds = [self._chance.random() for _ in self._threads]
                threads = [
                    threading.Thread(target=self._move, args=(visitors, seed, moves))
                    for visitors, seed in zip(self._threads, seeds, strict=True)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self._check_union()
        finally:
            self._over.set()
            feeder.join()
        for visitor in self.visitors:
            if visitor.run is not None:
                self._leave(visitor)

    def check(self) -> list[str]:
        """What is wrong with what they have written, or went wrong before."""
        log = FileLog(self._folder / "state" / "shared" / "s" / "entries")
        entries = {
            number: [row for file in log.entry(number) for row in _rows(Path(file.path))]
            for number in range(1, log.last() + 1)
        }
        found = [said for v in self.visitors if (said := self._wrong_with(v, entries))]
        return [*self.wrong, *found]

    # --- pipelines --------------------------------------------------------------------------------

    def _visitor(self, name: str, *, remembers: bool) -> Visitor:
        columns = tuple(self._chance.sample(COLUMNS, k=self._chance.randint(1, 3)))
        visitor = Visitor(name, columns, remembers)
        self.session.execute(
            f"CREATE SINK {name}_out WITH (connector = 'file', path = '{self._folder}/{name}');"
            f"CREATE PIPELINE {name} INTO {name}_out AS {visitor.select};"
        )
        return visitor

    def _move(self, visitors: list[Visitor], seed: float, moves: int) -> None:
        chance, pause = random.Random(seed), threading.Event()
        try:
            for _ in range(moves):
                visitor = chance.choice(visitors)
                if visitor.run is None:
                    self._join(visitor)
                else:
                    self._leave(visitor)
                pause.wait(chance.choice((0, 0, 0.3, 2)))
        except BaseException as error:
            self.wrong.append(f"{type(error).__name__}: {error}")

    def _join(self, visitor: Visitor) -> None:
        visitor.run = self.session.start(visitor.name, trigger=_TRIGGER, ready_timeout=_PATIENCE)

    def _leave(self, visitor: Visitor) -> None:
        assert visitor.run is not None
        visitor.run.stop()
        if visitor.run.status != {visitor.name: "stopped"}:
            self.wrong.append(f"{visitor.run.progress}")
        shared = visitor.run.progress[visitor.name]["shared"]["s"]
        visitor.lives.append((shared["first"], shared["position"]))
        visitor.run = None

    def _check_union(self) -> None:
        there = [visitor for visitor in self.visitors if visitor.run is not None]
        needed = {name for v in there for name in (*v.columns, *(["k"] if v.remembers else ()))}
        members = [name for name in "xy" if name in needed]
        union = ["a"] * bool(there) + [n for n in ("k", *COLUMNS[:4]) if n in needed]
        union += [f"n{{{', '.join(members)}}}"] if members else []
        deadline, pause = time.monotonic() + _PATIENCE, threading.Event()
        while there and self._decoded() != union:
            if time.monotonic() > deadline:
                names = ", ".join(v.name for v in there)
                self.wrong.append(f"{names} need {union}, and {self._decoded()} is decoded")
                return
            pause.wait(0.1)

    def _decoded(self) -> list[str]:
        return list(self.session.shared_stream("s").decoding_columns)

    # --- rows -------------------------------------------------------------------------------------

    def _feed(self) -> None:
        chance = random.Random(0)
        while not self._over.wait(chance.uniform(0, 0.6)):
            rows = range(self.rows, self.rows + _ROWS_PER_FILE)
            hidden = self._folder / "in" / f".{self.rows:09d}.json"
            hidden.write_text("".join(json.dumps(_row(i)) + "\n" for i in rows), "utf-8")
            hidden.rename(hidden.with_name(hidden.name[1:]))
            self.rows += _ROWS_PER_FILE

    def _wrong_with(self, visitor: Visitor, entries: dict[int, list[int]]) -> str | None:
        files = (self._folder / visitor.name).glob("[!.]*.json")
        found = {}
        count: Counter[int] = Counter()
        for row in (json.loads(line) for f in files for line in f.read_text().splitlines()):
            found[row["a"]] = row
            count[row["a"]] += 1
        doubled = sorted(a for a, times in count.items() if times > 1)
        if doubled:
            return f"{visitor.name}: {len(doubled)} rows are there twice, like {doubled[0]}"
        owed = {number for first, last in visitor.lives for number in range(first, last + 1)}
        for number, rows in entries.items():
            there = [a for a in rows if a in found]
            if number in owed and there != rows:
                return f"{visitor.name}: {len(rows) - len(there)} rows of entry {number} are lost"
            # A query of its own may have read on after it last said how far it is.
            if there and (there != rows or (number not in owed and not visitor.remembers)):
                return f"{visitor.name}: {len(there)} rows of entry {number}, {visitor.lives}"
        return _wrong_values(visitor, found)


def _row(i: int) -> dict[str, Any]:
    texts = {name: f"{name} {i}" for name in COLUMNS[:4]}
    return {"a": i, "k": i % 3, **texts, "n": {"x": i, "y": -i} if i % 5 else None}


def _rows(path: Path) -> list[int]:
    first = int(path.stem)
    return list(range(first, first + _ROWS_PER_FILE))


def _wrong_values(visitor: Visitor, found: dict[int, dict[str, Any]]) -> str | None:
    before: dict[int, int] = {}
    for a, row in sorted(found.items()):
        whole = _row(a)
        expected = {"a": a, **{n: (whole | (whole["n"] or {})).get(n) for n in visitor.columns}}
        if visitor.remembers:
            expected |= {"k": whole["k"], "before": before.get(whole["k"])}
            before[whole["k"]] = a
        if row != expected:
            return f"{visitor.name}: {row} instead of {expected}"
    return None
