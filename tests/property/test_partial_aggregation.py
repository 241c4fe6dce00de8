"""What tasks make of their rows, merged, is what all rows make together: however rows come in
batches, however often groups are shipped, whatever the values are."""

from __future__ import annotations

import json
import math
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import narrows
from narrows.arrow.types import arrow_type
from narrows.connectors.base import find_connector
from narrows.logical.nodes import Node
from narrows.logical.walk import transform_up
from narrows.physical.nodes import PhysicalPartialAggregation
from narrows.planner.query import plan_query
from narrows.projection.partial_aggregation import Fold, FoldKind, PartialAggregation
from narrows.projection.predicate import IsNull
from narrows.projection.values import CastValue, ColumnValue, Value
from narrows.schema import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TINYINT,
    DataType,
    Decimal,
)
from narrows.spark.read.reader import partial_spec
from narrows.sql.parser.script import parse_query
from narrows.worker import partial_aggregator
from narrows.worker.partial_aggregator import PartialAggregator
from narrows.worker.read import read_share
from support.invariants import check
from support.reference import Document, Given, run
from support.scalar_values import LONG, MONEY, VALUES

TYPES = list(VALUES)
NUMERIC = [TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, MONEY, LONG]
SUMS: dict[DataType, DataType] = {
    FLOAT: DOUBLE,
    DOUBLE: DOUBLE,
    MONEY: Decimal(16, 2),
    LONG: LONG,
}


@st.composite
def columns(draw: st.DrawFn, dtype: DataType, rows: int) -> pa.Array:
    value = st.none() | st.sampled_from(VALUES[dtype])
    drawn = draw(st.lists(value, min_size=rows, max_size=rows))
    return pa.array(drawn, arrow_type(dtype))


@st.composite
def aggregations(draw: st.DrawFn, types: Sequence[DataType]) -> PartialAggregation:
    """Some keys and some folds of columns of these types."""
    places = st.integers(0, len(types) - 1)
    keys: list[tuple[Value, DataType]] = [
        (ColumnValue(place), types[place]) for place in draw(st.lists(places, max_size=3))
    ]
    folds = []
    for place in draw(st.lists(places, max_size=4)):
        kinds = [FoldKind.COUNT, FoldKind.MIN, FoldKind.MAX]
        kinds += [FoldKind.SUM] if types[place] in NUMERIC else []
        kind = draw(st.sampled_from(kinds))
        test = IsNull(ColumnValue(draw(places))) if draw(st.booleans()) else None
        value: Value | None = ColumnValue(place)
        dtype = types[place]
        if kind is FoldKind.COUNT:
            dtype = BIGINT
            whether = IsNull(ColumnValue(place))
            value = draw(st.sampled_from([None, ColumnValue(place), whether]))
        if kind is FoldKind.SUM:
            dtype = SUMS.get(dtype, BIGINT)
            if types[place] in (SMALLINT, FLOAT) and draw(st.booleans()):
                value, dtype = CastValue(ColumnValue(place), DOUBLE), DOUBLE
        folds.append(Fold(kind, value, dtype, test))
    for place in draw(st.lists(places, max_size=2)):
        folds += draw(_chosen(types, ColumnValue(place), types[place], len(folds)))
    assume(keys or folds)
    names = tuple(f"z{place}" for place in range(len(keys) + len(folds)))
    return PartialAggregation(tuple(keys), tuple(folds), names)


@st.composite
def _chosen(
    draw: st.DrawFn, types: Sequence[DataType], value: Value, dtype: DataType, place: int
) -> list[Fold]:
    """A value of one of the rows, and what it goes by, which is to stand at this place."""
    other = draw(st.integers(0, len(types) - 1))
    test = IsNull(ColumnValue(other)) if draw(st.booleans()) else None
    kind = draw(st.sampled_from([*_EXTREMES, *_BY_PLACE]))
    if kind in _EXTREMES:
        by = Fold(_EXTREMES[kind], ColumnValue(other), types[other], None)
        return [by, Fold(kind, value, dtype, None, (place,))]
    count = Fold(FoldKind.COUNT, None, BIGINT, test)
    return [count, Fold(kind, value, dtype, test, () if test is None else (place,))]


