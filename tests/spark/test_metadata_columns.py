"""Metadata columns on Spark: in queries, through every way in which a pipeline runs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row, SparkSession

import narrows
from narrows.worker.dead_letters import read_dead_letters

COLUMNS = "a BIGINT, b STRUCT<c: BIGINT, d: STRING>"
BAD = '{"a": '


def _row(a: int) -> dict[str, Any]:
    return {"a": a, "b": {"c": a * 10, "d": f"d{a}"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of rows, with a payload that is bad in each."""
    (tmp_path / "in").mkdir()
    for name, rows in {"one.json": range(3), "two é.json": range(3, 5)}.items():
        lines = [json.dumps(_row(a)) for a in rows]
        (tmp_path / "in" / name).write_text("\n".join([lines[0], BAD, *lines[1:], ""]), "utf-8")
    return tmp_path


@pytest.fixture
def session(small_data: SparkSession, folder: Path) -> Iterator[narrows.Session]:
    with narrows.connect(small_data, state=folder / "state") as made:
        options = f"connector = 'file', path = '{folder}/in'"
        made.execute(
            f"""
            CREATE TABLE t ({COLUMNS}) WITH ({options});
            CREATE STREAM s ({COLUMNS}) WITH ({options});
            CREATE STREAM shared ({COLUMNS}) WITH ({options}, shared = true);
            CREATE SINK files WITH (connector = 'file', path = '{folder}/out');
            CREATE SINK rows WITH (connector = 'memory');
            """
        )
        yield made


def _file(folder: Path, a: int) -> str:
    return str(folder / "in" / ("one.json" if a < 3 else "two é.json"))


def _rows(session: narrows.Session, sql: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in session.query(sql).collect())


def test_queries_name_them(session: narrows.Session, folder: Path) -> None:
    both = [(_file(folder, a), a) for a in range(5)]
    assert _rows(session, "SELECT _file, a FROM t") == both
    assert _rows(session, "SELECT _file FROM t") == [(file,) for file, _ in both]
    assert _rows(session, "SELECT * FROM t") == [(a, Row(c=a * 10, d=f"d{a}")) for a in range(5)]
    counted = [(_file(folder, 0), 3, 3), (_file(folder, 4), 2, 7)]
    assert _rows(session, "SELECT t._file, count(*), sum(a) FROM t GROUP BY t._file") == counted
    assert _rows(session, "SELECT a FROM t WHERE _file LIKE '%two%' AND b.c > 30") == [(4,)]
    assert _rows(session, "SELECT a FROM t WHERE upper(_file) LIKE '%ONE.JSON' AND a > 0") == [
        (1,),
        (2,),
    ]
    joined = "SELECT x.a, y.a FROM t x JOIN t y ON x._file = y._file AND x.a < y.a"
    assert _rows(session, joined) == [(0, 1), (0, 2), (1, 2), (3, 4)]
    assert _rows(session, "SELECT a, row_number() OVER (PARTITION BY _file ORDER BY a) FROM t") == [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 1),
        (4, 2),
    ]


def test_files_of_every_kind_have_them(session: narrows.Session, folder: Path) -> None:
    """Compressed ones, and containers, of which row groups are skipped by the payload's columns."""
    (folder / "gz").mkdir()
    compressed = folder / "gz" / "x.json.gz"
    compressed.write_bytes(gzip.compress(b"".join(b'{"a": %d}\n' % a for a in range(3))))
    (folder / "pq").mkdir()
    for name, first in {"p": 0, "q": 100}.items():
        table = pa.table({"a": list(range(first, first + 100))})
        pq.write_table(table, folder / "pq" / f"{name}.parquet", row_group_size=10)
    session.execute(
        f"""
        CREATE TABLE gz (a BIGINT) WITH (connector = 'file', path = '{folder}/gz');
        CREATE TABLE pq (a BIGINT)
          WITH (connector = 'file', path = '{folder}/pq', format = 'parquet');
        """
    )
    assert _rows(session, "SELECT a, _file FROM gz") == [(a, str(compressed)) for a in range(3)]
    last = str(folder / "pq" / "q.parquet")
    assert _rows(session, "SELECT _file, a FROM pq WHERE a >= 198 AND _file LIKE '%q%'") == [
        (last, 198),
        (last, 199),
    ]
    assert _rows(session, "SELECT DISTINCT _file FROM pq WHERE a > 150") == [(last,)]


def _written(folder: Path) -> list[dict[str, Any]]:
    files = (folder / "out").glob("[!.]*.json")
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return sorted(rows, key=lambda row: int(row["a"]))


@pytest.mark.parametrize("stream", ["s", "shared"])
@pytest.mark.parametrize(
    ("fields", "mode"),
    [
        ("_file AS f, a, b.c AS c", "copy"),  # beside a fragment that the decoder makes
        ("upper(_file) AS f, a, b.c AS c", "jobs"),
    ],
)
def test_pipelines_write_them(
    session: narrows.Session, folder: Path, stream: str, fields: str, mode: str
) -> None:
    session.execute(f"CREATE PIPELINE p INTO files AS SELECT {fields} FROM {stream} WHERE a > 0")
    expected_mode = "grouped" if stream == "shared" else mode
    (explained,) = session.execute("EXPLAIN PIPELINE p")
    assert f"- {expected_mode}" in str(explained)
    session.start("p", once=True).await_done(timeout=120)
    change = str.upper if mode == "jobs" else str
    assert _written(folder) == [
        {"f": change(_file(folder, a)), "a": a, "c": a * 10} for a in range(1, 5)
    ]
    letters = list(read_dead_letters(folder / "state" / "dead_letters" / stream))
    assert [letter["payload"] for letter in letters] == [BAD, BAD]


def test_pipelines_on_a_shared_stream_want_different_ones(
    session: narrows.Session, folder: Path
) -> None:
    session.execute(
        """
        CREATE PIPELINE named INTO rows AS SELECT a, _file AS f FROM shared;
        CREATE PIPELINE whole INTO files AS SELECT * FROM shared;
        """
    )
    session.start("named", "whole", once=True).await_done(timeout=120)
    named = sorted(session.rows("rows"), key=lambda row: int(row["a"]))
    assert named == [{"a": a, "f": _file(folder, a)} for a in range(5)]
    assert _written(folder) == [_row(a) for a in range(5)]
