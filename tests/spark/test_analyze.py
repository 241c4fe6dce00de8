"""ANALYZE TABLE and EXPLAIN ANALYZE: what is counted is what is there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.catalog.describe import ResultTable

ORDERS = "CREATE TABLE orders (id BIGINT, customer BIGINT, note STRING, s STRUCT<x: INT, y: INT>)"
CUSTOMERS = "CREATE TABLE customers (id BIGINT, name STRING)"


@pytest.fixture
def session(small_data: SparkSession, tmp_path: Path) -> Iterator[narrows.Session]:
    for table in ("orders", "customers"):
        (tmp_path / table).mkdir()
    orders = [
        {"id": i, "customer": i % 5, "note": "four" if i % 4 else None, "s": {"x": i, "y": 1}}
        for i in range(100)
    ]
    _write(tmp_path / "orders" / "a.json", orders)
    _write(tmp_path / "customers" / "a.json", [{"id": i, "name": f"n{i}"} for i in range(5)])
    session = narrows.connect(small_data, state=tmp_path / "state")
    _declare(session, tmp_path)
    yield session
    session.close()


def _write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def _declare(session: narrows.Session, folder: Path) -> None:
    for statement in (ORDERS, CUSTOMERS):
        table = statement.split()[2]
        session.execute(f"{statement} WITH (connector = 'file', path = '{folder / table}')")


def _statistics(session: narrows.Session) -> dict[str, str]:
    (answer,) = session.execute("DESCRIBE TABLE orders")
    assert isinstance(answer, ResultTable)
    return {name: value for name, value in answer.rows if name.startswith("STATISTICS")}


def test_analyze_table_counts_and_keeps(session: narrows.Session, tmp_path: Path) -> None:
    assert _statistics(session) == {}
    session.execute("ANALYZE TABLE orders COMPUTE STATISTICS")
    counted = _statistics(session)
    assert counted["STATISTICS rows"] == "100"
    assert counted["STATISTICS customer"] == "8.0 bytes, 5 distinct, 0.0% NULL"
    assert counted["STATISTICS note"] == "4.0 bytes, 1 distinct, 25.0% NULL"

    again = narrows.connect(session.spark, state=tmp_path / "state")
    _declare(again, tmp_path)
    assert _statistics(again) == counted

    _write(tmp_path / "orders" / "b.json", [{"id": 1}])
    changed = narrows.connect(session.spark, state=tmp_path / "state")
    _declare(changed, tmp_path)
    assert _statistics(changed) == {}, "figures of other files are no figures"


def test_explain_analyze_tells_what_was_read(session: narrows.Session) -> None:
    sql = (
        "SELECT c.name, count(*) FROM orders o JOIN customers c ON o.customer = c.id"
        " WHERE o.s.x < 50 GROUP BY c.name"
    )
    (text,) = session.execute(f"EXPLAIN ANALYZE {sql}")
    assert isinstance(text, str)
    assert "- result: 5 rows" in text
    read = next(line for line in text.splitlines() if line.startswith("- source orders AS o"))
    assert "ships 1 of 4 columns, decoded 2 of 5 leaves, 100 rows read, 50 shipped" in read
    sizes = re.search(r"(\d+) B of Arrow out \(about (\d+) kB without pruning\)", read)
    assert sizes is not None, read
    assert int(sizes[1]) < 1000 * int(sizes[2])
    assert "- shuffle of Join: about 50 rows" in text
    assert "- memory: about" in text