_EXTREMES = {FoldKind.MAX_BY: FoldKind.MAX, FoldKind.MIN_BY: FoldKind.MIN}
_BY_PLACE = (FoldKind.FIRST, FoldKind.LAST, FoldKind.FIRST_VALID, FoldKind.LAST_VALID)


@st.composite
def cases(draw: st.DrawFn) -> tuple[PartialAggregation, list[pa.RecordBatch]]:
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4))
    what = draw(aggregations(types))
    batches = []
    for rows in draw(st.lists(st.integers(0, 8), max_size=5)):
        arrays = [draw(columns(dtype, rows)) for dtype in types]
        batches.append(
            pa.RecordBatch.from_arrays(arrays, names=[f"x{i}" for i in range(len(types))])
        )
    return what, batches


@settings(max_examples=200)
@given(cases(), st.sampled_from([(1, 1), (4, 2), (4, 1000), (1000, 1000)]))
def test_what_tasks_ship_merges_to_what_rows_make(
    case: tuple[PartialAggregation, list[pa.RecordBatch]], sizes: tuple[int, int]
) -> None:
    what, batches = case
    together, kept = sizes
    with (
        patch.multiple(partial_aggregator, _FOLDED_TOGETHER=together, _ENOUGH_TO_TELL=together),
        patch.object(partial_aggregator, "_KEPT_GROUPS", kept),
    ):
        task = PartialAggregator(what)
        shipped = [part for batch in batches for part in task.add(batch)]
        shipped += task.rest()
    wanted = pa.schema([(n, arrow_type(d)) for n, d in zip(what.names, what.types, strict=True)])
    assert all(part.schema == wanted for part in shipped)
    rows = [row for part in shipped for row in _rows(part)]
    assert _merged(what, rows) == _merged(what, _alone(what, batches))


def _rows(batch: pa.RecordBatch) -> list[list[Any]]:
    if not batch.num_columns:
        return [[] for _ in range(batch.num_rows)]
    return [list(row) for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]


def _alone(what: PartialAggregation, batches: Sequence[pa.RecordBatch]) -> list[list[Any]]:
    """Each row as a partial result: said once more, in Python."""
    made = []
    for batch in batches:
        for row in _rows(batch):
            keys = [_value(value, row) for value, _ in what.keys]
            folds: list[Any] = []
            for fold in what.folds:
                beside = [folds[place] for place in fold.beside]
                nothing = fold.kind in _EXTREMES and beside[0] is None
                folds.append(None if nothing else _fold(fold, row))
            made.append([*keys, *folds])
    return made


def _value(value: Value, row: Sequence[Any]) -> Any:
    match value:
        case ColumnValue(place):
            return row[place]
        case CastValue(inner):
            found = _value(inner, row)
            return None if found is None else float(found)
        case IsNull(inner):
            return _value(inner, row) is None


def _fold(fold: Fold, row: Sequence[Any]) -> Any:
    value = True if fold.value is None else _value(fold.value, row)
    if fold.test is not None and not _value(fold.test, row):
        value = None
    return int(value is not None) if fold.kind is FoldKind.COUNT else value


def _merged(what: PartialAggregation, rows: Sequence[Sequence[Any]]) -> dict[str, list[str]]:
    groups = defaultdict(list)
    width = len(what.keys)
    for row in rows:
        groups[repr([_plain(key) for key in row[:width]])].append(row[width:])
    return {
        key: [_merge(fold, place, group) for place, fold in enumerate(what.folds)]
        for key, group in groups.items()
    }


def _merge(fold: Fold, place: int, rows: Sequence[Sequence[Any]]) -> str:
    there = [row[place] for row in rows if row[place] is not None]
    if fold.kind in _EXTREMES:
        there = [row[place] for row in _beside_extreme(fold, rows)[-1:]]
    elif fold.kind in (FoldKind.FIRST, FoldKind.LAST):
        there = [row[place] for row in rows if all(row[count] > 0 for count in fold.beside)]
    if fold.kind in (*_EXTREMES, *_BY_PLACE):
        first = fold.kind in (FoldKind.FIRST, FoldKind.FIRST_VALID)
        return repr(there[0 if first else -1]) if there else "None"
    if not there:
        return "NULL"
    if fold.kind in (FoldKind.COUNT, FoldKind.SUM):
        return repr(_plain(sum(there)))
    choose = min if fold.kind is FoldKind.MIN else max
    return repr(_plain(choose(there, key=_ordered)))


