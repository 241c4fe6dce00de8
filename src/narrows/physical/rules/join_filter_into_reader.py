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

A reader of which no more than 12 MB are left is read once (`reads=once`): asked for its keys, its
tasks hand on all of their rows, and the plan takes them from there (`worker/keys/handed_rows.py`).

Refuses: where the small one has no filter, for then most rows will find a partner. Where it would
have to be read once more, and that would cost half of reading the other, by the size of their
files; or it may have more than a million keys. Readers of less than 128 MB, which ship what they
have; but when they are read for their keys they test, too. Keys that are neither whole numbers nor
texts nor dates. Full joins, and sides of joins whose rows are there without a partner. Sources that
have an event time, or come as data frames of the user's. EXPLAIN VERBOSE says why, for each pair of
keys.

In a pipeline, streams test by the keys of files that are tables, and nothing gives the keys of a
stream, which are never all there. Spark reads such tables anew in every micro-batch, and so do the
tasks of the stream: of 4 MB at most. It refuses where two streams are joined, for their rows wait
for each other while the table may change; and streams with an event time where something waits for
their watermark, which must see every row.

Terminates: it looks at each plan once, and leaves one that has join filters alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from narrows.catalog.measured import NOTHING_MEASURED, Measured
from narrows.expressions.text import expression_text
from narrows.logical.nodes import DataSink, Join, Node
from narrows.logical.streaming.supported import is_stream
from narrows.logical.walk import topological, transform_up
from narrows.optimizer.estimates import Estimates
from narrows.physical.join_edges import Edges, Leaf, join_edges
from narrows.physical.join_filters import JoinFilter, Keys
from narrows.physical.join_sides import Side, mega
from narrows.physical.nodes import PhysicalReader
from narrows.plugins.registry import CONNECTORS


@dataclass(frozen=True)
class JoinFilterIntoReader:
    measured: Measured = NOTHING_MEASURED

    def apply(self, plan: Node) -> Node | None:
        readers = _readers(plan)
        if not readers:
            return None
        choices = self._choices(plan, readers, join_edges(plan))
        sides = {choice.side.relation: choice.side for choice in choices}
        once = _read_once(sides.values())

        def add(node: Node) -> Node | None:
            if not isinstance(node, PhysicalReader) or node.relation.id not in sides:
                return None
            side = sides[node.relation.id]
            hands_on = side.relation in once
            if not hands_on and not (side.tests and side.filters):
                return None
            return replace(node, join_filters=side.filters, hands_on=hands_on)

        return transform_up(plan, add)

    def remarks(self, plan: Node) -> Iterator[str]:
        """Which keys could be tested by which others, and why they are, or are not."""
        readers, edges = _readers(plan), join_edges(plan)
        choices = list(self._choices(plan, readers, edges))
        once = _read_once(choice.side for choice in choices)
        for side, refused in choices:
            tests = side.tests or side.relation in once
            waits = "" if tests else f": no, {side.name} ships its {mega(side.bytes)} at once"
            yield from (f"{made}{waits or ': yes'}" for made in side.filters)
            for (given, tested), why in refused.items():
                pair = [expression_text(edges.exprs[leaf]) for leaf in (tested, given)]
                yield f"{' in '.join(pair)}: no, {why}"

    def _choices(
        self, plan: Node, readers: Sequence[PhysicalReader], edges: Edges
    ) -> Iterator[_Choice]:
        if not readers or not edges.droppable:
            return
        estimates, size, runs = Estimates(plan), self.measured.size, _runs(plan)
        sides = [
            Side.of_stream(reader, estimates)
            if runs and not reader.source.bounded
            else Side.of(reader, estimates, size(reader.source), runs=runs)
            for reader in readers
        ]
        if not runs:
            groups = edges.subqueries.values()
            sides += [Side.of_groups(subquery, estimates) for subquery in groups]
        yield from _chosen(sides, edges)


def _read_once(sides: Iterable[Side]) -> set[int]:
    """Those that are asked for their keys, and then hand on their rows."""
    few = {side.relation: side for side in sides}
    pending = [made.keys for side in few.values() if side.tests for made in side.filters]
    asked: set[int] = set()
    while pending:
        keys = pending.pop()
        asked.add(keys.relation)
        pending.extend(made.keys for made in keys.filters)
    return {relation for relation in asked if few[relation].hands_on}


def _readers(plan: Node) -> list[PhysicalReader]:
    """Those that may test, or be asked for keys; none where no two of them are, or all is done."""
    nodes = topological(plan)
    if any(map(_is_done, nodes)):
        return []
    found = [n for n in nodes if isinstance(n, PhysicalReader) and _can_test(n)]
    readers = [n for n in found if n.source.eventtime is None]
    if _runs(plan):
        if any(map(_joins_streams, nodes)):  # rows wait there, and the table may change meanwhile
            return []
        waits = any(n.keeps_state and is_stream(n) for n in nodes if not isinstance(n, Join))
        streams = [n for n in found if not n.source.bounded]
        streams = [n for n in streams if n.source.eventtime is None or not waits]
        readers = [*streams, *(n for n in readers if n.source.bounded and _is_files(n))]
    return readers if len(readers) > 1 else []


def _can_test(reader: PhysicalReader) -> bool:
    return not reader.source.comes_as_frame and not reader.order


def _is_files(reader: PhysicalReader) -> bool:
    """Can tasks read it whenever they want to?"""
    return CONNECTORS.find(reader.source.connector).delivers == "files"


def _runs(plan: Node) -> bool:
    return any(isinstance(node, DataSink) for node in topological(plan))


def _joins_streams(node: Node) -> bool:
    return isinstance(node, Join) and is_stream(node.left) and is_stream(node.right)


def _is_done(node: Node) -> bool:
    return isinstance(node, PhysicalReader) and (bool(node.join_filters) or node.hands_on)


class _Choice(NamedTuple):
    """What a reader tests by, and what it could, and does not."""

    side: Side
    refused: Mapping[tuple[Leaf, Leaf], str]


def _chosen(sides: list[Side], edges: Edges) -> Iterator[_Choice]:
    """Goes from small to large, so that no reader waits for itself."""
    pairs = {side.relation: _pairs(edges, side.relation) for side in sides}
    names = {side.relation: side.name for side in sides}
    done: dict[int, Side] = {}
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
    side: Side, pairs: Sequence[tuple[Leaf, Leaf]], edges: Edges, done: Mapping[int, Side]
) -> tuple[Side, dict[tuple[Leaf, Leaf], str]]:
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
