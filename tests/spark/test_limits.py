"""What a LIMIT leaves is what Spark leaves: every type in every order, and no more is read than it
takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.arrow.types import arrow_type
from narrows.catalog.measured import NOTHING_MEASURED
from narrows.worker.dead_letters import read_dead_letters
from support.scalar_values import VALUES

COLUMNS = {f"c{place}": dtype for place, dtype in enumerate(VALUES)}
ROWS = 240


@pytest.fixture(scope="module")
def session(
    small_data: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[narrows.Session]:
    folder = Path(tmp_path_factory.mktemp("limits"))
    random = Random(19)
    arrays = [
        pa.array([random.choice([None, *VALUES[dtype]]) for _ in range(ROWS)], arrow_type(dtype))
        for dtype in COLUMNS.values()
    ]
    table = pa.table([*arrays, pa.array(range(ROWS))], names=[*COLUMNS, "id"])
    (folder / "rows").mkdir()
    for part in range(3):
        rows = table.slice(part * ROWS // 3, ROWS // 3)
        pq.write_table(rows, folder / "rows" / f"{part}.parquet")
    session = narrows.connect(small_data, state=folder / "state")
    session.catalog.measured = NOTHING_MEASURED  # files as small as these are left to Spark
    schema = ", ".join(f"{name} {dtype.sql()}" for name, dtype in COLUMNS.items())
    session.execute(
        f"CREATE TABLE t ({schema}, id BIGINT)"
        f" WITH (connector = 'file', format = 'parquet', path = '{folder / 'rows'}')"
    )
    small_data.read.parquet(str(folder / "rows")).createOrReplaceTempView("t")
    yield session
    session.close()


def _compare(session: narrows.Session, sql: str) -> None:
    (plan,) = session.execute(f"EXPLAIN PHYSICAL {sql}")
    assert "limit=" in str(plan), plan
    ours, theirs = session.query(sql).collect(), session.spark.sql(sql).collect()
    assert repr(ours) == repr(theirs), sql


@pytest.mark.parametrize("order", ["ASC NULLS LAST", "DESC NULLS FIRST"])
def test_every_type(session: narrows.Session, order: str) -> None:
    branches = [
        f"(SELECT id, '{name}' AS name FROM t ORDER BY {name} {order}, id DESC LIMIT 33)"
        for name in COLUMNS
    ]
    _compare(session, f"SELECT * FROM ({' UNION ALL '.join(branches)}) ORDER BY name, id")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t ORDER BY id LIMIT 5",
        "SELECT id FROM t ORDER BY c3 DESC NULLS LAST, c6 NULLS FIRST, c9, id LIMIT 50",
        "SELECT id FROM t WHERE c2 > 0 ORDER BY c2 % 10 DESC, id LIMIT 7 OFFSET 30",
        "SELECT id, upper(c9) FROM (SELECT id, c9, c3 = 5 AS five FROM t)"
        " ORDER BY five, id LIMIT 9",
        "SELECT count(*) FROM (SELECT id FROM t LIMIT 100)",
        "SELECT count(*) FROM (SELECT id FROM t WHERE c2 = 5 LIMIT 1000 OFFSET 3)",
        "SELECT count(*) FROM (SELECT DISTINCT c9 FROM t LIMIT 5)",
        "SELECT a.id, b.id FROM (SELECT id FROM t ORDER BY id DESC LIMIT 4) a"
        " JOIN (SELECT id FROM t WHERE c2 > 0 ORDER BY id DESC LIMIT 40) b ON a.id = b.id"
        " ORDER BY a.id",
        "WITH x AS (SELECT id, c2 FROM t WHERE id < 100)"
        " SELECT count(*), sum(y.id) FROM x JOIN (SELECT id FROM x ORDER BY c2, id LIMIT 9) y"
        " ON x.id <= y.id",
    ],
)
def test_queries(session: narrows.Session, sql: str) -> None:
    _compare(session, sql)


def test_no_more_is_read_than_it_takes(small_data: SparkSession, tmp_path: Path) -> None:
    """Nor counted; and a task that stops has said what it counted."""
    folder = tmp_path / "data"
    folder.mkdir()
    lines = "".join(f'{{"n": {n}}}\n' for n in range(100_000))
    (folder / "1.json").write_text("{ bad\n" + lines, "utf-8")
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        session.execute(f"CREATE TABLE s (n INT) WITH (connector = 'file', path = '{folder}')")
        assert len(session.query("SELECT n FROM s WHERE n % 7 = 6 LIMIT 2").collect()) == 2
        counts = session.query_counts()["s"]
        assert counts.rows_shipped == 2
        assert 0 < counts.payloads < 50_000
        assert counts.bad == 1
        assert list(read_dead_letters(session.state.dead_letters("s"))) == []
        session.query("SELECT n FROM s ORDER BY n LIMIT 2").collect()
        counts = session.query_counts()["s"]
        assert (counts.payloads, counts.bad) == (100_001, 1)
        assert len(list(read_dead_letters(session.state.dead_letters("s")))) == 1