def _beside_extreme(fold: Fold, rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """The rows that have the largest, or the smallest."""
    (by,) = fold.beside
    found = [row for row in rows if row[by] is not None]
    choose = max if fold.kind is FoldKind.MAX_BY else min
    extreme = choose((_ordered(row[by]) for row in found), default=None)
    return [row for row in found if _ordered(row[by]) == extreme]


def _ordered(value: Any) -> Any:
    """Spark's order: NaN is the largest, and -0.0 is 0.0."""
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if _floats(value) else value


def _plain(value: Any) -> Any:
    """Zero has no sign, whichever of two was first."""
    return value + 0.0 if _floats(value) else value


def _floats(value: Any) -> bool:
    return isinstance(value, float)


# --- queries over documents -----------------------------------------------------------------------

SCHEMA = "k STRING, n BIGINT, x DOUBLE, s STRUCT<m: INT, ok: BOOLEAN>"
CATALOG = narrows.Catalog()
CATALOG.disabled_rules = frozenset()
KEYS = ("k", "n", "s.m", "s.ok", "n > 1")
CALLS = (
    *("count(*)", "count(k)", "count(1)", "sum(n)", "sum(s.m)", "sum(x)", "avg(s.m)", "avg(x)"),
    *("min(k)", "max(k)", "min(x)", "max(s.m)", "count(DISTINCT n)", "count(DISTINCT k, n)"),
    *("count(*) FILTER (WHERE n > 1)", "sum(x) FILTER (WHERE k = 'a')", "max(n > 1)"),
    *("max_by(n, n)", "min_by(x, x) FILTER (WHERE k = 'a')", "max(n)"),
)

documents = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.sampled_from([None, "a", "b", ""]),
            "n": st.sampled_from([None, 0, 1, 2, 3]),
            "x": st.sampled_from([None, 0.0, 0.5, 1.25, -2.0]),
            "s": st.none()
            | st.fixed_dictionaries(
                {"m": st.sampled_from([None, 1, 2]), "ok": st.sampled_from([None, True, False])}
            ),
        }
    ),
    max_size=12,
)


@st.composite
def queries(draw: st.DrawFn) -> str:
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
    calls = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=4))
    items = ", ".join(f"{expr} AS c{place}" for place, expr in enumerate([*keys, *calls]))
    where = draw(st.sampled_from(["", " WHERE n < 3", " WHERE k IS NOT NULL AND x > 0"]))
    having = draw(st.sampled_from(["", " HAVING count(*) > 1"]))
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {items} FROM s{where}{by}{having}"


@settings(max_examples=80, deadline=None)
@given(documents, queries(), st.integers(1, 3))
def test_queries_over_documents(found: list[Document], sql: str, tasks: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        CATALOG.execute(
            f"CREATE OR REPLACE STREAM s ({SCHEMA}) WITH (connector = 'file', path = '{folder}')"
        )
        for place in range(tasks):
            lines = "".join(json.dumps(row) + "\n" for row in found[place::tasks])
            (Path(folder) / f"{place}.json").write_text(lines + "{ bad\n", encoding="utf-8")
        plan = plan_query(parse_query(sql), CATALOG, check=check)
        in_reader = transform_up(plan.physical, lambda node: _read(node, tasks))
    assert in_reader is not None, plan.explain()
    expected = run(plan.bound, lambda source: found)
    assert _sorted(run(in_reader, lambda source: [])) == _sorted(expected), plan.explain()


def _read(node: Node, tasks: int) -> Given | None:
    """What the tasks of a reader ship."""
    if not isinstance(node, PhysicalPartialAggregation):
        return None
    spec = partial_spec(node)
    source = find_connector(spec.connector).source(spec.declared)
    entry = source.whole(source.available())
    shares = source.split(entry, tasks)
    with patch.multiple(partial_aggregator, _FOLDED_TOGETHER=2, _ENOUGH_TO_TELL=2):
        rows = [row for share in shares for part in read_share(spec, share) for row in _rows(part)]
    return Given(relation=node.relation, rows=rows)


def _sorted(rows: list[list[object]]) -> list[str]:
    return sorted(repr(row) for row in rows)
