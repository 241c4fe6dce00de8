"""Whatever is demanded of a Parquet file, its rows hold exactly that, however the file is cut."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.arrow.types import arrow_type
from narrows.demand import ALL, NOTHING, PRESENCE, Demand, Fields, Items, Keys
from narrows.files.ranges import FileRange
from narrows.formats.decoder import Decoded
from narrows.formats.parquet.reader import demanded_leaves, read_row_groups
from narrows.formats.rows.reader import RowsReader
from narrows.projection.columns import Aspect, DecodeProjection, FlatColumn, Key
from narrows.schema import Array, DataType, Field, Map, Struct
from support.strategies import demands_on, documents, schemas

Draw = Any


def plain(value: Any, dtype: DataType) -> Any:
    """A value as Arrow reads and writes it: a map is a list of pairs; only fields of the type."""
    if value is None:
        return None
    match dtype:
        case Struct(members):
            return {m.name: plain(value.get(m.name), m.type) for m in members}
        case Array(element):
            return [plain(item, element) for item in value]
        case Map(_, inner):
            return [(key, plain(item, inner)) for key, item in value.items()]
        case _:
            return value


@st.composite
def thinned(draw: Draw, dtype: DataType) -> DataType:
    """The type without some of its fields."""
    match dtype:
        case Struct(members):
            kept = [m for m in members if draw(st.integers(0, 4))] or [members[0]]
            return Struct(tuple(Field(m.name, draw(thinned(m.type))) for m in kept))
        case Array(element):
            return Array(draw(thinned(element)))
        case Map(key, value):
            return Map(key, draw(thinned(value)))
        case _:
            return dtype


def expected(row: Any, column: FlatColumn) -> Any:
    value = row
    for step in column.path:
        if value is None:
            break
        match step:
            case str():
                value = value.get(step)
            case int():
                value = value[step] if step < len(value) else None
            case Key(key):
                value = dict(value).get(key)
    if column.aspect is Aspect.PRESENCE:
        return value is not None
    if column.aspect is Aspect.LENGTH:
        return None if value is None else len(value)
    return built(value, column.dtype, column.demand)


def built(value: Any, target: DataType, demand: Demand) -> Any:
    if value is None or demand is NOTHING:
        return None
    match target:
        case Struct(members):
            parts = {
                m.name: demand.at(m.name) if isinstance(demand, Fields) else demand for m in members
            }
            if demand is not ALL and not isinstance(demand, Fields):
                parts = dict.fromkeys(parts, NOTHING)
            return {m.name: built(value.get(m.name), m.type, parts[m.name]) for m in members}
        case Array(element):
            return [built(v, element, at(demand, i)) for i, v in enumerate(value)]
        case Map(_, inner):
            return [(k, built(v, inner, at(demand, k))) for k, v in value]
        case _:
            return value


def at(demand: Demand, place: Any) -> Demand:
    if isinstance(demand, (Items, Keys)):
        return demand.at(place)
    return ALL if demand is ALL else NOTHING


def row_demands(schema: Struct) -> st.SearchStrategy[Demand]:
    """A demand on a row; nobody asks whether a row is there."""
    return demands_on(schema).map(lambda demand: NOTHING if demand is PRESENCE else demand)


@st.composite
def cases(draw: Draw) -> tuple[Struct, Struct, list[Any], Demand, Demand]:
    schema = draw(schemas())
    in_file = draw(st.one_of(st.just(schema), thinned(schema)))
    rows = [plain(row, in_file) for row in draw(st.lists(documents(schema), max_size=7))]
    tested = draw(st.one_of(st.just(NOTHING), row_demands(schema)))
    return schema, in_file, rows, draw(row_demands(schema)), tested


@settings(max_examples=200)
@given(cases(), st.integers(1, 4), st.lists(st.integers(0, 5_000), max_size=3), st.integers(1, 5))
def test_rows_hold_what_is_demanded(
    case: tuple[Struct, Struct, list[Any], Demand, Demand],
    group: int,
    cuts: list[int],
    batch_rows: int,
) -> None:
    schema, in_file, rows, demand, tested = case
    projection = DecodeProjection(schema, demand, tested=tested)
    table = pa.Table.from_struct_array(pa.array(rows, arrow_type(in_file)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f.parquet")
        pq.write_table(table, path, row_group_size=group)
        size = path.stat().st_size
        bounds = sorted({0, size, *(cut % size for cut in cuts)})
        batches = [
            batch.decoded
            for start, end in pairwise(bounds)
            for batch in read_row_groups(
                FileRange(str(path), start, end), projection, batch_rows=batch_rows
            )
        ]
    assert all(decoded.batch.num_rows <= batch_rows for decoded in batches)
    assert_holds(batches, projection, rows)


@settings(max_examples=100)
@given(cases(), st.integers(1, 4))
def test_rows_of_a_topic_hold_what_is_demanded(
    case: tuple[Struct, Struct, list[Any], Demand, Demand], at_once: int
) -> None:
    schema, in_file, rows, demand, tested = case
    projection = DecodeProjection(schema, demand, tested=tested)
    table = pa.Table.from_struct_array(pa.array(rows, arrow_type(in_file)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f.arrow")
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=at_once)
        read = FileRange(str(path), 0, path.stat().st_size)
        parts = list(RowsReader().read(read, projection, None))
    assert_holds([part.decoded for part in parts], projection, rows)


def assert_holds(
    batches: Sequence[Decoded], projection: DecodeProjection, rows: Sequence[Any]
) -> None:
    assert sum(decoded.batch.num_rows for decoded in batches) == len(rows)
    assert all(decoded.mistyped == 0 and not decoded.bad for decoded in batches)
    for place, column in enumerate(projection.columns):
        arrays = [decoded.batch.column(place) for decoded in batches]
        for array in arrays:
            array.validate(full=True)
            assert array.type == arrow_type(column.dtype)
        found = [value for array in arrays for value in array.to_pylist()]
        assert found == [expected(row, column) for row in rows], column.text


@settings(max_examples=200)
@given(schemas().flatmap(lambda schema: st.tuples(st.just(schema), row_demands(schema))))
def test_leaves_are_columns_of_the_file(case: tuple[Struct, Demand]) -> None:
    schema, demand = case
    file = pa.schema(arrow_type(schema))
    every = demanded_leaves(file, schema, ALL)
    assert every == list(range(len(every)))
    leaves = demanded_leaves(file, schema, demand)
    assert leaves == sorted(set(leaves))
    assert set(leaves) <= set(every)
    assert bool(leaves) == bool(demand)
