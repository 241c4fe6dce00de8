"""Topics of a real MQTT broker on Spark: to files, with a pause in between, and to topics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import narrows
from mosquitto_broker import Mosquitto
from support.mosquitto import Publisher, Subscriber, new_topic
from support.waiting import await_that


def messages(first: int, end: int) -> list[bytes]:
    return [json.dumps({"n": n, "deep": {"a": -n}}).encode() for n in range(first, end)]


def output(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.glob("[!.]*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_nothing_is_missing_after_a_pause(
    spark: SparkSession, tmp_path: Path, mosquitto: Mosquitto
) -> None:
    """Two pipelines, one of them on a shared stream; levels of the topic and other metadata are
    columns. What is published while nobody runs comes later, and a query sees what is there."""
    topic = new_topic()
    broker = f"connector = 'mqtt', broker = '{mosquitto.address}', dedupe_by = 'n'"
    sql = f"""
        CREATE STREAM s (n BIGINT, deep STRUCT<a: BIGINT>) WITH ({broker}, topic = '{topic}/+/x');
        CREATE STREAM t (n BIGINT) WITH ({broker}, topic = '{topic}/#', shared = true);
        CREATE SINK one WITH (connector = 'file', path = '{tmp_path}/one');
        CREATE SINK two WITH (connector = 'file', path = '{tmp_path}/two');
        CREATE PIPELINE p INTO one AS SELECT n, deep->a AS a, split(_topic, '/')[2] AS site FROM s;
        CREATE PIPELINE q INTO two AS SELECT n * 10 AS n, _qos AS qos, _retained AS kept FROM t
    """

    def numbers(name: str) -> list[int]:
        return sorted(row["n"] for row in output(tmp_path / name))

    def run_until(session: narrows.Session, wanted: list[int], warm_up: bytes) -> None:
        session.execute(sql)
        run = session.start("p", "q", trigger="100 milliseconds")

        def is_subscribed() -> bool:
            publisher.put(f"{topic}/north/x", [warm_up])  # once is enough, if anybody is there
            return wanted[0] in numbers("one") and 10 * wanted[0] in numbers("two")

        await_that(is_subscribed, "both have subscribed")
        publisher.put(f"{topic}/north/x", messages(wanted[-100], wanted[-1] + 1))
        publisher.put(f"{topic}/north/x", messages(wanted[-10], wanted[-1] + 1))
        await_that(lambda: numbers("one") == wanted, "all is there")
        await_that(lambda: numbers("two") == [10 * n for n in wanted], "here, too")
        run.stop()

    with Publisher(mosquitto.port) as publisher:
        with narrows.connect(spark, state=tmp_path / "state") as session:
            run_until(session, [*range(100)], messages(0, 1)[0])
        publisher.put(f"{topic}/south/x", messages(100, 200))
        with narrows.connect(spark, state=tmp_path / "state") as session:
            run_until(session, [*range(300)], messages(0, 1)[0])
            (row,) = session.query("SELECT max(n) AS last, min(_topic) AS t FROM s").collect()
            assert (row["last"], row["t"]) == (299, f"{topic}/north/x")
    rows = {row["n"]: row for row in output(tmp_path / "one")}
    assert rows[7] == {"n": 7, "a": -7, "site": "north"}
    assert rows[107]["site"] == "south"
    assert {(row["qos"], row["kept"]) for row in output(tmp_path / "two")} == {(1, False)}


def test_topic_to_topic(spark: SparkSession, tmp_path: Path, mosquitto: Mosquitto) -> None:
    topic = new_topic()
    sql = f"""
        CREATE STREAM s (n BIGINT) WITH (connector = 'mqtt', broker = '{mosquitto.address}',
          topic = '{topic}/in');
        CREATE SINK k WITH (connector = 'mqtt', broker = '{mosquitto.address}',
          topic = '{topic}/out/{{site}}');
        CREATE PIPELINE p INTO k AS
          SELECT n, if(n % 2 = 0, 'even', if(n = 5, '#', 'odd')) AS site FROM s
    """
    with (
        Subscriber(mosquitto.port, f"{topic}/out/+") as subscriber,
        Publisher(mosquitto.port) as publisher,
        narrows.connect(spark, state=tmp_path / "state") as session,
    ):
        session.execute(sql)
        (text,) = session.execute("EXPLAIN PIPELINE p")
        assert "sink `k`: at least once" in str(text)
        run = session.start("p", trigger="100 milliseconds")

        def is_subscribed() -> bool:
            publisher.put(f"{topic}/in", messages(0, 1))
            return bool(subscriber.messages)

        await_that(is_subscribed, "it has subscribed")
        publisher.put(f"{topic}/in", messages(1, 100))
        await_that(lambda: len(numbers_in(subscriber)) == 99, "all were published")
        await_that(lambda: len(letters_of_the_sink(tmp_path)) == 1, "but one")
        run.stop()
    found = {json.loads(payload)["n"]: name for name, payload in subscriber.messages}
    assert found == {n: f"{topic}/out/{'odd' if n % 2 else 'even'}" for n in range(100) if n != 5}
    (letter,) = letters_of_the_sink(tmp_path)
    assert "is no topic to publish to" in letter["reason"]


def numbers_in(subscriber: Subscriber) -> set[int]:
    return {json.loads(payload)["n"] for _, payload in subscriber.messages}


def letters_of_the_sink(folder: Path) -> list[dict[str, Any]]:
    files = (folder / "state" / "dead_letters" / "k").glob("[!.]*.ndjson")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]
