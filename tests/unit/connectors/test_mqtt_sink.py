"""Topics of a real broker as a sink: tasks, refusals, brokers that come and go; no Spark."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from mosquitto_broker import Mosquitto
from narrows import Catalog
from narrows.connectors.base import find_connector
from narrows.connectors.mqtt.sink_client import drop_clients
from narrows.connectors.target import WriteSpec
from narrows.errors import Code, NarrowsError
from narrows.worker.write import publish, write_task
from support.mosquitto import Subscriber, new_topic
from support.sink_targets import letters, write_spec
from support.waiting import await_that


@pytest.fixture(autouse=True)
def _a_broker_and_no_clients_left(mosquitto: Mosquitto) -> Iterator[None]:
    yield
    drop_clients()


def spec_of(folder: Path, broker: str, topic: str, **options: object) -> WriteSpec:
    return write_spec(folder, "mqtt", broker=broker, topic=topic, **options)


def write(spec: WriteSpec, texts: list[str | None], batch: int = 0) -> None:
    ids = pa.array(range(len(texts)), pa.int64())
    rows = pa.RecordBatch.from_arrays([ids, pa.array(texts, pa.string())], names=["o0", "o1"])
    publish(spec, batch, [write_task(spec, iter([rows]), batch, 0)])


@pytest.mark.parametrize("version", ["5", "3.1.1"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_rows_are_published_in_order(
    tmp_path: Path, mosquitto: Mosquitto, version: str, qos: int
) -> None:
    topic = new_topic()
    numbers = range(500 if qos else 10)  # of QoS 0 brokers throw away what comes too fast
    spec = spec_of(tmp_path, mosquitto.address, topic, version=version, qos=qos)
    with Subscriber(mosquitto.port, topic) as subscriber:
        for batch in range(2):
            write(spec, [f"{batch}-{number}" for number in numbers], batch)
        subscriber.await_messages(2 * len(numbers))
    found = [json.loads(payload) for _, payload in subscriber.messages]
    assert found == [{"id": n, "t": f"{batch}-{n}"} for batch in range(2) for n in numbers]
    assert letters(tmp_path) == []


def test_a_topic_that_is_made_of_the_row(tmp_path: Path, mosquitto: Mosquitto) -> None:
    topic = new_topic()
    spec = spec_of(tmp_path, mosquitto.address, topic + "/{t}/alarms")
    with Subscriber(mosquitto.port, f"{topic}/#") as subscriber:
        write(spec, ["north", "a/b", "+", None, "süd", "#"])
        subscriber.await_messages(2)
    assert [found for found, _ in subscriber.messages] == [
        f"{topic}/north/alarms",
        f"{topic}/süd/alarms",
    ]
    reasons = [letter["reason"] for letter in letters(tmp_path)]
    assert [reason.replace(topic, "t") for reason in reasons] == [
        "`t/a/b/alarms` has other levels than the option `topic`: a value has `/` in it",
        "`t/+/alarms` is no topic to publish to",
        "its topic is NULL",
        "`t/#/alarms` is no topic to publish to",
    ]


def test_a_column_may_be_the_whole_topic(tmp_path: Path, mosquitto: Mosquitto) -> None:
    topic = new_topic()
    spec = spec_of(tmp_path, mosquitto.address, "{t}")
    with Subscriber(mosquitto.port, f"{topic}/#") as subscriber:
        write(spec, [f"{topic}/a/b", "$SYS/x", ""])
        subscriber.await_messages(1)
    assert [found for found, _ in subscriber.messages] == [f"{topic}/a/b"]
    assert len(letters(tmp_path)) == 2


def test_retained_rows_are_there_for_who_comes_later(tmp_path: Path, mosquitto: Mosquitto) -> None:
    topic = new_topic()
    write(spec_of(tmp_path, mosquitto.address, topic, retain=True), ["first", "last"])
    with Subscriber(mosquitto.port, topic) as subscriber:
        subscriber.await_messages(1)
    assert json.loads(subscriber.messages[0][1])["t"] == "last"


def test_a_broker_that_is_restarted_meanwhile(tmp_path: Path) -> None:
    """The task waits for it, and everything that was not acknowledged is sent again."""
    with Mosquitto(tmp_path / "broker") as broker:
        spec = spec_of(tmp_path, broker.address, "out", max_in_flight=10)
        with Subscriber(broker.port, "out", keeps=True) as subscriber:
            write(spec, ["before"])
            subscriber.await_messages(1)
            broker.stop()
            task = threading.Thread(target=write, args=(spec, ["x"] * 100, 1))
            task.start()
            broker.start()
            task.join(120)
            assert not task.is_alive()
            seen = subscriber.messages
            await_that(
                lambda: {json.loads(p)["id"] for _, p in seen[1:]} == set(range(100)), "all came"
            )


def test_a_broker_that_is_away_fails_the_task(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "mqtt://127.0.0.1:1", "out", delivery_timeout="1 second")
    with pytest.raises(NarrowsError, match=r"cannot connect to 127\.0\.0\.1:1") as raised:
        write(spec, ["x"])
    assert raised.value.code is Code.SINK_UNAVAILABLE


def test_a_broker_that_refuses_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQTT_PASSWORD", "hush-hush")
    with Mosquitto(tmp_path / "broker", "allow_anonymous false") as broker:
        spec = spec_of(tmp_path, broker.address, "out", username="me", password="${MQTT_PASSWORD}")
        with pytest.raises(NarrowsError, match="refuses the connection: Not authorized") as raised:
            write(spec, ["x"])
    assert raised.value.code is Code.BROKER_ERROR
    assert "hush" not in str(raised.value)


def test_topics_that_the_broker_refuses(tmp_path: Path) -> None:
    (tmp_path / "acl").write_text("topic readwrite good/#\n")
    with Mosquitto(tmp_path / "broker", f"acl_file {tmp_path / 'acl'}") as broker:
        with Subscriber(broker.port, "good/#") as subscriber:
            write(spec_of(tmp_path, broker.address, "{t}"), ["good/1", "bad/2", "good/3"])
            subscriber.await_messages(2)
        (letter,) = letters(tmp_path)
        assert "refuses a message to `bad/2`: Not authorized" in letter["reason"]
        assert json.loads(letter["payload"]) == {"id": 1, "t": "bad/2"}
        with pytest.raises(NarrowsError, match="refuses a message to `bad`") as raised:
            write(spec_of(tmp_path, broker.address, "bad"), ["x"])
        assert raised.value.code is Code.BROKER_ERROR


def test_messages_that_are_too_large(tmp_path: Path) -> None:
    with (
        Mosquitto(tmp_path / "broker", "max_packet_size 2000") as broker,
        Subscriber(broker.port, "out") as subscriber,
    ):
        write(spec_of(tmp_path, broker.address, "out"), ["x" * 3_000, "small"])
        subscriber.await_messages(1)
    (letter,) = letters(tmp_path)
    assert letter["reason"] == "the message is larger than the broker takes, 2000 bytes"


def test_what_it_promises() -> None:
    promises = find_connector("mqtt").promises
    assert [promises({"qos": qos}) for qos in (0, 1, 2)] == [
        "none",
        "at least once",
        "at least once",
    ]


@pytest.mark.parametrize(
    ("source", "sink", "refused"),
    [("a/#", "a/b", True), ("a/+", "b/c", False), ("$share/g/a/#", "a/b", True)],
)
def test_a_pipeline_that_would_read_what_it_writes(source: str, sink: str, refused: bool) -> None:
    broker = "broker = 'mqtt://h'"
    catalog = Catalog()
    catalog.execute(
        f"CREATE STREAM s (a INT) WITH (connector = 'mqtt', {broker}, topic = '{source}');"
        f"CREATE SINK k WITH (connector = 'mqtt', broker = 'mqtt://h:1883', topic = '{sink}')"
    )
    pipeline = "CREATE PIPELINE p INTO k AS SELECT a FROM s"
    if refused:
        with pytest.raises(NarrowsError) as raised:
            catalog.execute(pipeline)
        assert raised.value.code is Code.READS_ITS_OUTPUT
    else:
        catalog.execute(pipeline)
