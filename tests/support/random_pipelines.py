"""Random pipelines over two streams and a table, from one seed: windows and functions that remember
rows above subqueries, unions, joins, other windows and generators (`pipeline_writer.py`).

Not every shape that comes out can be planned - two streams joined without a key, say -, and then
the planner has to say so: `make_pipelines` leaves those out, and counts them.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import narrows
from support.pipeline_writer import PLACE, STREAMS, TABLE, TIME, PipelineWriter

SCHEMA = (
    "k BIGINT, a BIGINT, s STRUCT<x: BIGINT, y: STRING, z: STRUCT<p: BIGINT, q: STRING>>,"
    " items ARRAY<STRUCT<u: BIGINT, w: STRING>>, id BIGINT, ts TIMESTAMP"
)


class Pipeline(NamedTuple):
    sql: str
    plain: str | None
    """The same in Spark's own words over `plain_views`, where there are such."""
    joins_streams: bool
    waits: bool
    """Does a query give rows that the pipeline keeps, to be matched some other time?"""


class Made(NamedTuple):
    pipelines: list[Pipeline]
    refused: int


def declarations(folder: str, *, watermark: str = "1 hour", shared: bool = False) -> str:
    """The streams, one of which gives changes only, the table and a sink."""
    changes = ", on_change = 's.x', on_change_by = 'k'"
    timed = f"eventtime = 'ts', watermark = '{watermark}', max_files_per_trigger = 1"
    timed += ", shared = true" * shared
    return f"""
        CREATE STREAM s1 ({SCHEMA})
          WITH (connector = 'file', path = '{folder}/s1', {timed});
        CREATE STREAM s2 ({SCHEMA})
          WITH (connector = 'file', path = '{folder}/s2', {timed}{changes});
        CREATE TABLE t ({SCHEMA}) WITH (connector = 'file', path = '{folder}/t');
        CREATE SINK out WITH (connector = 'memory');
        """


def plain_views() -> dict[str, str]:
    """The same as views in Spark's words, each over a view of the rows as they are written."""
    hidden = f"ts AS {TIME}, id AS {PLACE}"
    before = "OVER (PARTITION BY k ORDER BY id)"
    changes = f"(SELECT *, lag(s.x) {before} AS b, row_number() {before} AS n FROM s2_rows)"
    return {
        "s1": f"SELECT *, {hidden} FROM s1_rows",
        "s2": f"SELECT * EXCEPT (b, n), {hidden} FROM {changes} WHERE n = 1 OR NOT s.x <=> b",
        "t": f"SELECT *, {hidden} FROM t_rows",
    }


def make_rows(random: Random) -> dict[str, list[dict[str, Any]]]:
    """Rows of each source, with NULLs and keys that meet; times are all there, as they must be."""

    def number() -> int | None:
        return random.choice([None, 0, 1, 1, 2, 3])

    def text() -> str | None:
        return random.choice([None, "p", "p", "q"])

    def row(place: int, second: int) -> dict[str, Any]:
        nested = random.choice([None, {"p": number(), "q": text()}])
        items = [
            random.choice([None, {"u": number(), "w": text()}]) for _ in range(random.randint(0, 3))
        ]
        return {
            "k": number(),
            "a": number(),
            "s": random.choice([None, {"x": number(), "y": text(), "z": nested}]),
            "items": random.choice([None, items]),
            "id": place,
            "ts": f"2024-05-01T00:{second // 60:02d}:{second % 60:02d}Z",
        }

    rows = {}
    for name in (*STREAMS, TABLE):
        ahead = random.choice([0, 0, 7, 200]) if name in STREAMS else 0
        seconds = [ahead + n * 3 + random.randint(0, 4) for n in range(random.randint(4, 12))]
        rows[name] = [row(place, second) for place, second in enumerate(seconds)]
    return rows


def make_pipelines(random: Random, catalog: narrows.Catalog, wanted: int) -> Made:
    """So many queries that can be pipelines, and how many that were made beside them cannot."""
    made: list[Pipeline] = []
    refused = 0
    while len(made) < wanted:
        writer = PipelineWriter(random)
        ours, sparks = writer.pipeline()
        if _can_be_planned(ours, catalog):
            plain = sparks if writer.is_plain else None
            made.append(Pipeline(ours, plain, writer.joins_streams, writer.waits))
        else:
            refused += 1
            assert refused < 20 * wanted, "hardly anything can be planned"
    return Made(made, refused)


def _can_be_planned(sql: str, catalog: narrows.Catalog) -> bool:
    try:
        catalog.execute(f"CREATE OR REPLACE PIPELINE p INTO out AS {sql}")
    except narrows.NarrowsError as error:
        if error.code not in ("not_supported", "invalid_window", "misplaced_function"):
            raise
        return False
    return True
