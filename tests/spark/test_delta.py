"""A sink that writes what has changed, over a restart, against a reference of a few lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

import narrows

Row = Mapping[str, Any]

SQL = """
CREATE STREAM s (id BIGINT, k STRING, a BIGINT, b STRUCT<c: BIGINT>, t STRING)
  WITH (connector = 'file', path = '{folder}/in');
CREATE SINK news WITH (connector = 'file', path = '{folder}/news', mode = 'delta', delta_key = 'k',
  delta_columns = 'a, b', delta_mask = 'new', omit_if_empty = true);
CREATE PIPELINE p INTO news AS SELECT id, k, a, b, t FROM s WHERE id % 7 > 0;
"""


def _rows(count: int) -> list[Row]:
    choose = Random(7).choice
    return [
        {
            "id": number,
            "k": choose(("x", "y", None)),
            "a": choose((1, 1, 2, None)),
            "b": choose(({"c": 1}, {"c": 1}, {"c": None}, None)),
            "t": choose(("p", None)),
        }
        for number in range(count)
    ]


def _reference(rows: Sequence[Row], compared: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What is written of each row."""
    last: dict[object, Row] = {}
    for row in rows:
        before = last.get(row["k"])
        changed = [name for name in compared if before is None or before[name] != row[name]]
        last[row["k"]] = row
        if changed:
            kept = {name: row[name] for name in row if name not in compared or name in changed}
            yield {**kept, "new": ",".join(changed)}


def test_what_is_written_over_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    rows = _rows(120)
    (tmp_path / "in").mkdir()
    for first in (0, 60):
        lines = [json.dumps(row) for row in rows[first : first + 60]]
        (tmp_path / "in" / f"{first:03}.json").write_text("\n".join(lines), "utf-8")
        with narrows.connect(spark, state=tmp_path / "state") as session:
            session.execute(SQL.format(folder=tmp_path))
            session.start("p", once=True).await_done(timeout=300)
    expected = list(_reference([row for row in rows if row["id"] % 7], ("a", "b")))
    written = _written(tmp_path / "news")
    assert written == expected
    assert len(expected) < 100
    assert any(row.get("a", 0) is None for row in written)


def _written(folder: Path) -> list[dict[str, Any]]:
    files = [path for path in folder.iterdir() if path.suffix == ".json"]
    rows = [json.loads(line) for path in files for line in path.read_text("utf-8").splitlines()]
    return sorted(rows, key=lambda row: int(row["id"]))


WINDOWS = """
CREATE STREAM s (k STRING, at TIMESTAMP)
  WITH (connector = 'file', path = '{folder}/in', eventtime = 'at', watermark = '1 second');
CREATE SINK windows WITH (connector = 'memory', topic = 'windows');
CREATE PIPELINE count INTO windows AS SELECT k, count(*) AS n, window_start() AS began
  FROM s GROUP BY k, tumblingwindow('ss', 10) ORDER BY began PER BATCH;
CREATE STREAM w (k STRING, n BIGINT, began TIMESTAMP)
  WITH (connector = 'memory', topic = 'windows');
CREATE SINK news WITH (connector = 'memory', mode = 'delta', delta_key = 'k', delta_columns = 'n',
  omit_if_empty = true);
CREATE PIPELINE compare INTO news AS SELECT k, n, began FROM w;
"""


def test_what_has_changed_since_the_last_window(spark: SparkSession, tmp_path: Path) -> None:
    choose = Random(3).choice
    counts = {(k, w): choose((1, 1, 2, 3)) for w in range(40) for k in ("x", "y")}
    (tmp_path / "in").mkdir()
    with (tmp_path / "in" / "rows.json").open("w", encoding="utf-8") as file:
        for (k, window), count in counts.items():
            at = datetime(2024, 5, 1, tzinfo=UTC) + timedelta(seconds=10 * window)
            file.writelines(json.dumps({"k": k, "at": at.isoformat()}) + "\n" for _ in range(count))
    with narrows.connect(spark, state=tmp_path / "state") as session:
        session.execute(WINDOWS.format(folder=tmp_path))
        for pipeline in ("count", "compare"):
            session.start(pipeline, once=True).await_done(timeout=300)
        written = [(row["k"], row["n"]) for row in session.rows("news")]
    for key in ("x", "y"):
        of_key = [counts[key, window] for window in range(40)]
        news = [n for n, before in zip(of_key, [None, *of_key], strict=False) if n != before]
        assert [n for k, n in written if k == key] == news
