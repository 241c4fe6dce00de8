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
joined to: from region to nation to supplier to lineitem. So do the groups that HAVING leaves of a
subquery: `WHERE id IN (SELECT id FROM t GROUP BY id HAVING ...)`.

Refuses: where the small one has no filter, for then most rows will find a partner. Where reading it
once more would cost half of reading the other, by the size of their files, or it may have more than
a million keys. Readers of less than 128 MB, which ship what they have; but when they are read for
their keys they test, too. Keys that are neither whole numbers nor texts nor dates. Full joins, and
sides of joins whose rows are there without a partner. Pipelines, for what Spark is told of a stream
holds for all of its batches; sources that have an event time, or come as data frames of the user's.
EXPLAIN VERBOSE says why, for each pair of keys.

Terminates: it looks at each plan once, and leaves one that has join filters alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from narrows.catalog.measured import NOTHING_MEASURED, Measured
from narrows.expressions.text import expression_text
from narrows.logical.nodes import Aggregation, DataSink, Node
from narrows.logical.relational_nodes import Subquery
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
        readers = _readers(plan)
        if not readers:
            return None
        made = {
            choice.side.relation: choice.side.filters
            for choice in self._choices(plan, readers, join_edges(plan))
            if choice.side.tests
        }

        def add(node: Node) -> Node | None:
            if not isinstance(node, PhysicalDecoder) or not made.get(node.relation.id):
                return None
            return replace(node, join_filters=made[node.relation.id])

        return transform_up(plan, add)

    def remarks(self, plan: Node) -> Iterator[str]:
        """Which keys could be tested by which others, and why they are, or are not."""
        readers, edges = _readers(plan), join_edges(plan)
        for side, refused in self._choices(plan, readers, edges):
            waits = "" if side.tests else f": no, {side.name} ships its {_mega(side.bytes)} at once"
            yield from (f"{made}{waits or ': yes'}" for made in side.filters)
            for (given, tested), why in refused.items():
                pair = [expression_text(edges.exprs[leaf]) for leaf in (tested, given)]
                yield f"{' in '.join(pair)}: no, {why}"

    def _choices(
        self, plan: Node, readers: Sequence[PhysicalDecoder], edges: Edges
    ) -> Iterator[_Choice]:
        if not readers or not edges.droppable:
            return
        estimates, size = Estimates(plan), self.measured.size
        sides = [_Side.of(reader, estimates, size(reader.source)) for reader in readers]
        sides += [_Side.of_groups(subquery, estimates) for subquery in edges.subqueries.values()]
        yield from _chosen(sides, edges)


def _readers(plan: Node) -> list[PhysicalDecoder]:
    """Those that may test, or be asked for keys; none where no two of them are, or all is done."""
    nodes = topological(plan)
    readers = [n for n in nodes if isinstance(n, PhysicalDecoder) and _can_be_asked(n)]
    if any(isinstance(n, DataSink) or _has_filters(n) for n in nodes):
        return []
    return readers if len(readers) > 1 else []


def _can_be_asked(reader: PhysicalDecoder) -> bool:
    source = reader.source
    return source.eventtime is None and not source.comes_as_frame and not reader.order


def _has_filters(node: Node) -> bool:
    return isinstance(node, PhysicalDecoder) and bool(node.join_filters)


