"""Row groups are skipped only when no row of theirs can pass."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from narrows.demand import ALL
from narrows.files.ranges import FileRange
from narrows.formats.parquet.reader import read_row_groups
from narrows.projection.columns import DecodeProjection
from narrows.projection.predicate import And, Compare, IsIn, IsNull, Not, Or, Predicate
from narrows.projection.values import ColumnValue
from narrows.sql.parser.types import read_schema

SCHEMA = read_schema("n BIGINT, t STRING, d DATE, f DOUBLE")


@pytest.mark.parametrize(
    ("predicate", "groups"),
    [
        (Compare(ColumnValue(0), "=", 25), [2]),
        (Compare(ColumnValue(0), "<", 10), [0]),
        (Compare(ColumnValue(0), "<=", 10), [0, 1]),
        (Compare(ColumnValue(0), ">", 39), []),
        (Compare(ColumnValue(0), ">=", 39), [3]),
        (Compare(ColumnValue(0), "<>", 5), [0, 1, 2, 3]),
        (IsIn(ColumnValue(0), (3, 33)), [0, 3]),
        (And((Compare(ColumnValue(0), ">", 5), Compare(ColumnValue(0), "<", 15))), [0, 1]),
        (Or((Compare(ColumnValue(0), "=", 5), Compare(ColumnValue(0), "=", 35))), [0, 3]),
        (Compare(ColumnValue(1), "=", "t31"), [3]),
        (Compare(ColumnValue(2), ">=", date(2026, 1, 31)), [3]),
        # Nothing can be told: NaN is larger than every number, NOT and IS NULL have no bounds.
        (Compare(ColumnValue(3), ">", 1000.0), [0, 1, 2, 3]),
        (Not(Compare(ColumnValue(0), "=", 5)), [0, 1, 2, 3]),
        (IsNull(ColumnValue(0)), [0, 1, 2, 3]),
    ],
)
def test_skipped_row_groups(predicate: Predicate, groups: list[int], tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    numbers = list(range(40))
    table = pa.table(
        {
            "n": numbers,
            "t": [f"t{n:02}" for n in numbers],
            "d": [date(2026, 1 + n // 31, n % 31 + 1) for n in numbers],
            "f": [float(n) for n in numbers],
        }
    )
    pq.write_table(table, path, row_group_size=10)
    read = FileRange(str(path), 0, path.stat().st_size)
    projection = DecodeProjection(SCHEMA, ALL)
    batches = [part.decoded.batch for part in read_row_groups(read, projection, predicate)]
    assert [batch.column(0)[0].as_py() // 10 for batch in batches] == groups
