"""What a session sees of files before it plans: how large they are, and whether keys repeat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import narrows
from narrows.catalog.measured import Measured
from narrows.planner.query import plan
from narrows.spark.read import measured
from narrows.spark.read.measured import KeyRepeats, source_size

ROWS = 20_000


def declared(folder: Path) -> narrows.Catalog:
    catalog = narrows.Catalog()
    catalog.measured = Measured(source_size, KeyRepeats())
    catalog.execute(
        "CREATE TABLE t (id BIGINT, kind STRING, pad STRING)"
        f" WITH (connector = 'file', path = '{folder}', format = 'json');"
        "CREATE TABLE topic (id BIGINT)"
        " WITH (connector = 'kafka', brokers = 'localhost:1', topic = 't')"
    )
    return catalog


def test_keys_that_repeat_are_aggregated_by_readers(tmp_path: Path) -> None:
    lines = [json.dumps({"id": n, "kind": "ab"[n % 2], "pad": "." * 50}) for n in range(ROWS)]
    (tmp_path / "a.json").write_text("\n".join(["no JSON", *lines]), encoding="utf-8")
    catalog = declared(tmp_path)

    def in_reader(sql: str) -> bool:
        return "PhysicalPartialAggregation" in plan(sql, catalog).explain("physical")

    assert source_size(catalog.sources[0]) == (tmp_path / "a.json").stat().st_size
    assert in_reader("SELECT kind, count(*) FROM t GROUP BY kind")
    assert in_reader("SELECT id % 10, kind, count(*) FROM t GROUP BY 1, 2")
    assert in_reader("SELECT DISTINCT kind FROM t")
    assert in_reader("SELECT count(*) FROM t")
    assert not in_reader("SELECT id, count(*) FROM t GROUP BY id")
    assert in_reader("SELECT kind, stddev(id) FROM t GROUP BY kind")
    assert in_reader("SELECT id % 1000, count(*) FROM t GROUP BY 1")
    assert not in_reader("SELECT id % 1000, stddev(id) FROM t GROUP BY 1")
    assert not in_reader("SELECT kind, count(DISTINCT id) FROM t GROUP BY kind")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json"]


def test_files_are_looked_at_once_as_long_as_they_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []
    look = measured._repeats

    def noted(*asked: Any) -> float:
        looks.append(look(*asked))
        return looks[-1]

    monkeypatch.setattr(measured, "_repeats", noted)
    catalog = declared(tmp_path)

    def in_reader(key: str) -> bool:
        sql = f"SELECT {key}, count(*) FROM t GROUP BY {key}"
        return "PhysicalPartialAggregation" in plan(sql, catalog).explain("physical")

    for kinds in (2, ROWS):
        lines = [
            json.dumps({"id": n, "kind": f"{n % kinds}", "pad": "." * 50}) for n in range(ROWS)
        ]
        (tmp_path / "a.json").write_text("\n".join(lines), encoding="utf-8")
        for _ in range(3):
            assert in_reader("kind") == (kinds == 2)
            assert not in_reader("id")
    assert len(looks) == 4, "two keys of two files"


def test_what_is_small_or_not_there_or_no_file_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"kind": "a"}\n' * 10, encoding="utf-8")
    catalog = declared(tmp_path)
    sql = "SELECT kind, count(*) FROM t GROUP BY kind"
    assert "PhysicalPartialAggregation" not in plan(sql, catalog).explain("physical")
    table, topic = catalog.sources
    assert source_size(topic) is None
    (tmp_path / "a.json").unlink()
    tmp_path.rmdir()
    assert source_size(table) is None
