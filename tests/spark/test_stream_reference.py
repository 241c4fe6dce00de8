"""Windows over random rows, in random files and micro-batches, equal a plain reference."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

import narrows
from support import stream_reference as reference

ROWS, FILES, LATENESS = 60, 3, 5


class Bid(NamedTuple):
    k: int
    a: int | None
    ts: int


Answer = list[tuple[int, int, int | None]]
"""Of each window the key, the number of rows, and the sum of `a`."""


@pytest.fixture(scope="module")
def bids() -> list[Bid]:
    chance = random.Random(11)
    values = (None, 1, 2, 3, 50)
    times = [1_000 + number // 2 + chance.randrange(LATENESS) for number in range(ROWS)]
    times = [time + 40 * (number >= ROWS // 2) for number, time in enumerate(times)]
    return [Bid(chance.randrange(3), chance.choice(values), time) for time in times]


@pytest.fixture(scope="module")
def session(
    spark: SparkSession, bids: list[Bid], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[narrows.Session]:
    folder = Path(tmp_path_factory.mktemp("bids"))
    chance = random.Random(12)
    cuts = [0, *sorted(chance.sample(range(1, ROWS), FILES - 1)), ROWS]
    (folder / "in").mkdir()
    for number in range(FILES):
        part = bids[cuts[number] : cuts[number + 1]]
        text = "".join(f"{json.dumps(bid._asdict())}\n" for bid in part)
        (folder / "in" / f"{number}.json").write_text(text, "utf-8")
    with narrows.connect(spark, state=folder / "state") as made:
        made.execute(
            f"CREATE STREAM s (k BIGINT, a BIGINT, ts BIGINT) WITH (connector = 'file',"
            f" path = '{folder}/in', max_files_per_trigger = 1,"
            f" eventtime = 'ts', eventtime_unit = 's', watermark = '{LATENESS} seconds')"
        )
        yield made


WINDOWS = {
    "tumblingwindow('ss', 7)": lambda rows: list(
        reference.tumbling_windows([row.time for row in rows], 7).values()
    ),
    "hoppingwindow('ss', 9, 4)": lambda rows: list(
        reference.tumbling_windows([row.time for row in rows], 9, 4).values()
    ),
    "sessionwindow('ss', 4)": lambda rows: list(
        reference.session_windows([row.time for row in rows], 4).values()
    ),
    "countwindow(4)": lambda rows: reference.count_windows(rows, 4),
    "slidingwindow('ss', 3, 2)": lambda rows: reference.sliding_windows(rows, 3, 2),
    "statewindow(a = 1, a = 3) OVER (PARTITION BY k)": reference.state_windows,
}


def expected(bids: Sequence[Bid], window: str) -> Answer:
    answer: Answer = []
    for key in sorted({bid.k for bid in bids}):
        mine = [bid for bid in bids if bid.k == key]
        rows = [reference.Row(bid.ts, bid.a == 1, bid.a == 3) for bid in mine]
        for numbers in WINDOWS[window](rows):
            values = [mine[number].a for number in numbers]
            present = [value for value in values if value is not None]
            answer.append((key, len(numbers), sum(present) if present else None))
    return sorted(answer, key=str)


def select(window: str) -> str:
    return f"SELECT k, count(*) AS n, sum(a) AS total FROM s GROUP BY k, {window}"


@pytest.mark.parametrize("window", WINDOWS)
def test_query(session: narrows.Session, bids: list[Bid], window: str) -> None:
    rows = [(row["k"], row["n"], row["total"]) for row in session.query(select(window)).collect()]
    assert sorted(rows, key=str) == expected(bids, window)


def test_pipeline(session: narrows.Session, bids: list[Bid]) -> None:
    window = "hoppingwindow('ss', 9, 4)"
    session.execute("CREATE SINK out WITH (connector = 'memory')")
    session.execute(f"CREATE PIPELINE p INTO out AS {select(window)}")
    session.start("p", once=True).await_done(timeout=300)
    rows = [(row["k"], row["n"], row["total"]) for row in session.rows("out")]
    assert sorted(rows, key=str) == expected(bids, window)
