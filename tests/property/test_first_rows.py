"""What a LIMIT leaves of tasks is enough for what it leaves of all rows: however rows come in
batches, whatever the values are."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Sequence
from functools import cmp_to_key
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import narrows
from narrows.arrow.types import arrow_type
from narrows.connectors.base import find_connector
from narrows.logical.nodes import Node
from narrows.logical.walk import transform_up
from narrows.physical.nodes import PhysicalPartialAggregation, PhysicalReader
from narrows.planner.query import plan_query
from narrows.projection.row_limit import RowLimit, SortValue
from narrows.projection.values import ColumnValue
from narrows.schema import DataType
from narrows.spark.read.reader import partial_spec, read_spec
from narrows.sql.parser.script import parse_query
from narrows.worker import first_rows, partial_aggregator
from narrows.worker.counts import ReadCounts
from narrows.worker.first_rows import TopRows
from narrows.worker.read import read_share
from narrows.worker.read_spec import ReadSpec
from support.invariants import check
from support.reference import Document, Given, run
from support.scalar_values import VALUES

# --- rows -----------------------------------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn) -> tuple[RowLimit, list[pa.RecordBatch]]:
    types = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    places = st.integers(0, len(types) - 1)
    keys = tuple(
        SortValue(ColumnValue(draw(places)), draw(st.booleans()), draw(st.booleans()))
        for _ in range(draw(st.integers(1, 3)))
    )
    batches = []
    for rows in draw(st.lists(st.integers(0, 8), max_size=6)):
        arrays = [draw(_column(dtype, rows)) for dtype in types]
        batches.append(pa.RecordBatch.from_arrays(arrays, [f"x{i}" for i in range(len(types))]))
    return RowLimit(draw(st.integers(1, 9)), keys), batches


@st.composite
def _column(draw: st.DrawFn, dtype: DataType, rows: int) -> pa.Array:
    value = st.none() | st.sampled_from(VALUES[dtype])
    return pa.array(draw(st.lists(value, min_size=rows, max_size=rows)), arrow_type(dtype))


@settings(max_examples=300)
@given(cases(), st.sampled_from([(1, 1 << 20), (5, 1 << 20), (1000, 1 << 20), (5, 100)]))
def test_a_task_keeps_the_first_rows_in_the_order(
    case: tuple[RowLimit, list[pa.RecordBatch]], sizes: tuple[int, int]
) -> None:
    limit, batches = case
    together, kept_bytes = sizes
    with (
        patch.object(first_rows, "_SORTED_TOGETHER", together),
        patch.object(first_rows, "_KEPT_BYTES", kept_bytes),
    ):
        task = TopRows(limit)
        shipped = [part for batch in batches for part in task.add(batch)]
        shipped += task.rest()
    rows = [row for batch in batches for row in _rows(batch)]
    found = [row for batch in shipped for row in _rows(batch)]
    assert _first(limit, found) == _first(limit, rows)
    # A row is there no more often than it was, and none is there that was not.
    left = [repr(row) for row in rows]
    for row in found:
        left.remove(repr(row))
    if kept_bytes > 100:
        assert len(found) == min(limit.count, len(rows))


def _rows(batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _first(limit: RowLimit, rows: Sequence[tuple[Any, ...]]) -> list[str]:
    """The keys of the rows that are first: said once more, in Python."""

    def compare(one: tuple[Any, ...], other: tuple[Any, ...]) -> int:
        return _compared(limit.keys, one, other)

    by = sorted(rows, key=cmp_to_key(compare))
    return [repr([_plain(row[_place(key)]) for key in limit.keys]) for row in by[: limit.count]]


def _place(key: SortValue) -> int:
    assert isinstance(key.value, ColumnValue)
    return key.value.place


def _compared(keys: Sequence[SortValue], one: Sequence[Any], other: Sequence[Any]) -> int:
    for key in keys:
        a, b = one[_place(key)], other[_place(key)]
        if a is None or b is None:
            order = (a is not None) - (b is not None)
            order = order if key.nulls_first else -order
        else:
            x, y = _ordered(a), _ordered(b)
            order = (x > y) - (x < y)
            order = -order if key.descending else order
        if order:
            return order
    return 0


def _ordered(value: Any) -> Any:
    """Spark's order: NaN is the largest, and -0.0 is 0.0."""
    if not isinstance(value, float):
        return value
    return (math.isnan(value), 0.0 if math.isnan(value) else value)


def _plain(value: Any) -> Any:
    return value + 0.0 if isinstance(value, float) else value


# --- queries over documents -----------------------------------------------------------------------

