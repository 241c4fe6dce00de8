"""Queries in the manner of NEXMark, against the same logic written by hand in PySpark.

    python bench/nexmark.py [--events 1000000] [--repeats 3] [--queries filter,tumbling]

People, auctions and bids come as nested JSON in one stream; the generator is ours. The other side
is what people write: `from_json` with the full schema, then the DataFrame API. Both run as
streaming queries over the same files in one Spark session, in turns, into the same kind of sink
(lines of JSON in files), and the rows that they write are compared. On both sides one micro-batch
reads all files; state store and shuffle partitions are the same. Times are those of a whole run,
start and end included: with few events that is all there is to see.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import narrows
import report

FILES = 4
SCHEMA = (
    "kind STRING, at BIGINT,"
    " person STRUCT<id: BIGINT, name: STRING, email: STRING, card: STRING, city: STRING,"
    "   state: STRING, extra: STRING>,"
    " auction STRUCT<id: BIGINT, item: STRING, description: STRING, initial: BIGINT,"
    "   reserve: BIGINT, expires: BIGINT, seller: BIGINT, category: BIGINT, extra: STRING>,"
    " bid STRUCT<auction: BIGINT, bidder: BIGINT, price: BIGINT, channel: STRING, url: STRING,"
    "   extra: STRING>"
)
WORDS = ("lantern", "harbour", "violet", "engine", "meadow", "copper", "signal", "winter")
STATES = ("OR", "ID", "CA", "WA", "NY")
START = 1_700_000_000_000


def event(number: int, chance: random.Random) -> dict[str, object]:
    """One of fifty events is a person, three are auctions, all others are bids."""
    at = START + number * 10 - chance.randrange(500)
    extra = " ".join(chance.choices(WORDS, k=12))
    turn = number % 50
    if turn == 0:
        name = " ".join(chance.choices(WORDS, k=2))
        person = {
            "id": number // 50,
            "name": name,
            "email": f"{name.replace(' ', '.')}@example.org",
            "card": f"{chance.randrange(10**16):016d}",
            "city": chance.choice(WORDS),
            "state": chance.choice(STATES),
            "extra": extra,
        }
        return {"kind": "person", "at": at, "person": person}
    if turn in (1, 2, 3):
        auction = {
            "id": number // 50 * 3 + turn,
            "item": " ".join(chance.choices(WORDS, k=3)),
            "description": " ".join(chance.choices(WORDS, k=20)),
            "initial": chance.randrange(1000),
            "reserve": chance.randrange(1000, 5000),
            "expires": at + chance.randrange(60_000),
            "seller": chance.randrange(number // 50 + 1),
            "category": chance.randrange(10),
            "extra": extra,
        }
        return {"kind": "auction", "at": at, "auction": auction}
    bid = {
        "auction": chance.randrange(number // 50 * 3 + 1),
        "bidder": chance.randrange(number // 50 + 1),
        "price": chance.randrange(100, 100_000),
        "channel": chance.choice(WORDS),
        "url": f"https://example.org/{chance.choice(WORDS)}/{number}",
        "extra": extra,
    }
    return {"kind": "bid", "at": at, "bid": bid}


def write_events(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    chance = random.Random(7)
    for part in range(FILES):
        with (folder / f"{part}.json").open("w", encoding="utf-8") as file:
            for number in range(part * count // FILES, (part + 1) * count // FILES):
                file.write(json.dumps(event(number, chance)) + "\n")


@dataclass(frozen=True)
class Query:
    """The same question in SQL and by hand, on rows that `from_json` made."""

    name: str
    sql: str
    by_hand: Callable[[DataFrame], DataFrame]
    windowed: bool = False


def _bids(rows: DataFrame) -> DataFrame:
    return rows.where("kind = 'bid'")


def _timed(rows: DataFrame) -> DataFrame:
    return rows.withColumn("time", F.timestamp_millis("at")).withWatermark("time", "1 second")


QUERIES = (
    Query(
        "pass-through",
        "SELECT bid->auction AS auction, bid->bidder AS bidder, bid->price AS price, at"
        " FROM plain WHERE kind = 'bid'",
        lambda rows: _bids(rows).select("bid.auction", "bid.bidder", "bid.price", "at"),
    ),
    Query(
        "currency map",
        "SELECT bid->auction AS auction, bid->price * 0.908 AS euros FROM plain WHERE kind = 'bid'",
        lambda rows: _bids(rows).selectExpr("bid.auction", "bid.price * 0.908 AS euros"),
    ),
    Query(
        "filter",
        "SELECT bid->auction AS auction, bid->price AS price FROM plain"
        " WHERE kind = 'bid' AND bid->auction % 123 = 0",
        lambda rows: _bids(rows).where("bid.auction % 123 = 0").select("bid.auction", "bid.price"),
    ),
    Query(
        "stream-stream join",
        "SELECT a.auction->id AS id, a.auction->category AS category, b.bid->price AS price"
        " FROM plain AS a JOIN plain AS b ON a.auction->id = b.bid->auction"
        " WHERE a.kind = 'auction' AND b.kind = 'bid' AND b.bid->price > 90000",
        lambda rows: (
            rows.where("kind = 'auction'")
            .select("auction.id", "auction.category")
            .join(
                _bids(rows).where("bid.price > 90000").select("bid.auction", "bid.price"),
                F.expr("id = auction"),
            )
            .select("id", "category", "price")
        ),
    ),
    Query(
        "tumbling count",
        "SELECT bid->auction AS auction, count(*) AS n, window_start() AS since FROM events"
        " WHERE kind = 'bid' GROUP BY bid->auction, tumblingwindow('ss', 60)",
        lambda rows: (
            _bids(_timed(rows))
            .groupBy(F.col("bid.auction"), F.window("time", "60 seconds"))
            .agg(F.count("*").alias("n"))
            .select("auction", "n", F.col("window.start").alias("since"))
        ),
        windowed=True,
    ),
    Query(
        "hopping maximum",
        "SELECT max(bid->price) AS most, window_start() AS since FROM events"
        " WHERE kind = 'bid' GROUP BY hoppingwindow('ss', 60, 20)",
        lambda rows: (
            _bids(_timed(rows))
            .groupBy(F.window("time", "60 seconds", "20 seconds"))
            .agg(F.max("bid.price").alias("most"))
            .select("most", F.col("window.start").alias("since"))
        ),
        windowed=True,
    ),
    Query(
        "session of bidders",
        "SELECT bid->bidder AS bidder, count(*) AS n, window_end() AS until FROM events"
        " WHERE kind = 'bid' GROUP BY bid->bidder, sessionwindow('ss', 10)",
        lambda rows: (
            _bids(_timed(rows))
            .groupBy(F.col("bid.bidder"), F.session_window("time", "10 seconds").alias("w"))
            .agg(F.count("*").alias("n"))
            .select("bidder", "n", F.col("w.end").alias("until"))
        ),
        windowed=True,
    ),
    Query(
        "sums by channel",
        "SELECT bid->channel AS channel, count(*) AS n, sum(bid->price) AS total,"
        " avg(bid->price) AS mean, window_start() AS since FROM events WHERE kind = 'bid'"
        " GROUP BY bid->channel, tumblingwindow('ss', 60)",
        lambda rows: (
            _bids(_timed(rows))
            .groupBy(F.col("bid.channel"), F.window("time", "60 seconds"))
            .agg(
                F.count("*").alias("n"),
                F.sum("bid.price").alias("total"),
                F.avg("bid.price").alias("mean"),
            )
            .select("channel", "n", "total", "mean", F.col("window.start").alias("since"))
        ),
        windowed=True,
    ),
    Query(
        "windowed top",
        "SELECT max_by(bid->auction, bid->price) AS auction, max(bid->price) AS price,"
        " window_start() AS since FROM events WHERE kind = 'bid'"
        " GROUP BY tumblingwindow('ss', 10)",
        lambda rows: (
            _bids(_timed(rows))
            .groupBy(F.window("time", "10 seconds"))
            .agg(
                F.max_by("bid.auction", "bid.price").alias("auction"),
                F.max("bid.price").alias("price"),
            )
            .select("auction", "price", F.col("window.start").alias("since"))
        ),
        windowed=True,
    ),
)


def main() -> None:
    options = report.options(__doc__, events=1_000_000, repeats=3, queries="").parse_args()
    wanted = [name.strip() for name in options.queries.split(",") if name.strip()]
    queries = [q for q in QUERIES if not wanted or any(q.name.startswith(w) for w in wanted)]
    with tempfile.TemporaryDirectory(prefix="narrows-nexmark-") as temporary:
        folder = Path(temporary)
        write_events(folder / "in", options.events)
        with narrows.connect(state=folder / "state") as session:
            _declare(session, folder, queries)
            print("| query | Narrows rows/s | by hand rows/s | times faster | rows out |")
            print("|---|---|---|---|---|")
            rows = [
                _measure(session, folder, query, number, options)
                for number, query in enumerate(queries)
            ]
    print()
    report.publish(rows, options.json)


def _declare(session: narrows.Session, folder: Path, queries: list[Query]) -> None:
    source = f"connector = 'file', path = '{folder}/in'"
    time = "eventtime = 'at', eventtime_unit = 'ms', watermark = '1 second'"
    session.execute(
        f"CREATE STREAM plain ({SCHEMA}) WITH ({source});"
        f"CREATE STREAM events ({SCHEMA}) WITH ({source}, {time})"
    )
    for number, query in enumerate(queries):
        session.execute(
            f"CREATE SINK s{number} WITH (connector = 'file', path = '{folder}/ours{number}');"
            f"CREATE PIPELINE p{number} INTO s{number} AS {query.sql}"
        )


def _measure(
    session: narrows.Session,
    folder: Path,
    query: Query,
    number: int,
    options: argparse.Namespace,
) -> report.Row:
    ours: list[float] = []
    theirs: list[float] = []
    for turn in range(options.repeats + 1):
        first, second = _ours(session, folder, number), _theirs(session.spark, folder, query)
        if turn:  # the first turn warms up
            ours.append(first)
            theirs.append(second)
    mine, other = _rows(folder / f"ours{number}"), _rows(folder / "theirs")
    # By hand the windows that are open at the end are never written: ours has these, and more.
    assert other <= mine, query.name
    assert mine == other or query.windowed, query.name
    our_rate = options.events / statistics.median(ours)
    their_rate = options.events / statistics.median(theirs)
    print(
        f"| {query.name} | {our_rate:,.0f} | {their_rate:,.0f} | {our_rate / their_rate:.2f}"
        f" | {len(mine):,} |",
        flush=True,
    )
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    return report.Row(
        f"NEXMark, {query.name}",
        "by hand with from_json",
        our_rate,
        their_rate,
        unit="rows/s",
        lowest=min(ratios),
        highest=max(ratios),
    )


def _ours(session: narrows.Session, folder: Path, number: int) -> float:
    session.state.reset(f"p{number}")
    shutil.rmtree(folder / f"ours{number}", ignore_errors=True)
    started = time.perf_counter()
    session.start(f"p{number}", once=True).await_done()
    return time.perf_counter() - started


def _theirs(spark: SparkSession, folder: Path, query: Query) -> float:
    for part in ("theirs", "checkpoint"):
        shutil.rmtree(folder / part, ignore_errors=True)
    started = time.perf_counter()
    lines = spark.readStream.text(str(folder / "in"))
    rows = lines.select(F.from_json("value", SCHEMA).alias("row")).select("row.*")
    written = query.by_hand(rows).select(F.to_json(F.struct("*")).alias("value"))
    (
        written.writeStream.format("text")
        .outputMode("append")
        .option("path", str(folder / "theirs"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )
    return time.perf_counter() - started


def _rows(folder: Path) -> set[str]:
    files = [path for path in folder.glob("[!._]*") if path.is_file()]
    lines = (line for path in files for line in path.read_text("utf-8").splitlines())
    return {json.dumps(json.loads(line), sort_keys=True) for line in lines}


if __name__ == "__main__":
    main()
