"""Topics as a sink, against a real broker: tasks, the driver, crashes and zombies; no Spark."""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from narrows import Catalog
from narrows.connectors.base import find_connector
from narrows.connectors.kafka.sink import sink as kafka_sink
from narrows.connectors.kafka.sink.transactions import KafkaTransactions, transactional_id
from narrows.connectors.target import RowPart, SinkTarget, WriteSpec
from narrows.errors import Code, NarrowsError
from narrows.plugins.options import OptionValue
from narrows.worker.dead_letters import read_dead_letters
from narrows.worker.write import Receipts, discard, publish, sweep, write_task
from support.kafka import Topics
from support.kafka_committed import Message, committed


class Case:
    """A pipeline's sink, and the rows that go into it."""

    def __init__(self, folder: Path, topics: Topics) -> None:
        self.folder = folder
        self.topics = topics
        self.life = uuid.uuid4().hex

    def spec(self, topic: str, pipeline: str = "p", **options: OptionValue) -> WriteSpec:
        given = {"connector": "kafka", "brokers": self.topics.address, "topic": topic, **options}
        texts = [f"{_key(name)} = {_literal(value)}" for name, value in given.items()]
        catalog = Catalog()
        catalog.execute(f"CREATE SINK out WITH ({', '.join(texts)})")
        sink = catalog.sink("out")
        target = SinkTarget(
            pipeline=pipeline,
            sink="out",
            connector="kafka",
            format=sink.format,
            options=(*sink.options.items(), ("timezone", "UTC")),
            parts=(RowPart("o0", "id"), RowPart("o1", "t")),
            place=find_connector("kafka").place(sink.options, str(self.folder / "ours")),
            dead_letters=str(self.folder / "dead"),
            life=self.life,
        )
        carried: WriteSpec = pickle.loads(pickle.dumps(WriteSpec((target,))))
        return carried

    def letters(self) -> list[dict[str, Any]]:
        return list(read_dead_letters(self.folder / "dead"))

    def read(self, topic: str) -> list[Message]:
        return committed(self.topics.address, topic)

    def ids(self, topic: str) -> list[int]:
        return [json.loads(message.value or b"")["id"] for message in self.read(topic)]

    def staged(self) -> list[Path]:
        return list((self.folder / "ours").glob(".*"))


@pytest.fixture
def case(tmp_path: Path, topics: Topics) -> Case:
    return Case(tmp_path, topics)


def _key(name: str) -> str:
    return ".".join(f"`{part}`" for part in name.split("."))


def _literal(value: OptionValue) -> str:
    return str(value).lower() if isinstance(value, (bool, int)) else f"'{value}'"


def _rows(ids: Sequence[int], texts: Sequence[str | None] | None = None) -> pa.RecordBatch:
    made = [f"t{i}" for i in ids] if texts is None else texts
    arrays = [pa.array(ids, pa.int64()), pa.array(made, pa.string())]
    return pa.RecordBatch.from_arrays(arrays, names=["o0", "o1"])


def _write(spec: WriteSpec, ids: Iterable[int], batch: int = 0, task: int = 0) -> Receipts:
    return write_task(spec, iter([_rows(list(ids))]), batch, task)


# --- messages -------------------------------------------------------------------------------------


def test_rows_become_messages(case: Case) -> None:
    topic = case.topics.make()
    spec = case.spec(topic, key="k-{t}", headers='{"id": "{id}", "by": "narrows"}')
    publish(spec, 0, [_write(spec, [7, 8])])
    found = case.read(topic)
    assert [json.loads(message.value or b"") for message in found] == [
        {"id": 7, "t": "t7"},
        {"id": 8, "t": "t8"},
    ]
    assert [message.key for message in found] == [b"k-t7", b"k-t8"]
    assert found[0].headers == [("id", b"7"), ("by", b"narrows")]
    assert case.letters() == []


@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_topic_that_is_made_of_the_row(case: Case, exactly_once: bool) -> None:
    one, other = case.topics.make(), case.topics.make()
    spec = case.spec("{t}", key="id", exactly_once=exactly_once)
    texts = [one, other, "not a topic/", "__consumer_offsets", "..", None]
    rows = _rows(range(6), texts)
    publish(spec, 0, [write_task(spec, iter([rows]), 0, 0)])
    assert case.ids(one) == [0]
    assert case.ids(other) == [1]
    reasons = [(json.loads(x["payload"])["id"], x["reason"]) for x in case.letters()]
    assert reasons == [
        ("2", "`not a topic/` is no topic to write to"),
        ("3", "`__consumer_offsets` is no topic to write to"),
        ("4", "`..` is no topic to write to"),
        ("5", "its topic is NULL"),
    ]


