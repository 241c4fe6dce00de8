"""CoveringProjection: reads a narrow, sorted copy of a table instead of the table.

SQL:     SELECT value FROM measured WHERE at > '2026-01-01'
Before:  Project fields=[measured.value]
         └─Filter predicate=measured.at > '2026-01-01'
           └─DataSource source=measured, decoder=json, schema=[at, value]
After:   Project fields=[measured.value]
         └─Filter predicate=measured.at > '2026-01-01'
           └─DataSource source=measured, decoder=parquet, schema=[at, value], projection=by_time

The copy was made by `CREATE PROJECTION by_time ON measured (at, value) ORDER BY at`.

Recognises: a table of which everything that is decoded is in the copy. Either the format of the
table is not columnar, so that of the copy less is even read; or the filter right above tests the
column that the copy is sorted by, so that most of it is skipped.

Refuses: a copy that lacks a column; one of a table whose files have changed since it was made,
which would show old rows; a copy of a columnar table whose order is of no use to the filter. A
notice says which. Of several copies the narrowest is read.

Terminates: one pass; a table that is read from a copy is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from narrows.catalog.objects import Source, TableProjection
from narrows.demand import Fields
from narrows.expressions.nodes import columns_of
from narrows.logical.conjuncts import split
from narrows.logical.nodes import DataSource, Filter, Node
from narrows.logical.walk import topological
from narrows.notices import Notice
from narrows.plugins.registry import FORMATS

PROJECTION = "projection"
"""The option that names the copy that a source is read from."""


class CoveringProjection:
    def apply(self, plan: Node) -> Node | None:
        tested = _tested_columns(plan)
        changed: dict[int, Node] = {}
        for node in reversed(topological(plan)):
            children = [changed[id(child)] for child in node.children]
            same = all(new is old for new, old in zip(children, node.children, strict=True))
            current = node if same else node.with_children(children)
            if isinstance(node, DataSource):
                current = _read_copy(node, tested.get(id(node), set())) or node
            changed[id(node)] = current
        return changed[id(plan)] if changed[id(plan)] is not plan else None


def projection_notices(plan: Node) -> Iterator[Notice]:
    """Why copies that there are were not read."""
    tested = _tested_columns(plan)
    for node in topological(plan):
        if isinstance(node, DataSource) and PROJECTION not in node.source.options:
            for copy in node.source.projections:
                why = _why_not(node, copy, tested.get(id(node), set()))
                if why is not None:
                    yield Notice("projection", f"projection `{copy.name}` is not read: {why}")


def _read_copy(node: DataSource, tested: set[str]) -> DataSource | None:
    source = node.source
    if PROJECTION in source.options:
        return None
    usable = [copy for copy in source.projections if _why_not(node, copy, tested) is None]
    if not usable:
        return None
    best = min(usable, key=lambda copy: (not _sorts(copy, tested), len(copy.columns)))
    return replace(node, source=read_from(source, best))


def read_from(source: Source, copy: TableProjection) -> Source:
    """The source, read from the copy: same columns, other files."""
    options = {**source.options, "path": copy.path, PROJECTION: copy.name}
    return replace(source, format="parquet", options=options)


def _why_not(node: DataSource, copy: TableProjection, tested: set[str]) -> str | None:
    if copy.stale:
        return (
            f"the files of `{copy.table}` have changed since it was made;"
            f" `REFRESH PROJECTION {copy.name}` makes it anew"
        )
    missing = [name for name in _needed(node) if name not in copy.columns]
    if missing:
        return f"it has no column {', '.join(f'`{name}`' for name in missing[:3])}"
    if FORMATS.find(node.source.format).is_columnar and not _sorts(copy, tested):
        return "the table is columnar, too, and the query does not filter by its order"
    return None


def _needed(node: DataSource) -> Sequence[str]:
    demand = node.decode_projection
    return list(demand.parts) if isinstance(demand, Fields) else node.source.row.names


def _sorts(copy: TableProjection, tested: set[str]) -> bool:
    return bool(copy.order_by) and copy.order_by[0] in tested


def _tested_columns(plan: Node) -> dict[int, set[str]]:
    """For each source, the columns that a filter right above it tests."""
    tested: dict[int, set[str]] = {}
    for node in topological(plan):
        if isinstance(node, Filter) and isinstance(node.child, DataSource):
            names = {c.name for conjunct in split(node.predicate) for c in columns_of(conjunct)}
            tested.setdefault(id(node.child), set()).update(names)
    return tested
