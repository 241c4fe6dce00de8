"""A format takes one file, and no change of Narrows: `tests/support/toy_format.py` is one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from narrows import Catalog
from narrows.connectors.base import find_connector
from narrows.connectors.target import RowPart, SinkTarget, WriteSpec
from narrows.demand import ALL, fields
from narrows.files.listing import list_files
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema
from narrows.worker.read import read_share
from narrows.worker.read_spec import ReadSpec
from narrows.worker.write import publish, write_task
from support.packages import build_wheel, install

SOURCE = Path(__file__).parents[2] / "support" / "toy_format.py"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = {"narrows.formats": {"toy": "toy_format_of_others:FORMAT"}}
    files = {"toy_format_of_others.py": SOURCE.read_text("utf-8")}
    install(build_wheel(tmp_path, "toy", files, points), tmp_path / "site", monkeypatch)


def test_statements_and_plans_know_it(toy: None) -> None:
    catalog = Catalog()
    catalog.execute("""
        CREATE STREAM s (a BIGINT, b STRUCT<c: STRING, d: STRING>)
        WITH (connector = 'file', path = 'in', format = 'toy');
        CREATE SINK o WITH (connector = 'file', path = 'out', format = 'toy', batch_count = 10);
        CREATE PIPELINE p INTO o AS SELECT a, b->c AS c FROM s
    """)
    plan = catalog.plan_pipeline("p").explain("physical")
    assert "PhysicalDecoder_1        | decoder=toy, schema=[a, b{c}]" in plan
    assert "encoder=toy" in plan
    assert "PhysicalBatch" in plan  # it does not say that it can stream
    assert "by_index_projection" not in plan


def test_workers_write_and_read_it(toy: None, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    target = SinkTarget(
        pipeline="p",
        sink="o",
        connector="file",
        place=str(folder),
        format="toy",
        options=(),
        parts=(RowPart("o0", "a"), RowPart("o1", "b")),
        dead_letters=str(tmp_path / "dead"),
    )
    spec = WriteSpec((target,))
    structs = pa.array([{"c": "x", "d": "y"}, {"c": "z", "d": None}])
    rows = pa.RecordBatch.from_arrays([pa.array([1, 2]), structs], names=["o0", "o1"])
    publish(spec, 0, [write_task(spec, iter([rows, rows.slice(1)]))])
    files = list_files(str(folder))
    assert [Path(file.path).name for file in files] == ["p-0000000000-00000.arrows"]

    schema = read_schema("a BIGINT, b STRUCT<c: STRING, d: STRING>")
    projection = DecodeProjection(schema, fields({"a": ALL, "b": fields({"c": ALL})}))
    read = ReadSpec(
        source="s",
        connector="file",
        format="toy",
        projection=projection,
        names=("a", "c"),
        options={"path": str(folder)},
    )
    source = find_connector("file").source(read.declared)
    (share,) = source.split(source.whole(source.available()), 1)
    table = pa.Table.from_batches(read_share(read, share))
    assert table.to_pydict() == {"a": [1, 2, 2], "c": ["x", "z", "z"]}