@pytest.mark.parametrize("exactly_once", [False, True])
def test_what_a_topic_does_not_take(case: Case, exactly_once: bool) -> None:
    """Small messages of which many together are too large are no problem."""
    topic = case.topics.make(max_message_bytes="10000", cleanup_policy="compact")
    spec = case.spec(topic, key="t", exactly_once=exactly_once, compression="none")
    texts = ["x" * 500] * 200 + ["y" * 20_000, None, "z"]
    rows = _rows(range(203), texts)
    publish(spec, 0, [write_task(spec, iter([rows]), 0, 0)])
    assert case.ids(topic) == [*range(200), 202]
    reasons = [(json.loads(x["payload"])["id"], x["reason"]) for x in case.letters()]
    assert reasons == [
        ("200", "the message is larger than its topic takes, 10000 bytes"),
        ("201", "the topic needs a key"),
    ]


def test_null_in_a_key(case: Case) -> None:
    topic = case.topics.make()
    column, text = case.spec(topic, key="t"), case.spec(topic, key="k-{t}")
    publish(column, 0, [write_task(column, iter([_rows([1], [None])]))])
    publish(text, 1, [write_task(text, iter([_rows([2], [None])]))])
    assert [message.key for message in case.read(topic)] == [None]
    assert [letter["reason"] for letter in case.letters()] == ["a column of its key is NULL"]


def test_keys_stay_in_their_partition_and_in_order(case: Case) -> None:
    topic = case.topics.make(partitions=4)
    spec = case.spec(topic, key="{t}")
    rows = _rows(range(400), [f"k{number % 7}" for number in range(400)])
    publish(spec, 0, [write_task(spec, iter([rows.slice(0, 150), rows.slice(150)]))])
    found = case.read(topic)
    homes = {message.key: message.partition for message in found}
    assert all(homes[message.key] == message.partition for message in found)
    for key in homes:
        ids = [json.loads(m.value or b"")["id"] for m in found if m.key == key]
        assert ids == sorted(ids)
    assert len(found) == 400


def test_csv_messages(case: Case) -> None:
    topic = case.topics.make()
    spec = case.spec(topic, format="csv")
    publish(spec, 0, [_write(spec, [1, 2])])
    assert [message.value for message in case.read(topic)] == [b"1,t1", b"2,t2"]


def test_a_topic_that_is_not_there_fails_the_batch(case: Case) -> None:
    options: dict[str, Any] = {"kafka.topic.metadata.propagation.max.ms": 500}
    spec = case.spec("nobody-made-it", **options)
    with pytest.raises(NarrowsError, match=r"sink `out`.*sending messages"):
        _write(spec, [1])
    assert case.letters() == []


def test_at_least_once_sends_again(case: Case) -> None:
    topic = case.topics.make()
    spec = case.spec(topic)
    for _ in range(2):
        publish(spec, 0, [_write(spec, [1, 2])])
    assert case.ids(topic) == [1, 2, 1, 2]


# --- exactly once ---------------------------------------------------------------------------------


def test_a_batch_is_visible_when_it_is_published_and_once(case: Case) -> None:
    topic = case.topics.make()
    spec = case.spec(topic, exactly_once=True)
    first = [_write(spec, [1, 2]), _write(spec, []), _write(spec, [3])]
    assert case.ids(topic) == []
    publish(spec, 0, first)
    assert case.ids(topic) == [1, 2, 3]
    publish(spec, 0, [_write(spec, [1]), _write(spec, [2, 3])])  # other tasks, the same batch
    publish(spec, 1, [])
    publish(spec, 2, [_write(spec, [4])])
    sweep(spec)  # a restart
    publish(spec, 2, [_write(spec, [4])])
    publish(spec, 3, [_write(spec, [5])])
    assert case.ids(topic) == [1, 2, 3, 4, 5]
    assert case.staged() == []


