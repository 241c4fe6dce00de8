"""What a session knows of files before it plans a query over them: how large they are, and whether
keys repeat in their first rows.

Files are there to be looked at. A broker would have to be asked, for as long as it takes, and
EXPLAIN must not wait for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from narrows.catalog.objects import Source
from narrows.connectors.base import SourceDeclaration
from narrows.connectors.opening import open_source
from narrows.errors import NarrowsError
from narrows.expressions.nodes import Expr
from narrows.physical.nodes import PhysicalDataSource, PhysicalDecoder
from narrows.physical.worker_predicate import worker_value
from narrows.plugins.registry import CONNECTORS
from narrows.spark.read.reader import looked_at, read_spec
from narrows.sql.scope import Relation
from narrows.worker.evaluate import evaluate
from narrows.worker.read import read_share

_LOOKED_AT = 8_192
_SMALL = 1 << 20


def source_size(source: Source) -> int | None:
    """Bytes of payload that a source has now, about; None where that is not known."""
    if not _is_files(source):
        return None
    declared = SourceDeclaration(source.name, source.format, source.options, source.bounded)
    try:
        asked = open_source(source.connector, declared)
        return asked.size(asked.whole(asked.available()))
    except NarrowsError:
        return None  # it is not there, which is said when somebody reads it


def key_repeats(source: Source, relation: Relation, keys: Sequence[Expr]) -> float:
    """How many of the first rows have the same keys, on average; 0 where that is not known."""
    if (source_size(source) or 0) < _SMALL:
        return 0.0
    node = PhysicalDecoder(
        child=PhysicalDataSource(source=source), source=source, relation=relation
    )
    spec = read_spec(replace(node, decode_projection=looked_at(node, keys)))
    values = [worker_value(key, relation.id, spec.projection).value for key in keys]
    groups: set[tuple[object, ...]] = set()
    rows = 0
    try:
        asked = open_source(spec.connector, spec.declared)
        for share in asked.split(asked.whole(asked.available()), 1):
            for batch in read_share(spec, share):
                rows += batch.num_rows
                groups |= _groups([evaluate(value, batch) for value in values])
                if rows >= _LOOKED_AT:
                    break
    except NarrowsError:
        return 0.0
    return rows / max(len(groups), 1)


def _groups(columns: Sequence[pa.Array]) -> set[tuple[object, ...]]:
    names = [f"k{place}" for place in range(len(columns))]
    distinct = pa.table(list(columns), names=names).group_by(names, use_threads=False).aggregate([])
    return set(zip(*(column.to_pylist() for column in distinct.columns), strict=True))


def _is_files(source: Source) -> bool:
    connector = CONNECTORS.find(source.connector)
    return connector.has_entries and connector.delivers == "files"
