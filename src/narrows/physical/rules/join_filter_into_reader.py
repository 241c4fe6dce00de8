"""JoinFilterIntoReader: a reader drops the rows that will find no partner in a join.

SQL:     SELECT t2.b FROM t1 JOIN t2 ON t1.id = t2.id WHERE t1.name = 'x'
Before:  PhysicalProject fields=[t2.b]
         └─PhysicalJoin on=t1.id = t2.id
           ├─PhysicalDecoder filter=[t1.name = 'x'], ships=[id]
           │ └─PhysicalDataSource source=t1
           └─PhysicalDecoder schema=[id, b]
             └─PhysicalDataSource source=t2
After:   PhysicalProject fields=[t2.b]
         └─PhysicalJoin on=t1.id = t2.id
           ├─PhysicalDecoder filter=[t1.name = 'x'], ships=[id]
           │ └─PhysicalDataSource source=t1
           └─PhysicalDecoder schema=[id, b], join_filter=[t2.id in t1.id]
             └─PhysicalDataSource source=t2

Recognises: in a query, two readers of which one has few rows, and the rows of the other do not
matter unless they are joined to those (`physical/join_edges.py`): by inner, left, right, semi and
anti joins, IN, and correlated subqueries. The small one is read for the values of its key first,
which are handed to the tasks that read the large one. What has few rows leaves few of what it is
joined to: from region to nation to supplier to lineitem.

Refuses: where the small one has no filter, for then most rows will find a partner. Where reading it
once more would cost half of reading the other, by the size of their files, or it may have more than
a million keys. Readers of less than 128 MB, which ship what they have; but when they are read for
their keys they test, too. Keys that are neither whole numbers nor texts nor dates. Full joins, and
sides of joins whose rows are there without a partner. Pipelines, for what Spark is told of a stream
holds for all of its batches; sources that have an event time, or come as data frames of the user's.

Terminates: it looks at each plan once, and leaves one that has join filters alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from narrows.catalog.measured import NOTHING_MEASURED, Measured
from narrows.logical.nodes import DataSink, Node
from narrows.logical.walk import topological, transform_up
from narrows.optimizer.estimates import Estimates, type_width
from narrows.physical.join_edges import Edges, Leaf, join_edges
from narrows.physical.join_filters import JoinFilter, Keys
from narrows.physical.nodes import PhysicalDecoder

_SELECTIVE = 0.5
"""What must be dropped for it to be worth a look: half of the rows."""
_MUCH_SMALLER = 0.5
"""What reading the keys may cost, as a share of reading what is tested by them."""
_CHEAP = 4 << 20
"""Bytes that may be read once more whatever it is for."""
_WORTH_TESTING = 128 << 20
"""Bytes below which a reader ships what it has rather than wait."""
_MOST_KEYS = 1_000_000
_TEXT_PER_BYTE = 2.0
"""Bytes of payload for a byte of a value, about."""


@dataclass(frozen=True)
class JoinFilterIntoReader:
    measured: Measured = NOTHING_MEASURED

    def apply(self, plan: Node) -> Node | None:
        nodes = topological(plan)
        readers = [n for n in nodes if isinstance(n, PhysicalDecoder) and _can_be_asked(n)]
        if len(readers) < 2 or any(isinstance(n, DataSink) or _has_filters(n) for n in nodes):
            return None
        edges = join_edges(plan)
        if not edges.droppable:
            return None
        estimates = Estimates(plan)
        sides = [
            _Side.of(reader, estimates, self.measured.size(reader.source)) for reader in readers
        ]
        made = dict(_chosen(sides, edges))

        def add(node: Node) -> Node | None:
            if not isinstance(node, PhysicalDecoder) or node.relation.id not in made:
                return None
            return replace(node, join_filters=made[node.relation.id])

        return transform_up(plan, add)


def _can_be_asked(reader: PhysicalDecoder) -> bool:
    source = reader.source
    return source.eventtime is None and not source.comes_as_frame and not reader.order


def _has_filters(node: Node) -> bool:
    return isinstance(node, PhysicalDecoder) and bool(node.join_filters)


@dataclass(frozen=True)
class _Side:
    """A reader, and what becomes of its rows."""

    relation: int
    rows: float
    bytes: float
    is_measured: bool
    is_filtered: bool
    """By tests of its own."""
    kept: float
    """The share of its rows that is left by what was decided so far."""
    filters: tuple[JoinFilter, ...] = ()

    @staticmethod
    def of(reader: PhysicalDecoder, estimates: Estimates, size: int | None) -> _Side:
        width = type_width(reader.source.schema) * _TEXT_PER_BYTE
        rows = estimates.rows(reader)
        if size is not None and reader.source.statistics is None:
            rows = size / max(width, 1.0)
        return _Side(
            reader.relation.id,
            rows,
            rows * width if size is None else float(size),
            size is not None,
            bool(reader.filter),
            estimates.kept(reader.filter),
        )

    @property
    def tests(self) -> bool:
        """Does it test by its filters itself?"""
        return not self.is_measured or self.bytes >= _WORTH_TESTING

    @property
    def givers(self) -> set[int]:
        return {made.keys.relation for made in self.filters}

    @property
    def merit(self) -> tuple[float, int, float]:
        """What leaves least goes first; then what waits for nobody; then what is cheapest."""
        return self.kept, len(self.filters), self.bytes

    def may_give_keys_to(self, other: _Side) -> bool:
        if not self.is_filtered and self.givers <= other.givers:
            return False  # what it has dropped is dropped there already
        if self.kept > _SELECTIVE or self.rows * self.kept > _MOST_KEYS:
            return False
        if self.is_measured and other.is_measured:
            return self.bytes <= max(_CHEAP, _MUCH_SMALLER * other.bytes)
        return self.rows * self.kept <= _MUCH_SMALLER * other.rows * other.kept


def _chosen(sides: list[_Side], edges: Edges) -> Iterator[tuple[int, tuple[JoinFilter, ...]]]:
    """Goes from small to large, so that no reader waits for itself."""
    pairs = {side.relation: _pairs(edges, side.relation) for side in sides}
    done: dict[int, _Side] = {}
    waiting = {side.relation: side for side in sides}
    while waiting:
        tested = [_tested(side, pairs[side.relation], edges, done) for side in waiting.values()]
        side = min(tested, key=lambda side: (side.bytes * side.kept, side.relation))
        del waiting[side.relation]
        done[side.relation] = side
        if side.filters and side.tests:
            yield side.relation, side.filters


def _tested(
    side: _Side, pairs: list[tuple[Leaf, Leaf]], edges: Edges, done: Mapping[int, _Side]
) -> _Side:
    """What is left of a reader's rows by what the others have."""
    known = [(done[given.relation], given, leaf) for given, leaf in pairs if given.relation in done]
    tested: set[Leaf] = set()
    # One for each column is enough.
    for giver, given, leaf in sorted(known, key=lambda each: each[0].merit):
        if leaf in tested or not giver.may_give_keys_to(side):
            continue
        tested.add(leaf)
        keys = Keys(edges.exprs[given], given.relation, giver.filters)
        made = JoinFilter(edges.exprs[leaf], keys)
        side = replace(side, kept=side.kept * giver.kept, filters=(*side.filters, made))
    return side


def _pairs(edges: Edges, relation: int) -> list[tuple[Leaf, Leaf]]:
    """Leaves of others, and the leaves of this reader that may be tested by them."""
    return sorted(
        (
            (given, tested)
            for given, found in edges.droppable.items()
            for tested in found
            if tested.relation == relation
        ),
        key=str,
    )
