"""What a session knows of files before it plans a query over them: how large they are, and whether
keys repeat in their first rows.

Files are there to be looked at. A broker would have to be asked, for as long as it takes, and
EXPLAIN must not wait for that.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import replace

import pyarrow as pa

from narrows.catalog.objects import Source
from narrows.connectors.base import Share, SourceDeclaration
from narrows.connectors.opening import open_source
from narrows.errors import NarrowsError
from narrows.expressions.nodes import Expr
from narrows.expressions.text import expression_text
from narrows.physical.in_reader.worker_predicate import worker_value
from narrows.physical.nodes import PhysicalDataSource, PhysicalDecoder
from narrows.plugins.registry import CONNECTORS
from narrows.projection.values import Value
from narrows.spark.read.reader import looked_at, read_spec
from narrows.sql.scope import Relation
from narrows.worker.evaluate import evaluate
from narrows.worker.read import read_share
from narrows.worker.read_spec import ReadSpec

_LOOKED_AT = 8_192
_SMALL = 1 << 20
_KNOWN = 256


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


class KeyRepeats:
    """Whether keys repeat in the first rows of files; what was seen is known as long as the files
    are the same, for a query may be asked again and again."""

    def __init__(self) -> None:
        self._seen: OrderedDict[Hashable, float] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, source: Source, relation: Relation, keys: Sequence[Expr]) -> float:
        """How many of the first rows have the same keys, on average; 0 where that is not known."""
        if (source_size(source) or 0) < _SMALL:
            return 0.0
        node = PhysicalDecoder(
            child=PhysicalDataSource(source=source), source=source, relation=relation
        )
        spec = read_spec(replace(node, decode_projection=looked_at(node, keys)))
        values = [worker_value(key, relation.id, spec.projection).value for key in keys]
        try:
            asked = open_source(spec.connector, spec.declared)
            available = asked.available()
            told = (source.format, source.row, str(sorted(source.options.items())))
            asked_for = (told, *map(expression_text, keys), asked.version(available))
            with self._lock:
                seen = self._seen.get(asked_for)
            if seen is None:
                seen = _repeats(spec, values, asked.split(asked.whole(available), 1))
        except NarrowsError:
            return 0.0
        with self._lock:
            self._seen[asked_for] = seen
            self._seen.move_to_end(asked_for)
            if len(self._seen) > _KNOWN:
                self._seen.popitem(last=False)
        return seen


def _repeats(spec: ReadSpec, values: Sequence[Value], shares: Sequence[Share]) -> float:
    groups: set[tuple[object, ...]] = set()
    rows = 0
    for share in shares:
        for batch in read_share(spec, share):
            rows += batch.num_rows
            groups |= _groups([evaluate(value, batch) for value in values])
            if rows >= _LOOKED_AT:
                break
    return rows / max(len(groups), 1)


def _groups(columns: Sequence[pa.Array]) -> set[tuple[object, ...]]:
    names = [f"k{place}" for place in range(len(columns))]
    distinct = pa.table(list(columns), names=names).group_by(names, use_threads=False).aggregate([])
    return set(zip(*(column.to_pylist() for column in distinct.columns), strict=True))


def _is_files(source: Source) -> bool:
    connector = CONNECTORS.find(source.connector)
    return connector.has_entries and connector.delivers == "files"
