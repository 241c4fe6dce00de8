"""Plans that compute nothing: the same rows and types as if Spark had carried them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.spark.write.sink_frame import copied_from

SCHEMA = """
    id BIGINT, small TINYINT, word STRING, ok BOOLEAN, score DOUBLE, part FLOAT,
    price DECIMAL(10, 2), day DATE, at TIMESTAMP, raw BINARY, tags ARRAY<STRING>,
    nested STRUCT<x: INT, `odd name`: ARRAY<STRUCT<y: DATE>>>, counts MAP<STRING, INT>
"""
ROWS = [
    {
        "id": n,
        "small": n,
        "word": f"wörd {n}",
        "ok": n % 2 == 0,
        "score": n / 3,
        "part": n / 4,
        "price": f"{n}.25",
        "day": "2026-11-15",
        "at": "2026-11-15T10:00:00.123Z",
        "raw": "AAEC",
        "tags": ["a", None],
        "nested": {"x": n, "odd name": [{"y": "2026-01-01"}]},
        "counts": {"k": n},
    }
    for n in range(5)
] + [{"id": 5}]


def _declare(spark: SparkSession, folder: Path) -> narrows.Session:
    (folder / "in").mkdir()
    (folder / "in" / "rows.json").write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    session = narrows.connect(spark, state=folder / "state")
    session.execute(f"CREATE STREAM s ({SCHEMA}) WITH (connector = 'file', path = '{folder}/in')")
    return session


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_readers_that_write_write_what_sinks_write(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    columns = "id, small, word, ok, score, part, price, day, at"
    columns += "" if format == "csv" else ", raw, tags, nested, counts"
    with _declare(spark, tmp_path) as session:
        for name, more in (("copied", ""), ("carried", "WHERE length(upper(word)) > 0 OR id = 5")):
            session.execute(
                f"""
                CREATE SINK {name}
                    WITH (connector = 'file', path = '{tmp_path}/{name}', format = '{format}');
                CREATE PIPELINE {name} INTO {name} AS SELECT {columns} FROM s {more};
                """
            )
            plain = copied_from(session.catalog.plan_pipeline(name))
            assert (plain is not None) == (name == "copied")
            session.start(name, once=True).await_done(timeout=120)
    copied, carried = (_read(tmp_path / name, format) for name in ("copied", "carried"))
    assert copied == carried
    assert len(copied if isinstance(copied, pa.Table) else copied.splitlines()) >= len(ROWS)


def _read(folder: Path, format: str) -> pa.Table | str:
    files = sorted(folder.glob(f"[!.]*.{format}"))
    if format == "parquet":
        return pa.concat_tables([pq.read_table(file) for file in files]).sort_by("id")
    return "".join(sorted("".join(file.read_text("utf-8") for file in files).splitlines(True)))


def test_a_query_that_computes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    with _declare(spark, tmp_path) as session:
        plain = session.query("SELECT * FROM s")
        renamed = session.query("SELECT *, 1 AS one FROM s").drop("one")
        assert plain.schema == renamed.schema
        assert sorted(plain.collect(), key=str) == sorted(renamed.collect(), key=str)
        two = session.query("SELECT word AS w, id AS `the id` FROM s WHERE id >= 4")
        assert two.columns == ["w", "the id"]
        assert sorted(tuple(row) for row in two.filter("`the id` = 4").collect()) == [("wörd 4", 4)]
