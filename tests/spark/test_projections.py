"""Covering projections: a query reads the copy when it may, and never one that is old."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows

SCHEMA = "id BIGINT, day DATE, amount DECIMAL(10,2), note STRING, s STRUCT<x: INT, y: STRING>"
QUERY = "SELECT day, sum(amount) FROM sales WHERE day >= DATE '2026-02-01' GROUP BY day"


def _write(path: Path, first: int, last: int) -> None:
    rows = [
        {
            "id": i,
            "day": f"2026-{i % 3 + 1:02}-{i % 28 + 1:02}",
            "amount": i / 4,
            "note": f"note {i}",
            "s": {"x": i, "y": "y"},
        }
        for i in range(first, last)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def test_copies_are_read_while_they_are_true(small_data: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "sales"
    folder.mkdir()
    _write(folder / "a.json", 0, 300)
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        options = f"WITH (connector = 'file', path = '{folder}')"
        session.execute(f"CREATE TABLE sales ({SCHEMA}) {options}")
        before = _rows(session, QUERY)
        session.execute("CREATE PROJECTION by_day ON sales (day, amount, s) ORDER BY day")
        assert "projection=by_day" in _explained(session, QUERY)
        assert _rows(session, QUERY) == before

        wider = "SELECT note FROM sales WHERE day = DATE '2026-02-02'"
        assert "projection `by_day` is not read: it has no column `note`" in _explained(
            session, wider
        )
        nested = "SELECT s.x FROM sales WHERE day = DATE '2026-02-02'"
        assert "projection=by_day" in _explained(session, nested)
        assert len(_rows(session, nested)) == 4

        _write(folder / "b.json", 300, 400)
        text = _explained(session, QUERY)
        assert "projection=by_day" not in text
        assert "the files of `sales` have changed" in text
        after = _rows(session, QUERY)
        assert after != before

        session.execute("REFRESH PROJECTION by_day")
        assert "projection=by_day" in _explained(session, QUERY)
        assert _rows(session, QUERY) == after

        with pytest.raises(narrows.NarrowsError, match="exists already"):
            session.execute("CREATE PROJECTION by_day ON sales (day)")
        session.execute("DROP PROJECTION by_day")
        assert "by_day" not in _explained(session, QUERY)

        # A name is not a path, and has no case.
        session.execute("CREATE PROJECTION `../../By Day` ON sales (day, amount)")
        assert "projection=../../By Day" in _explained(session, QUERY)
        with pytest.raises(narrows.NarrowsError, match="exists already"):
            session.execute("CREATE PROJECTION `../../by day` ON sales (day)")
        session.execute("DROP PROJECTION `../../BY DAY`")
        assert list((tmp_path / "state" / "projections").iterdir()) == []
        with pytest.raises(narrows.NarrowsError, match="a name cannot be empty"):
            session.execute("CREATE PROJECTION `` ON sales (day)")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["sales", "state"]


def _rows(session: narrows.Session, sql: str) -> list[str]:
    return sorted(repr(row) for row in session.query(sql).collect())


def _explained(session: narrows.Session, sql: str) -> str:
    (text,) = session.execute(f"EXPLAIN {sql}")
    assert isinstance(text, str)
    return text
