"""Streams joined with tables and with streams give the rows that a query over the files gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession

import narrows

PIPELINES = {
    "with_table": "SELECT v.id, p.title FROM views v LEFT JOIN pages p ON v.page = p.page",
    "with_stream": "SELECT v.id, c.page, c.n FROM views v JOIN clicks c ON v.id = c.id"
    " AND c.at BETWEEN v.at AND v.at + INTERVAL '10' MINUTE",
    "of_both": "SELECT id, page FROM views UNION ALL SELECT id, page FROM clicks"
    " WHERE page IN (SELECT page FROM pages WHERE title <> 'one')",
}


def _write(folder: Path, rows: Sequence[Mapping[str, object]]) -> None:
    folder.mkdir()
    lines = "\n".join(json.dumps(row) for row in rows)
    (folder / "rows.json").write_text(lines, encoding="utf-8")


def test_like_queries(small_data: SparkSession, tmp_path: Path) -> None:
    at = "2026-01-01T10:{:02}:00Z"
    views = [{"id": i, "page": f"p{i % 4}", "at": at.format(i), "more": "x"} for i in range(30)]
    clicks = [
        {"id": i, "page": f"p{i % 3}", "at": at.format(min(i * 2, 59)), "n": i} for i in range(30)
    ]
    pages = [{"page": "p1", "title": "one"}, {"page": "p2", "title": "two"}]
    for name, rows in (("views", views), ("clicks", clicks), ("pages", pages)):
        _write(tmp_path / name, rows)
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        for name, column in (("views", "more STRING"), ("clicks", "n BIGINT")):
            session.execute(
                f"CREATE STREAM {name} (id BIGINT, page STRING, at TIMESTAMP, {column}) WITH"
                f" (connector = 'file', path = '{tmp_path / name}', eventtime = 'at',"
                " watermark = '1 hour')"
            )
        session.execute(
            "CREATE TABLE pages (page STRING, title STRING)"
            f" WITH (connector = 'file', path = '{tmp_path / 'pages'}')"
        )
        for name, query in PIPELINES.items():
            session.execute(f"CREATE SINK out_{name} WITH (connector = 'memory')")
            session.execute(f"CREATE PIPELINE {name} INTO out_{name} AS {query}")
        session.start(*PIPELINES, once=True).await_done(timeout=300)
        for name, query in PIPELINES.items():
            expected = [row.asDict() for row in session.query(query).collect()]
            assert expected
            assert _sorted(session.rows(f"out_{name}")) == _sorted(expected)


def test_rows_that_are_too_old_for_a_match_go(small_data: SparkSession, tmp_path: Path) -> None:
    """Five files of each stream, twenty seconds each. A row of the left one waits ten seconds for a
    match, by the watermark; without one it is written by itself, and is kept no longer."""
    began = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [{"id": i, "at": (began + timedelta(seconds=i)).isoformat()} for i in range(100)]
    for name, every in (("l", 1), ("r", 2)):
        (tmp_path / name).mkdir()
        for first in range(0, 100, 20):
            lines = "\n".join(json.dumps(row) for row in rows[first : first + 20 : every])
            (tmp_path / name / f"{first:03}.json").write_text(lines, "utf-8")
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        for name in ("l", "r"):
            session.execute(
                f"CREATE STREAM {name} (id BIGINT, at TIMESTAMP) WITH (connector = 'file',"
                f" path = '{tmp_path / name}', max_files_per_trigger = 1, eventtime = 'at',"
                " watermark = '5 seconds')"
            )
        session.execute(
            "CREATE SINK both WITH (connector = 'memory');"
            "CREATE PIPELINE both INTO both AS SELECT l.id, r.id AS found FROM l LEFT JOIN r"
            " ON l.id = r.id AND r.at BETWEEN l.at AND l.at + INTERVAL '10' SECOND"
        )
        session.start("both", once=True).await_done(timeout=600)
        found = [(row["id"], row["found"]) for row in session.rows("both")]
        assert sorted(pair for pair in found if pair[1] is not None) == [
            (i, i) for i in range(0, 100, 2)
        ]
        by_itself = [i for i, match in found if match is None]
        # The watermark is at most that of the last batch but one; what is younger waits on.
        assert sorted(by_itself) == list(range(1, len(by_itself) * 2, 2))
        assert len(by_itself) * 2 >= 50
        for side in ("left", "right"):
            kept = small_data.read.format("statestore").option("joinSide", side)
            folder = tmp_path / "state" / "checkpoints" / "both"
            assert kept.load(str(folder)).count() <= 60


def _sorted(rows: list[dict[str, object]]) -> list[str]:
    return sorted(json.dumps(row) for row in rows)
