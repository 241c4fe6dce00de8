"""Sources of every format, compressed files, and payloads that are as broken as can be."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.worker.dead_letters import read_dead_letters


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Iterator[narrows.Session]:
    made = narrows.connect(spark, state=tmp_path / "state")
    yield made
    made.close()


def _rows(session: narrows.Session, sql: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in session.query(sql).collect())


def test_parquet_as_table_and_stream(session: narrows.Session, tmp_path: Path) -> None:
    items = [[{"x": i, "y": "a"}] * i for i in range(4)]
    table = pa.table({"a": range(4), "b": [{"c": i * 10, "items": items[i]} for i in range(4)]})
    (tmp_path / "in").mkdir()
    pyarrow.parquet.write_table(table, tmp_path / "in" / "one.parquet", row_group_size=2)
    schema = "a BIGINT, b STRUCT<c: BIGINT, items: ARRAY<STRUCT<x: BIGINT, y: STRING>>>"
    for kind in ("TABLE", "STREAM"):
        session.execute(
            f"CREATE {kind} p_{kind} ({schema})"
            f" WITH (connector = 'file', path = '{tmp_path}/in', format = 'parquet')"
        )
        sql = f"SELECT a, b->items[1]->x, size(b->items) FROM p_{kind} WHERE b->c >= 10"
        assert _rows(session, sql) == [(1, None, 1), (2, 2, 2), (3, 3, 3)]


def test_csv_with_header_and_text(session: narrows.Session, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("n;a\nx;1\ny;2\nz;oops\n;4;5\n", "utf-8")
    session.execute(
        f"""
        CREATE TABLE c (a BIGINT, n STRING) WITH (connector = 'file', path = '{tmp_path}/one.csv',
          format = 'csv', header = true, delimiter = ';');
        CREATE TABLE t (line STRING) WITH (connector = 'file', path = '{tmp_path}/one.csv',
          format = 'text');
        """
    )
    assert sorted(_rows(session, "SELECT n, a FROM c"), key=str) == [
        ("x", 1),
        ("y", 2),
        ("z", None),
    ]
    assert _rows(session, "SELECT count(*), max(length(line)) FROM t") == [(5, 6)]


def test_compressed_files(session: narrows.Session, tmp_path: Path) -> None:
    lines = "".join(json.dumps({"a": i}) + "\n" for i in range(100)).encode()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.json.gz").write_bytes(gzip.compress(lines))
    with pa.CompressedOutputStream(str(tmp_path / "in" / "two.json.zst"), "zstd") as file:
        file.write(lines)
    session.execute(f"CREATE STREAM z (a BIGINT) WITH (connector='file', path='{tmp_path}/in')")
    assert _rows(session, "SELECT count(*), sum(a) FROM z") == [(200, 9900)]


def test_a_table_that_is_not_there(session: narrows.Session, tmp_path: Path) -> None:
    session.execute(f"CREATE TABLE no (a INT) WITH (connector='file', path='{tmp_path}/none')")
    with pytest.raises(narrows.NarrowsError, match="there is no file or folder"):
        session.query("SELECT a FROM no")


GOOD = [
    b'{"a": 1, "s": "plain"}',
    b'{"a": 2, "s": "\\ud800 lone surrogate"}',
    b'{"a": 3, "huge": 123456789012345678901234567890123456789}',
    b'{"a": 4, "huge": 1e400}',
    b'{"a": 5, "s": "' + b"x" * 10_000_000 + b'"}',
    b'{"a": 6, "deep": ' + b"[" * 900 + b"]" * 900 + b"}",
    b'{"a": 7, "a": 99}',
    b'   {"a": 8}   ',
    b"\xef\xbb\xbf" + b'{"a": 9}',
]
BAD = [
    b'{"a": 1',
    b'{"a": NaN}',
    b'{"a": 1,}',
    b'{"a": "\xff\xfe"}',
    b"null",
    b"17",
    b'"text"',
    b"[1, 2]",
    b'{"a": 1} {"a": 2}',
    b"{'a': 1}",
    b'{"a": "tab\there"}',
    b"\x00",
]


def test_the_malformed_corpus(session: narrows.Session, tmp_path: Path) -> None:
    mixed = [line for pair in zip(BAD, [*GOOD, b"", b" ", b"\t"], strict=True) for line in pair]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bad.json").write_bytes(b"\n".join(mixed) + b"\n")
    session.execute(
        f"CREATE STREAM w (a BIGINT, s STRING) WITH (connector='file', path='{tmp_path}/in')"
    )
    assert _rows(session, "SELECT a FROM w") == [(i,) for i in range(1, 10)]
    letters = list(read_dead_letters(tmp_path / "state" / "dead_letters" / "w"))
    assert len(letters) == len(BAD)
    assert all(letter["reason"] for letter in letters)
    data = (tmp_path / "in" / "bad.json").read_bytes()
    for letter, payload in zip(letters, BAD, strict=True):
        assert data[letter["offset"] :].startswith(payload)
