"""Pipelines over the toy connector on Spark, run where its package is installed.

`python toy_run.py` prints what became of them, as JSON.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import narrows
from narrows.worker.dead_letters import read_dead_letters

SQL = """
CREATE STREAM events (t BIGINT, k STRING, v BIGINT)
WITH (connector = 'sqlite', path = 'in.db', max_payloads_per_trigger = 3);
CREATE STREAM shared (t BIGINT, k STRING, v BIGINT)
WITH (connector = 'sqlite', path = 'in.db', shared = true, max_payloads_per_trigger = 4,
  eventtime = 't', eventtime_unit = 's');
CREATE STREAM numbered (k STRING)
WITH (connector = 'sqlite', path = 'in.db', eventtime = '_id', eventtime_unit = 's');
CREATE TABLE whole (t BIGINT, k STRING, v BIGINT) WITH (connector = 'sqlite', path = 'in.db');

CREATE SINK out WITH (connector = 'sqlite', path = 'out.db');
CREATE PIPELINE copied INTO out AS SELECT k, v FROM events WHERE v >= 2;
CREATE PIPELINE computed INTO out AS SELECT upper(k) AS k, v * 2 AS v FROM events;
CREATE PIPELINE plain INTO out AS SELECT v, _id FROM shared WHERE k = 'a';
CREATE PIPELINE sums INTO out AS SELECT v, acc_sum(v) AS sum FROM shared;
CREATE PIPELINE windows INTO out AS
  SELECT k, count(*) AS n FROM shared GROUP BY k, tumblingwindow('ss', 10);
CREATE PIPELINE arrivals INTO out AS
  SELECT count(*) AS n, max(_id) AS last FROM numbered GROUP BY tumblingwindow('ss', 5);
"""
PIPELINES = ("copied", "computed", "plain", "sums", "windows", "arrivals")


def insert(*payloads: str) -> None:
    with closing(sqlite3.connect("in.db")) as database, database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS payloads (id INTEGER PRIMARY KEY, payload BLOB)"
        )
        rows = [(payload.encode(),) for payload in payloads]
        database.executemany("INSERT INTO payloads (payload) VALUES (?)", rows)


def event(v: int) -> str:
    return json.dumps({"t": v, "k": "ab"[v % 2], "v": v})


def written() -> dict[str, list[Any]]:
    with closing(sqlite3.connect("out.db")) as database:
        found = database.execute("SELECT pipeline, row FROM written").fetchall()
    rows = [(pipeline, json.loads(row)) for pipeline, row in found]
    return {p: sorted((r for q, r in rows if p == q), key=json.dumps) for p in PIPELINES}


def session() -> narrows.Session:
    made = narrows.connect(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"})
    made.execute(SQL)
    return made


def main() -> None:
    insert(*map(event, range(5)), '{"v": ', *map(event, range(5, 8)))
    first = session()
    first.start(*PIPELINES, once=True).await_done(timeout=600)
    told: dict[str, Any] = {"first": written()}
    first.state.unlock()  # as if the process had ended here

    insert(*map(event, range(20, 23)))
    again = session()
    run = again.start(*PIPELINES, once=True).await_done(timeout=600)
    queried = again.query("SELECT k, count(*), sum(v) FROM whole GROUP BY k ORDER BY k").collect()
    letters = [*read_dead_letters(Path(".narrows/dead_letters/events"))]
    told |= {
        "second": written(),
        "queried": [tuple(row) for row in queried],
        "letters": letters,
        "progress": run.progress,
    }
    print(json.dumps(told))
    again.close()


if __name__ == "__main__":
    main()
