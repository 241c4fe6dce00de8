"""A shared stream without Spark: consumers come and go, everything crashes, nobody notices.

The machine plays the ingest in the steps in which it can be interrupted, and compares what every
consumer reads with what it would see if everything had been decoded.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from narrows.demand import ALL, NOTHING, PRESENCE, Demand, union_all
from narrows.formats.json.decoder import JsonDecoder
from narrows.projection.columns import DecodeProjection
from narrows.schema import Struct
from narrows.shared.log import EMPTY, SharedEntry, SharedLog
from narrows.shared.registry import EARLIEST, LATEST, ConsumerRegistry
from narrows.shared.segments import Segment, SegmentWriter, read_segment
from narrows.shared.snapshot import Applied
from support.json_documents import Manner, expected, make_document, make_json_struct, plain
from support.strategies import demands_on

NAMES = ("p", "q", "r")
ELSEWHERE = "another host:1"


@dataclass
class Life:
    """A consumer, from its registration on."""

    demand: Demand
    position: int
    read: list[int] = field(default_factory=list)


@dataclass
class UnderWay:
    """An entry that is planned and decoded, and not published."""

    number: int
    applied: Applied
    segments: tuple[Segment, ...]


class SharedStreamMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="narrows-shared-")
        self.now = 0.0
        self.decoder = JsonDecoder()
        self.entries: list[list[bytes]] = []
        """The documents of each entry, as the log of files knows them."""
        self.lives: dict[str, Life] = {}
        self.left: dict[str, int] = {}
        self.under_way: UnderWay | None = None

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @property
    def registry(self) -> ConsumerRegistry:
        return ConsumerRegistry(self.folder, clock=lambda: self.now, owner=ELSEWHERE)

    @property
    def log(self) -> SharedLog:
        return SharedLog(self.folder)

    @initialize(schema=st.randoms(use_true_random=False))
    def declare(self, schema: Random) -> None:
        self.schema: Struct = make_json_struct(schema.choice, depth=3)
        self.registry.begin("it")

    # --- consumers --------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NAMES), start_at=st.sampled_from((LATEST, EARLIEST)), data=st.data())
    def join(self, name: str, start_at: str, data: st.DataObject) -> None:
        """A consumer comes, comes back, or changes its mind."""
        demand = data.draw(demands_on(self.schema))
        demand = NOTHING if demand is PRESENCE else demand
        known = self.lives[name].position if name in self.lives else self.left.get(name)
        last = self.log.last()
        found = self.registry.register({name: demand}, start_at)[name]
        planned = last if self.under_way is None else self.under_way.number
        if known is None:
            assert found.missed == 0
            newest = (last, planned) if start_at == LATEST else range(EMPTY, planned + 1)
            assert found.position in newest
        else:
            assert found.position >= known
            assert found.missed == found.position - known
        self.lives[name] = Life(demand, found.position)

    @precondition(lambda self: self.lives)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.lives)))
        self.registry.unregister(name)
        self.left[name] = self.lives.pop(name).position

    @precondition(lambda self: self.lives)
    @rule(data=st.data(), crashes=st.booleans())
    def consume(self, data: st.DataObject, crashes: bool) -> None:
        """Reads an entry; a crash before the position moves makes it read again."""
        life = self.lives[name := data.draw(st.sampled_from(sorted(self.lives)))]
        if life.position >= self.log.last():
            return
        number = life.position + 1
        assert self.rows(number, life.demand) == self.alone(number, life.demand)
        if not crashes:
            life.position = number
            life.read.append(number)
            self.registry.advance({name: number})

    @rule()
    def retain(self) -> None:
        self.registry.retain()

    @rule()
    def apply(self) -> None:
        """Whoever has just registered sees to it that the next entry is decoded for it, too."""
        demand = union_all(life.demand for life in self.lives.values())
        assert self.registry.apply().demand == demand

    @rule()
    def all_die(self) -> None:
        """No process renews its leases: all consumers are forgotten, but for their places."""
        self.now += 1000
        self.registry.apply()
        assert not self.registry.snapshot().consumers
        self.left |= {name: life.position for name, life in self.lives.items()}
        self.lives.clear()

    # --- the ingest -------------------------------------------------------------------------------

    @precondition(lambda self: self.under_way is None)
    @rule(count=st.integers(0, 3), chance=st.randoms(use_true_random=False))
    def plan(self, count: int, chance: Random) -> None:
        number = self.log.last() + 1
        if number == len(self.entries):
            manner = Manner()
            made = [make_document(self.schema, chance.choice, manner) for _ in range(count)]
            self.entries.append(made)
        applied = self.registry.apply(number)
        assert applied.demand == union_all(life.demand for life in self.lives.values())
        with SegmentWriter(self.log.segments) as writer:
            projection = DecodeProjection(self.schema, applied.demand)
            writer.write(
                self.decoder.decode_with_projection(self.entries[number], projection).batch
            )
            segment = writer.finish()
        self.under_way = UnderWay(number, applied, () if segment is None else (segment,))

    @precondition(lambda self: self.under_way is not None)
    @rule(again=st.booleans())
    def publish(self, again: bool) -> None:
        assert self.under_way is not None
        done, self.under_way = self.under_way, None
        entry = SharedEntry(done.number, done.applied.version, done.applied.demand, done.segments)
        self.log.publish(entry)
        if again:
            self.log.publish(entry)

    @rule()
    def crash(self) -> None:
        """The ingest dies, wherever it is, and begins again."""
        self.under_way = None
        self.registry.begin("it")
        self.log.sweep()
        named = {s.name for n in self.log.numbers() for s in self.log.entry(n).segments}
        found = {path.name for path in self.log.segments.glob("*")}
        assert found == named

    # --- what always holds ------------------------------------------------------------------------

    @invariant()
    def every_life_is_without_gaps(self) -> None:
        for life in self.lives.values():
            assert life.read == list(range(life.position - len(life.read) + 1, life.position + 1))

    @invariant()
    def whatever_a_consumer_has_still_to_read_is_there_and_covers_it(self) -> None:
        log = self.log
        for life in self.lives.values():
            for entry in log.entries(life.position, log.last()):
                assert entry.demand.covers(life.demand)

    @invariant()
    def consumers_are_those_that_are_registered(self) -> None:
        consumers = self.registry.snapshot().consumers
        assert {n: c.position for n, c in consumers.items()} == {
            n: life.position for n, life in self.lives.items()
        }

    def rows(self, number: int, demand: Demand) -> list[list[Any]]:
        """What a consumer reads of an entry."""
        entry, wanted = self.log.entry(number), DecodeProjection(self.schema, demand)
        found: list[list[Any]] = [[] for _ in wanted.columns]
        count = 0
        for segment in entry.segments:
            union = entry.projection(self.schema)
            for columns, rows in read_segment(self.log.segments, segment, union, wanted):
                count += rows
                _append(found, [plain(column) for column in columns])
        assert count == entry.rows == len(self.entries[number])
        return found

    def alone(self, number: int, demand: Demand) -> list[list[Any]]:
        """What it would see of everything, decoded in full."""
        everything = DecodeProjection(self.schema, ALL)
        batch = self.decoder.decode_with_projection(self.entries[number], everything).batch
        names = self.schema.names
        values = zip(*(plain(column) for column in batch.columns), strict=True)
        rows = [dict(zip(names, row, strict=True)) for row in values]
        wanted = DecodeProjection(self.schema, demand).columns
        return [[expected(row, column) for row in rows] for column in wanted]


def _append(found: list[list[Any]], more: Sequence[Sequence[Any]]) -> None:
    for column, values in zip(found, more, strict=True):
        column.extend(values)


TestSharedStream = SharedStreamMachine.TestCase
TestSharedStream.settings = settings(max_examples=60, stateful_step_count=40)
