"""Files that nobody declared, and what their columns are."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import narrows
from narrows.connectors.file.inferred import FilesInQueries, undeclared_files
from narrows.errors import Code, NarrowsError


def _schema(path: Path | str) -> str:
    source = undeclared_files(str(path))
    assert source is not None
    return ", ".join(f"{field.name} {field.type.sql()}" for field in source.schema)


def test_json(tmp_path: Path) -> None:
    lines = [
        '{"a": 1, "b": {"c": true}, "n": [1, 2.5], "z": null, "e": []}',
        '{"a": 2.5, "b": {"d": "x"}, "k": [{"p": 1}, {"q": "y"}]}',
        "no payload",
        '{"a": null, "m": 1}',
        '{"m": "text", "big": 123456789012345678901234567890}',
    ]
    (tmp_path / "one.json").write_text("\n".join(lines), "utf-8")
    assert _schema(tmp_path / "*.json") == (
        "a DOUBLE, b STRUCT<c: BOOLEAN, d: STRING>, n ARRAY<DOUBLE>, z STRING, e ARRAY<STRING>,"
        " k ARRAY<STRUCT<p: BIGINT, q: STRING>>, m STRING, big DOUBLE"
    )


def test_compressed(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n'))
    assert _schema(tmp_path / "x.jsonl.gz") == "a BIGINT"


def test_csv(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('id,"a name",v,ok\n1,x,1.5,true\n2,,3,\n', "utf-8")
    assert _schema(tmp_path / "x.csv") == "id BIGINT, a name STRING, v DOUBLE, ok BOOLEAN"


def test_parquet(tmp_path: Path) -> None:
    table = pa.table(
        {"a": pa.array([1], pa.int32()), "b": [{"c": ["x"]}], "t": pa.array([1], pa.time32("s"))}
    )
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    assert _schema(tmp_path / "x.parquet") == "a INT, b STRUCT<c: ARRAY<STRING>>"


def test_text(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a line\n", "utf-8")
    assert _schema(tmp_path / "x.txt") == "value STRING"


def test_other_names_are_no_files() -> None:
    assert undeclared_files("orders") is None
    assert undeclared_files("data/orders") is None
    assert undeclared_files("x.xml") is None


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NarrowsError) as caught:
        undeclared_files(str(tmp_path / "*.json"))
    assert caught.value.code is Code.UNREADABLE_FILE


def test_only_what_is_used_is_decoded(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1, "b": {"c": 1, "d": 2}}\n', "utf-8")
    catalog = narrows.Catalog()
    catalog.elsewhere = FilesInQueries()
    plan = narrows.plan(f"SELECT x.b.c FROM '{tmp_path}/x.json' x WHERE x.a = 1", catalog)
    assert "schema=[a, b{c}], decodes=2 of 3 leaves" in plan.explain("logical")