def test_a_crash_before_the_commit(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was sent is there, and nobody who reads committed messages sees it."""
    topic = case.topics.make()
    spec = case.spec(topic, exactly_once=True)

    class CrashError(BaseException):
        pass

    def crash(self: object, call: object, seconds: float) -> None:
        if "commit" in getattr(call, "__name__", ""):
            self._producer.flush()  # type: ignore[attr-defined]
            monkeypatch.undo()
            monkeypatch.setattr(KafkaTransactions, "close", lambda self: None)
            raise CrashError
        call(seconds)  # type: ignore[operator]

    monkeypatch.setattr(KafkaTransactions, "_insist", crash)
    with pytest.raises(CrashError):
        publish(spec, 0, [_write(spec, [1, 2])])
    sweep(spec)
    publish(spec, 0, [_write(spec, [1, 2])])
    assert case.ids(topic) == [1, 2]
    assert case.staged() == []


def test_a_zombie_is_fenced(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two drivers of one pipeline: whoever takes the id last writes."""
    topic = case.topics.make()
    spec = case.spec(topic, exactly_once=True)
    publish(spec, 0, [_write(spec, [1])])
    zombie = dict(kafka_sink._PUBLISHERS)
    kafka_sink._PUBLISHERS.clear()
    publish(spec, 1, [_write(spec, [2])])
    mine = dict(kafka_sink._PUBLISHERS)
    kafka_sink._PUBLISHERS.clear()
    kafka_sink._PUBLISHERS.update(zombie)
    with pytest.raises(NarrowsError) as caught:
        publish(spec, 1, [_write(spec, [2])])
    assert caught.value.code is Code.SINK_UNAVAILABLE
    publish(spec, 1, [_write(spec, [2])])  # it takes the id again, and finds the token
    kafka_sink._PUBLISHERS.clear()
    kafka_sink._PUBLISHERS.update(mine)
    with pytest.raises(NarrowsError):
        publish(spec, 2, [_write(spec, [3])])
    publish(spec, 2, [_write(spec, [3])])
    assert case.ids(topic) == [1, 2, 3]


def test_an_older_state_is_refused(case: Case) -> None:
    topic = case.topics.make()
    spec = case.spec(topic, exactly_once=True)
    publish(spec, 5, [_write(spec, [1])])
    with pytest.raises(NarrowsError, match="older than the topic"):
        publish(spec, 4, [_write(spec, [2])])
    sweep(spec)
    assert case.staged() == []
    again = Case(case.folder, case.topics).spec(topic, exactly_once=True)
    publish(again, 0, [_write(again, [3])])
    assert case.ids(topic) == [1, 3]


def test_pipelines_have_their_own_tokens(case: Case) -> None:
    topic = case.topics.make()
    specs = [
        case.spec(topic, name, exactly_once=True, token_topic="tokens-of-all")
        for name in ("p", "P q", "p-0000000000", "\n")
    ]
    assert len({transactional_id(spec.targets[0]) for spec in specs}) == len(specs)
    for _ in range(2):
        for number, spec in enumerate(specs):
            publish(spec, 0, [_write(spec, [number])])
            sweep(spec)
    assert case.ids(topic) == [0, 1, 2, 3]


def test_the_token_behind_another_pipelines_transaction(case: Case) -> None:
    """Committed messages end where the first open transaction begins: the token is waited for."""
    topic = case.topics.make()
    spec = case.spec(topic, exactly_once=True, token_topic="tokens-of-two")
    publish(spec, 0, [_write(spec, [0])])
    sweep(spec)
    config: dict[str, str | int] = {
        "bootstrap.servers": case.topics.address,
        "transactional.id": "another",
        "transaction.timeout.ms": 3000,
    }
    other = Producer(config)
    other.init_transactions(60)
    other.begin_transaction()
    other.produce("tokens-of-two", b"{}", b"another")
    other.flush(60)
    publish(spec, 1, [_write(spec, [1])])  # waits until the broker has aborted the other's
    sweep(spec)
    publish(spec, 1, [_write(spec, [1])])
    assert case.ids(topic) == [0, 1]


def test_a_token_topic_that_forgets_is_refused(case: Case) -> None:
    topic = case.topics.make()
    spec = case.spec(topic, exactly_once=True, token_topic=topic)
    with pytest.raises(NarrowsError, match="it would forget them"):
        publish(spec, 0, [_write(spec, [1])])


def test_what_is_discarded_is_not_sent(case: Case) -> None:
    topic = case.topics.make()
    spec = case.spec(topic, exactly_once=True)
    discard(spec, [_write(spec, [1])])
    assert case.staged() == []
    publish(spec, 0, [_write(spec, [2])])
    assert case.ids(topic) == [2]