def _mega(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


@dataclass(frozen=True)
class _Side:
    """A reader, and what becomes of its rows; or a subquery that has some."""

    name: str
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
            str(reader.relation.name),
            reader.relation.id,
            rows,
            rows * width if size is None else float(size),
            size is not None,
            bool(reader.filter),
            estimates.kept(reader.filter),
        )

    @staticmethod
    def of_groups(subquery: Subquery, estimates: Estimates) -> _Side:
        """The groups that a subquery has chosen. Spark makes them once, for this and the join."""
        groups = next(n for n in topological(subquery.subplan) if isinstance(n, Aggregation))
        rows, chosen = estimates.rows(groups), estimates.rows(subquery.subplan)
        return _Side(
            subquery.relation.schema.names[0],
            subquery.relation.id,
            rows,
            0.0,
            is_measured=True,
            is_filtered=True,
            kept=chosen / max(rows, 1.0),
        )

    @property
    def tests(self) -> bool:
        """Does it test by its filters itself?"""
        return not self.is_measured or self.bytes >= _WORTH_TESTING

    @property
    def givers(self) -> set[int]:
        return {made.keys.relation for made in self.filters}

    @property
    def is_left(self) -> tuple[float, int]:
        """Bytes, about; of as many, what comes first in the plan."""
        return self.bytes * self.kept, self.relation

    @property
    def merit(self) -> tuple[float, int, float]:
        """What leaves least goes first; then what waits for nobody; then what is cheapest."""
        return self.kept, len(self.filters), self.bytes

    def why_not_give_keys_to(self, other: _Side) -> str | None:
        """Why its keys are not worth asking for; None if they are."""
        if not self.is_filtered and self.givers <= other.givers:
            dropped = f"what {self.name} drops is dropped already"
            return dropped if self.givers else f"{self.name} has no filter"
        if self.kept > _SELECTIVE:
            return f"about {self.kept:.0%} of {self.name} is left"
        if self.rows * self.kept > _MOST_KEYS:
            return f"{self.name} may have {self.rows * self.kept:,.0f} keys"
        if self.is_measured and other.is_measured:
            if self.bytes <= max(_CHEAP, _MUCH_SMALLER * other.bytes):
                return None
            return f"{self.name} has {_mega(self.bytes)}, {other.name} {_mega(other.bytes)}"
        if self.rows * self.kept <= _MUCH_SMALLER * other.rows * other.kept:
            return None
        return f"{self.name} has nearly as many rows as {other.name}, or more"


class _Choice(NamedTuple):
    """What a reader tests by, and what it could, and does not."""

    side: _Side
    refused: Mapping[tuple[Leaf, Leaf], str]


def _chosen(sides: list[_Side], edges: Edges) -> Iterator[_Choice]:
    """Goes from small to large, so that no reader waits for itself."""
    pairs = {side.relation: _pairs(edges, side.relation) for side in sides}
    names = {side.relation: side.name for side in sides}
    done: dict[int, _Side] = {}
    waiting = {side.relation: side for side in sides}
    while waiting:
        tested = [_tested(side, pairs[side.relation], edges, done) for side in waiting.values()]
        side, refused = min(
            tested, key=lambda each: (each[0].bytes * each[0].kept, each[0].relation)
        )
        del waiting[side.relation]
        done[side.relation] = side
        larger = {
            pair: f"more is left of {names[pair[0].relation]} than of {side.name}"
            for pair in pairs[side.relation]
            if pair[0].relation in waiting
        }
        yield _Choice(side, refused | larger)


def _tested(
    side: _Side, pairs: Sequence[tuple[Leaf, Leaf]], edges: Edges, done: Mapping[int, _Side]
) -> tuple[_Side, dict[tuple[Leaf, Leaf], str]]:
    """What is left of a reader's rows by what the others have; and what they are not tested by."""
    known = [(done[given.relation], given, leaf) for given, leaf in pairs if given.relation in done]
    tested: set[Leaf] = set()
    refused: dict[tuple[Leaf, Leaf], str] = {}
    for giver, given, leaf in sorted(known, key=lambda each: each[0].merit):
        enough = "one test of a column is enough" if leaf in tested else None
        why_not = enough or giver.why_not_give_keys_to(side)
        if why_not is not None:
            refused[given, leaf] = why_not
            continue
        tested.add(leaf)
        keys = Keys(edges.exprs[given], given.relation, giver.filters, giver.kept)
        made = JoinFilter(edges.exprs[leaf], keys)
        side = replace(side, kept=side.kept * giver.kept, filters=(*side.filters, made))
    return side, refused


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
