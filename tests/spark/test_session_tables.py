"""What the Spark session has: views, tables, functions, data frames; and files by their paths."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import arrow_udf

import narrows
from narrows.errors import Code, NarrowsError
from narrows.spark.session import Session


@pytest.fixture(scope="module")
def session(
    small_data: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Session]:
    """A table of ours, and in Spark: a view, a global one, and a function."""
    folder: Path = tmp_path_factory.mktemp("tables")
    lines = [json.dumps({"id": i, "s": {"x": i * 2, "y": f"y{i}"}}) for i in range(4)]
    (folder / "rows.json").write_text("\n".join(lines), "utf-8")
    view = small_data.range(5).selectExpr(
        *("id", "id * 10 AS w", "named_struct('p', id, 'q', 'z') AS st"),
        *("TIMESTAMP_NTZ '2024-01-01 00:00:00' AS at", "INTERVAL '1' DAY AS span"),
    )
    view.createOrReplaceTempView("things")
    view.createOrReplaceGlobalTempView("everywhere")
    small_data.udf.register("shout", lambda row: f"{row['y']}!", "string")
    made = narrows.connect(small_data, state=folder / "state")
    made.execute(
        "CREATE TABLE t (id BIGINT, s STRUCT<x: BIGINT, y: STRING>)"
        f" WITH (connector = 'file', path = '{folder}/rows.json')"
    )
    yield made
    made.close()
    small_data.catalog.dropTempView("things")
    small_data.catalog.dropGlobalTempView("everywhere")


def _rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in session.query(sql).collect())


def test_a_view_beside_a_table_of_ours(session: Session) -> None:
    sql = "SELECT t.s.x, v.w, v.st.p FROM t JOIN things v ON t.id = v.id WHERE v.w > 10"
    assert _rows(session, sql) == [(4, 20, 2), (6, 30, 3)]


def test_types_that_only_spark_knows(session: Session) -> None:
    sql = "SELECT CAST(at + span AS DATE) = DATE '2024-01-02' FROM things LIMIT 1"
    assert _rows(session, sql) == [(True,)]


def test_a_global_view(session: Session) -> None:
    assert _rows(session, "SELECT max(e.w) FROM global_temp.everywhere e") == [(40,)]
    assert _rows(session, "SELECT max(global_temp.everywhere.w) FROM global_temp.everywhere") == [
        (40,)
    ]


def test_metadata_of_the_files_of_a_table(
    small_data: SparkSession, session: Session, tmp_path: Path
) -> None:
    made = f"CREATE TABLE of_files USING parquet LOCATION '{tmp_path}/rows' AS SELECT 7 AS a"
    small_data.sql(made)
    try:
        sql = "SELECT a, _metadata.file_size > 0, o._metadata.file_name LIKE '%parquet'"
        assert _rows(session, f"{sql} FROM of_files o") == [(7, True, True)]
        assert session.query("SELECT * FROM of_files").columns == ["a"]
    finally:
        small_data.sql("DROP TABLE of_files")


def test_in_a_subquery_and_a_lateral_join(session: Session) -> None:
    sql = "SELECT id FROM t WHERE id IN (SELECT w / 10 FROM things WHERE st.p > 1)"
    assert _rows(session, sql) == [(2,), (3,)]
    sql = "SELECT t.id, l.m FROM t, LATERAL (SELECT max(w) AS m FROM things v WHERE v.id < t.id) l"
    assert _rows(session, "SELECT sum(m) FROM (" + sql + ")") == [(30,)]


def test_a_function_of_the_session(session: Session) -> None:
    assert _rows(session, "SELECT shout(s) FROM t WHERE id < 2") == [("y0!",), ("y1!",)]


def test_a_data_frame_by_its_columns(small_data: SparkSession, session: Session) -> None:
    session.register(
        "rates", small_data.createDataFrame([(1, 0.5), (2, 2.0)], "id INT, rate DOUBLE")
    )
    assert _rows(session, "SELECT t.s.y, rate FROM t JOIN rates USING (id)") == [
        ("y1", 0.5),
        ("y2", 2.0),
    ]


def test_a_streaming_view_is_refused(small_data: SparkSession, session: Session) -> None:
    small_data.readStream.format("rate").load().createOrReplaceTempView("ticks")
    with pytest.raises(NarrowsError) as caught:
        session.query("SELECT value FROM ticks")
    small_data.catalog.dropTempView("ticks")
    assert caught.value.code is Code.NOT_SUPPORTED


def test_files_by_their_path(session: Session, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1, "b": {"c": "x"}}\n{"a": 2}\n', "utf-8")
    sql = f"SELECT f.a, f.b.c, t.s.x FROM '{tmp_path}/*.json' f JOIN t ON t.id = f.a"
    assert _rows(session, sql) == [(1, "x", 2), (2, None, 4)]


def test_a_view_of_ours_over_one_of_spark(session: Session) -> None:
    session.execute("CREATE VIEW large (key) AS SELECT st.p FROM things WHERE w > 20")
    assert _rows(session, "SELECT key FROM large JOIN t ON key = id") == [(3,)]


def test_a_function_of_groups_that_was_registered_in_spark(
    small_data: SparkSession, session: Session
) -> None:
    @arrow_udf("double")  # type: ignore[call-overload, untyped-decorator]
    def span_of(values: pa.Array) -> float:
        return float(pc.max(values).as_py() - pc.min(values).as_py())

    small_data.udf.register("span_of", span_of)
    sql = "SELECT s.x > 2 AS large, span_of(s.x) FROM t GROUP BY s.x > 2"
    assert _rows(session, sql) == [(False, 2.0), (True, 2.0)]
    assert _rows(session, "SELECT span_of(id) FROM t HAVING span_of(s.x) > 5") == [(3.0,)]
    with pytest.raises(NarrowsError) as refused:
        session.query("SELECT id, span_of(s.x) FROM t")
    assert refused.value.problems[0].code is Code.NOT_GROUPED


def test_a_pipeline_outlives_variables_of_the_session(
    small_data: SparkSession, session: Session, tmp_path: Path
) -> None:
    small_data.sql("DECLARE OR REPLACE VARIABLE least = 2")
    assert _rows(session, "SELECT id FROM t WHERE id >= least") == [(2,), (3,)]
    session.execute(f"""
        CREATE STREAM of_lines (id BIGINT) WITH (connector = 'file', path = '{tmp_path}/in');
        CREATE SINK to_lines WITH (connector = 'file', path = '{tmp_path}/out');
    """)
    with pytest.raises(NarrowsError) as refused:
        session.execute(
            "CREATE PIPELINE p INTO to_lines AS SELECT id FROM of_lines WHERE id >= least;"
        )
    assert refused.value.problems[0].code is Code.UNKNOWN_COLUMN
