"""Parquet files as the columns of a projection."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from narrows.demand import ALL, LENGTH, NOTHING, PRESENCE, Demand, fields, items, keys
from narrows.errors import Code, NarrowsError
from narrows.files.listing import list_files
from narrows.files.ranges import FileRange, split
from narrows.formats.parquet.reader import demanded_leaves, read_row_groups
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema

UTC = dt.UTC


def put(folder: Path, table: pa.Table, **options: Any) -> FileRange:
    path = folder / "f.parquet"
    pq.write_table(table, path, **options)
    return FileRange(str(path), 0, path.stat().st_size)


def read(
    file_range: FileRange, schema: str, demand: Demand = ALL, **options: Any
) -> tuple[dict[str, list[Any]], int]:
    projection = DecodeProjection(read_schema(schema), demand)
    batches = [batch.decoded for batch in read_row_groups(file_range, projection, **options)]
    columns = {
        column.text: [value for d in batches for value in d.batch.column(place).to_pylist()]
        for place, column in enumerate(projection.columns)
    }
    return columns, sum(decoded.mistyped for decoded in batches)


B = pa.struct(
    [
        ("c", pa.int64()),
        ("items", pa.list_(pa.struct([("x", pa.int32()), ("y", pa.string())]))),
    ]
)
NESTED = pa.table(
    {
        "a": [1, 2, 3],
        "b": pa.array(
            [
                {"c": 1, "items": [{"x": 10, "y": "p"}, {"x": 11, "y": "q"}]},
                None,
                {"c": None, "items": []},
            ],
            B,
        ),
        "m": pa.array([[("k", 1), ("l", 2), ("k", 3)], [], None], pa.map_(pa.string(), pa.int64())),
    }
)
SCHEMA = (
    "a BIGINT, b STRUCT<c: BIGINT, items: ARRAY<STRUCT<x: BIGINT, y: STRING>>>,"
    " m MAP<STRING, BIGINT>, z INT"
)


@pytest.mark.parametrize(
    ("demand", "expected"),
    [
        (fields({"a": ALL}), {"a": [1, 2, 3]}),
        (fields({"b": fields({"c": ALL})}), {"b.c": [1, None, None]}),
        (
            fields({"b": fields({"items": items({0: fields({"x": ALL}), 5: fields({"y": ALL})})})}),
            {"b.items[0].x": [10, None, None], "b.items[5].y": [None, None, None]},
        ),
        (fields({"b": fields({"items": LENGTH})}), {"b.items.#": [2, None, 0]}),
        (fields({"b": PRESENCE}), {"b.?": [True, False, True]}),
        (fields({"m": PRESENCE}), {"m.?": [True, True, False]}),
        (fields({"m": LENGTH}), {"m.#": [3, 0, None]}),
        (
            fields({"m": keys({"k": ALL, "n": ALL})}),
            {"m['k']": [1, None, None], "m['n']": [None] * 3},
        ),
        (
            fields({"b": fields({"items": items(rest=fields({"x": ALL}))})}),
            {"b.items": [[{"x": 10}, {"x": 11}], None, []]},
        ),
        (fields({"z": ALL}), {"z": [None, None, None]}),
        (fields({"b": fields({"c": ALL}, presence=True)}), {"b": [{"c": 1}, None, {"c": None}]}),
    ],
)
def test_columns(tmp_path: Path, demand: Demand, expected: dict[str, list[Any]]) -> None:
    found, mistyped = read(put(tmp_path, NESTED), SCHEMA, demand)
    assert found == expected
    assert mistyped == 0


def test_a_partly_demanded_list_keeps_its_length(tmp_path: Path) -> None:
    some = fields(
        {"b": fields({"items": items({1: fields({"y": ALL})}, length=True)}, presence=True)}
    )
    found, _ = read(put(tmp_path, NESTED), SCHEMA, some)
    assert found == {"b": [{"items": [None, {"y": "q"}]}, None, {"items": []}]}


def test_counting_reads_nothing(tmp_path: Path) -> None:
    whole = put(tmp_path, NESTED, row_group_size=2)
    projection = DecodeProjection(read_schema(SCHEMA), NOTHING)
    batches = list(read_row_groups(whole, projection))
    assert [batch.decoded.batch.num_rows for batch in batches] == [2, 1]
    assert [batch.size for batch in batches] == [0, 0]


def test_only_demanded_leaves_are_read(tmp_path: Path) -> None:
    whole = put(tmp_path, NESTED)
    schema, file = read_schema(SCHEMA), pq.ParquetFile(whole.path)

    def paths(demand: Demand) -> list[str]:
        leaves = demanded_leaves(file.schema_arrow, schema, demand)
        return [file.schema.column(leaf).path for leaf in leaves]

    x = "b.items.list.element.x"
    assert paths(fields({"b": fields({"items": items({0: fields({"x": ALL})})})})) == [x]
    assert paths(fields({"b": fields({"items": LENGTH})})) == [x]
    assert paths(fields({"b": PRESENCE})) == ["b.c"]
    assert paths(fields({"z": ALL})) == []
    assert paths(fields({"m": keys({"k": ALL})})) == ["m.key_value.key", "m.key_value.value"]
    assert len(paths(ALL)) == len(file.schema)
    assert paths(NOTHING) == []


def test_types(tmp_path: Path) -> None:
    when = dt.datetime(2024, 1, 2, 3, 4, 5, 678901, UTC)
    naive = when.replace(tzinfo=None)
    table = pa.table(
        {
            "small": pa.array([1, 300, None], pa.int64()),
            "text": pa.array(["1", "x", " 7 "]),
            "dictionary": pa.array(["a", "b", None]).dictionary_encode(),
            "large": pa.array(["a", "b", None], pa.large_string()),
            "money": pa.array([Decimal("1.50"), Decimal("123.45"), None], pa.decimal128(10, 2)),
            "nanos": pa.array([1_000, -1, None], pa.timestamp("ns")),
            "naive": pa.array([naive, None, naive], pa.timestamp("us")),
            "zoned": pa.array([when, None, when], pa.timestamp("ms", tz="Europe/Paris")),
            "day": pa.array([dt.date(2024, 1, 2), None, None]),
            "bytes": pa.array([b"a", b"\xff", None]),
            "real": pa.array([1.0, 2.5, None]),
            "nothing": pa.nulls(3),
            "fixed": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int16(), 2)),
        }
    )
    found, mistyped = read(
        put(tmp_path, table),
        "small TINYINT, text INT, dictionary STRING, large STRING, money DECIMAL(4,2),"
        " nanos TIMESTAMP, naive TIMESTAMP, zoned TIMESTAMP, day DATE, bytes STRING, real BIGINT,"
        " nothing ARRAY<INT>, fixed ARRAY<BIGINT>",
    )
    assert found == {
        "small": [1, None, None],
        "text": [1, None, 7],
        "dictionary": ["a", "b", None],
        "large": ["a", "b", None],
        "money": [Decimal("1.50"), None, None],
        "nanos": [
            dt.datetime(1970, 1, 1, 0, 0, 0, 1, UTC),
            dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
            None,
        ],
        "naive": [when, None, when],
        "zoned": [when.replace(microsecond=678000), None, when.replace(microsecond=678000)],
        "day": [dt.date(2024, 1, 2), None, None],
        "bytes": ["a", None, None],
        "real": [1, None, None],
        "nothing": [None, None, None],
        "fixed": [[1, 2], None, [3, 4]],
    }
    assert mistyped == 5


def test_old_timestamps_of_spark(tmp_path: Path) -> None:
    when = dt.datetime(2500, 1, 1)
    table = pa.table({"t": pa.array([when], pa.timestamp("us"))})
    whole = put(tmp_path, table, use_deprecated_int96_timestamps=True)
    assert read(whole, "t TIMESTAMP") == ({"t": [when.replace(tzinfo=UTC)]}, 0)


def test_names_in_another_case(tmp_path: Path) -> None:
    table = pa.table({"ID": [1], "b": [{"Xx": 2}], "n": [3], "N": [4]})
    found, _ = read(put(tmp_path, table), "id INT, b STRUCT<xX: INT>, N INT, n INT")
    assert found == {"id": [1], "b": [{"xX": 2}], "N": [4], "n": [3]}


@pytest.mark.parametrize(
    ("schema", "demand", "message"),
    [
        ("a STRUCT<x: INT>", ALL, r"`a` is declared as STRUCT<x: INT>, but is int64 in"),
        ("a STRUCT<x: INT>", fields({"a": fields({"x": ALL})}), "`a` is declared as a STRUCT, but"),
        ("b INT", ALL, r"`b` is declared as INT, but is struct<"),
        ("b STRUCT<items: MAP<STRING, INT>>", ALL, r"`b\.items` is declared as MAP<STRING, INT>"),
        (
            "m MAP<BIGINT, BIGINT>",
            fields({"m": keys({7: ALL})}),
            "`m` is declared as a MAP with keys",
        ),
        ("a ARRAY<INT>", fields({"a": LENGTH}), "`a` is declared as ARRAY<INT>, but is int64"),
    ],
)
def test_a_declaration_that_cannot_be_right(
    tmp_path: Path, schema: str, demand: Demand, message: str
) -> None:
    with pytest.raises(NarrowsError, match=message) as caught:
        read(put(tmp_path, NESTED), schema, demand)
    assert caught.value.code is Code.WRONG_TYPE


def test_row_groups_belong_to_the_range_in_which_they_begin(tmp_path: Path) -> None:
    whole = put(tmp_path, pa.table({"a": range(10_000)}), row_group_size=500)
    ranges = split(list_files(whole.path), target=3_000)
    assert len(ranges) > 5
    found = [read(part, "a BIGINT")[0]["a"] for part in ranges]
    assert [value for values in found for value in values] == list(range(10_000))


def test_batches_are_bounded_by_bytes(tmp_path: Path) -> None:
    table = pa.table({"a": [bytes([n % 256]) * 10_000 for n in range(1_000)]})
    whole = put(tmp_path, table, use_dictionary=False)
    projection = DecodeProjection(read_schema("a BINARY"), ALL)
    batches = list(read_row_groups(whole, projection, batch_bytes=1 << 20))
    assert max(batch.decoded.batch.nbytes for batch in batches) < 2 << 20
    assert sum(batch.decoded.batch.num_rows for batch in batches) == 1_000


def test_an_empty_file(tmp_path: Path) -> None:
    empty = NESTED.slice(0, 0)
    assert read(put(tmp_path, empty), SCHEMA)[0] == {"a": [], "b": [], "m": [], "z": []}


def test_a_file_that_is_no_parquet(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    path.write_bytes(b"this is no parquet file")
    for broken in (path, tmp_path / "missing.parquet"):
        with pytest.raises(NarrowsError, match="cannot read file") as caught:
            read(FileRange(str(broken), 0, 100), "a INT")
        assert caught.value.code is Code.UNREADABLE_FILE


def test_memory_is_bounded(tmp_path: Path) -> None:
    table = pa.table({"a": [b"%09d" % n * 100 for n in range(50_000)]})
    whole = put(tmp_path, table, compression="none", use_dictionary=False)
    projection = DecodeProjection(read_schema("a BINARY"), ALL)
    before = pa.total_allocated_bytes()
    peak = 0
    for batch in read_row_groups(whole, projection, batch_bytes=2 << 20):
        peak = max(peak, pa.total_allocated_bytes() - before)
        del batch
    assert peak < 16 << 20
