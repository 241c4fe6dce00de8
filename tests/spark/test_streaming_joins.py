"""Streams joined with tables and with streams give the rows that a query over the files gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession

import narrows
from narrows.worker.keeping.steps import StepLog

PIPELINES = {
    "with_table": "SELECT v.id, p.title FROM views v LEFT JOIN pages p ON v.page = p.page",
    "with_stream": "SELECT v.id, c.page, c.n FROM views v JOIN clicks c ON v.id = c.id"
    " AND c.at BETWEEN v.at AND v.at + INTERVAL '10' MINUTE",
    "of_both": "SELECT id, page FROM views UNION ALL SELECT id, page FROM clicks"
    " WHERE page IN (SELECT page FROM pages WHERE title <> 'one')",
    # rows of windows are kept, and the subquery is asked when a window closes
    "in_windows": "SELECT v.page, count(DISTINCT CASE WHEN EXISTS (SELECT 1 FROM pages p WHERE"
    " p.page = v.page) THEN v.id END) AS n FROM views v GROUP BY v.page, tumblingwindow('mi', 20)",
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
        for side in range(2):
            last = StepLog(tmp_path / "state" / "remembered" / "both" / str(side)).last()
            assert last is not None
            assert sum(file.rows for file in last.files) <= 60


def test_rows_that_a_join_has_no_use_for_are_remembered(
    small_data: SparkSession, tmp_path: Path
) -> None:
    """Spark asks for no row of a stream that it joins with nothing; `lag` must see it all the
    same, for there may be something another time."""
    remembered = "(SELECT id, k, lag(id) OVER (PARTITION BY k) AS last FROM s) x"
    pipelines = {
        "joined": f"SELECT x.id, x.last FROM {remembered} JOIN t ON x.k = t.k WHERE t.used",
        "asked": f"SELECT x.id, x.last FROM {remembered}"
        " WHERE EXISTS (SELECT 1 FROM t WHERE t.k = x.k AND t.used)",
    }
    (tmp_path / "s").mkdir()
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        session.execute(
            "CREATE STREAM s (id BIGINT, k BIGINT)"
            f" WITH (connector = 'file', path = '{tmp_path / 's'}');"
            "CREATE TABLE t (k BIGINT, used BOOLEAN)"
            f" WITH (connector = 'file', path = '{tmp_path / 't'}')"
        )
        for name, query in pipelines.items():
            session.execute(f"CREATE SINK out_{name} WITH (connector = 'memory')")
            session.execute(f"CREATE PIPELINE {name} INTO out_{name} AS {query}")
        for run, used in enumerate((False, True)):
            (tmp_path / "t").mkdir(exist_ok=True)
            (tmp_path / "t" / "rows.json").write_text(json.dumps({"k": 1, "used": used}), "utf-8")
            rows = [{"id": 10 * run + number, "k": 1} for number in range(2)]
            lines = "\n".join(json.dumps(row) for row in rows)
            (tmp_path / "s" / f"{run}.json").write_text(lines, "utf-8")
            session.start(*pipelines, once=True).await_done(timeout=300)
        for name in pipelines:
            found = sorted((row["id"], row["last"]) for row in session.rows(f"out_{name}"))
            assert found == [(10, 1), (11, 10)]


WINDOWS = {
    # The watermark follows `slow`, and windows of `fast` are far ahead of it.
    "ahead": "SELECT f.k, count(*) AS n, window_start() AS w FROM fast f JOIN slow s ON f.k = s.k"
    " GROUP BY f.k, tumblingwindow('mi', 1)",
    # Rows without a match come when the watermark has passed the bound; then their windows close.
    "waiting": "SELECT f.k, count(s.k) AS n, window_start() AS w FROM fast f LEFT JOIN slow s"
    " ON f.k = s.k AND s.ts BETWEEN f.ts AND f.ts + INTERVAL '10' MINUTE"
    " GROUP BY f.k, sessionwindow('ss', 45)",
    "together": "SELECT x.k, count(*) AS n, window_start() AS w FROM (SELECT k FROM fast UNION ALL"
    " SELECT k FROM slow) x GROUP BY x.k, tumblingwindow('mi', 1)",
    # Windows of one stream beside the other.
    "beside": "SELECT x.k, x.n, x.w FROM (SELECT k, count(*) AS n, window_start() AS w FROM fast"
    " GROUP BY k, hoppingwindow('mi', 2, 1)) x JOIN slow s ON x.k = s.k",
}


def test_windows_above_two_streams_close_at_the_end(
    small_data: SparkSession, tmp_path: Path
) -> None:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    for name, rows, seconds in (("fast", 40, 60), ("slow", 15, 20)):
        times = [(began + timedelta(seconds=i * seconds)).isoformat() for i in range(rows)]
        _write(tmp_path / name, [{"k": i % 5, "ts": time} for i, time in enumerate(times)])
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        for name in ("fast", "slow"):
            session.execute(
                f"CREATE STREAM {name} (k BIGINT, ts TIMESTAMP) WITH (connector = 'file',"
                f" path = '{tmp_path / name}', eventtime = 'ts', watermark = '30 seconds')"
            )
        for name, query in WINDOWS.items():
            session.execute(f"CREATE SINK out_{name} WITH (connector = 'memory')")
            session.execute(f"CREATE PIPELINE {name} INTO out_{name} AS {query}")
        # What is open stays open, and is known to be by the run that closes it.
        session.start(*WINDOWS, once=True, close_windows=False).await_done(timeout=300)
        session.start(*WINDOWS, once=True).await_done(timeout=300)
        for name, query in WINDOWS.items():
            expected = [(row.k, row.n, row.w) for row in session.query(query).collect()]
            written = [
                (row["k"], row["n"], datetime.fromisoformat(str(row["w"])))
                for row in session.rows(f"out_{name}")
            ]
            assert expected
            assert sorted((k, n, _utc(w)) for k, n, w in written) == sorted(
                (k, n, _utc(w)) for k, n, w in expected
            )


def _utc(time: datetime) -> datetime:
    return time.astimezone(UTC)


def _sorted(rows: list[dict[str, object]]) -> list[str]:
    return sorted(json.dumps(row) for row in rows)