SCHEMA = "k STRING, n BIGINT, s STRUCT<m: INT, ok: BOOLEAN>, id STRING"
CATALOG = narrows.Catalog()
CATALOG.disabled_rules = frozenset()
documents = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.sampled_from(["a", "b", "c"]),
            "n": st.sampled_from([0, 1, 2, 3]),
            "s": st.fixed_dictionaries(
                {"m": st.sampled_from([1, 2]), "ok": st.sampled_from([True, False])}
            ),
        }
    ),
    max_size=12,
)
"""Values that the reference sorts as Spark does; NULLs and others are for the test above."""


@settings(max_examples=80, deadline=None)
@given(
    documents,
    st.lists(st.sampled_from(["k", "n", "s.m", "s.ok", "n > 1"]), max_size=2, unique=True),
    st.sampled_from(["", " WHERE n < 3", " WHERE k = 'a'"]),
    st.integers(1, 5),
    st.integers(0, 3),
    st.integers(1, 3),
)
def test_queries_over_documents(
    found: list[Document], keys: list[str], where: str, limit: int, offset: int, tasks: int
) -> None:
    rows = [{**row, "id": f"{place:02}"} for place, row in enumerate(found)]
    order = f" ORDER BY {', '.join([*keys, 'id'])}" if keys else ""
    sql = f"SELECT k, s.m, n + 1, id FROM s{where}{order} LIMIT {limit} OFFSET {offset}"
    plan, ours = _answer(sql, rows, tasks)
    everything = run(plan.bound, lambda source: rows)
    if order:
        assert ours == everything, plan.explain()
    else:  # whichever come first
        whole = plan_query(parse_query(sql.partition(" LIMIT")[0]), CATALOG)
        there = [repr(row) for row in run(whole.bound, lambda source: rows)]
        assert len(ours) == len(everything)
        assert set(map(repr, ours)) <= set(there)
        assert len(set(map(repr, ours))) == len(ours)


@settings(max_examples=50, deadline=None)
@given(documents, st.sampled_from(["k", "n, s.ok", "n > 1"]), st.integers(1, 4), st.integers(1, 3))
def test_some_groups_are_as_many_as_are_wanted(
    found: list[Document], keys: str, limit: int, tasks: int
) -> None:
    plan, ours = _answer(f"SELECT DISTINCT {keys} FROM s LIMIT {limit}", found, tasks)
    whole = plan_query(parse_query(f"SELECT DISTINCT {keys} FROM s"), CATALOG)
    there = {repr(row) for row in run(whole.bound, lambda source: found)}
    assert {repr(row) for row in ours} <= there, plan.explain()
    assert len(ours) == min(limit, len(there)), plan.explain()


def _answer(sql: str, rows: Sequence[Document], tasks: int) -> tuple[Any, list[list[object]]]:
    """The plan, and what Spark would make of what the tasks of its reader ship."""
    with tempfile.TemporaryDirectory() as folder:
        CATALOG.execute(
            f"CREATE OR REPLACE STREAM s ({SCHEMA}) WITH (connector = 'file', path = '{folder}')"
        )
        for place in range(tasks):
            lines = "".join(json.dumps(row) + "\n" for row in rows[place::tasks])
            (Path(folder) / f"{place}.json").write_text(lines + "{ bad\n", encoding="utf-8")
        plan = plan_query(parse_query(sql), CATALOG, check=check)
        in_reader = transform_up(plan.physical, lambda node: _read(node, tasks))
    assert in_reader is not None, plan.explain()
    return plan, run(in_reader, lambda source: [])


def _read(node: Node, tasks: int) -> Given | None:
    """What the tasks of a reader ship."""
    if isinstance(node, PhysicalPartialAggregation):
        assert node.limit is not None
        spec, relation = partial_spec(node), node.relation
    elif isinstance(node, PhysicalReader) and node.limit is not None:
        spec, relation = read_spec(node), node.relation
    else:
        return None
    with (
        patch.object(first_rows, "_SORTED_TOGETHER", 2),
        patch.multiple(partial_aggregator, _FOLDED_TOGETHER=2, _ENOUGH_TO_TELL=2),
    ):
        shipped = [row for batch in _shipped(spec, tasks) for row in batch.to_pylist()]
    if isinstance(node, PhysicalPartialAggregation):
        return Given(relation=relation, rows=[list(row.values()) for row in shipped])
    return Given(relation=relation, rows=[_document(spec, row) for row in shipped])


def _shipped(spec: ReadSpec, tasks: int) -> list[pa.RecordBatch]:
    source = find_connector(spec.connector).source(spec.declared)
    shares = source.split(source.whole(source.available()), tasks)
    return [batch for share in shares for batch in read_share(spec, share, total=ReadCounts())]


def _document(spec: ReadSpec, row: dict[str, Any]) -> list[Any]:
    """A row of flat columns as the values of the source's columns, with what was decoded."""
    document: dict[object, Any] = {}
    for column, value in zip(spec.projection.columns, row.values(), strict=False):
        *outer, last = column.path
        inner = document
        for name in outer:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return [document.get(name) for name in spec.projection.schema.names]
