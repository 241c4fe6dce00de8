"""Transactions of a Kafka sink: taking the id, reading the token, sending a batch."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterable, Sequence

import pyarrow as pa
from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from narrows.connectors.kafka.sink.client import (
    client_config,
    error_of,
    failure,
    logger,
    producer_config,
)
from narrows.connectors.kafka.sink.messages import KEY, TOPIC, VALUE
from narrows.connectors.kafka.sink.producer import Producer
from narrows.connectors.kafka.sink.topics import Topics, without_producers
from narrows.connectors.target import SinkTarget
from narrows.files.names import file_name

_SECONDS = 120.0
"""For the brokers to settle what another producer left, and for others to end their transactions:
it is the time that a broker may take to start again."""
_TIMEOUT_MS = 300_000
"""A transaction that takes longer is aborted by the broker, and so is one whose driver died for
good: until then nobody who reads committed messages sees what was written behind it."""


def transactional_id(target: SinkTarget) -> str:
    return f"narrows.{file_name(target.pipeline)}.{file_name(target.sink)}.{target.life}"


def token_topic(target: SinkTarget) -> str:
    given = dict(target.options).get("token_topic")
    if given is not None:
        return str(given)
    return f"__narrows_{re.sub('[^a-z0-9_-]', '.', file_name(target.pipeline))}"


class KafkaTransactions:
    """The transactional id of a sink; taken when this is made."""

    def __init__(self, target: SinkTarget, headers: Sequence[str], batch_bytes: int) -> None:
        self._target = target
        self._headers = headers
        self._id = transactional_id(target)
        self._topic = token_topic(target)
        self._doing = f"taking the transactional id `{self._id}`"
        try:
            Topics(target).make_compacted(self._topic)
            config = {"transaction.timeout.ms": _TIMEOUT_MS, **producer_config(target)}
            self._seconds = int(config["transaction.timeout.ms"]) / 1000
            batch = min(batch_bytes, int(config.get("batch.size", batch_bytes)))
            config |= {"transactional.id": self._id, "batch.size": batch}
            self._producer = Producer(config, batch_bytes)
            self._insist(self._producer.init_transactions, _SECONDS)
            self._doing = f"reading the topic `{self._topic}`"
            self.newest = self._read_token()
        except KafkaException as error:
            raise self._failure(error) from error

    def commit(self, batch: int, messages: Iterable[pa.RecordBatch]) -> None:
        try:
            self._doing = f"writing batch {batch}"
            self._producer.begin_transaction()
            for some in messages:
                self._producer.send(some, self._headers)
            self._producer.send(self._token(batch), partition=0)
            self._doing = f"committing batch {batch}"
            self._insist(self._producer.commit_transaction, self._seconds)
        except KafkaException as error:
            raise self._failure(error) from error

    def close(self) -> None:
        """Aborts, if the broker is there; else whoever takes the id next does."""
        with contextlib.suppress(KafkaException):
            self._producer.purge()
            self._producer.abort_transaction(5.0)
        self._producer.close()

    def _insist(self, call: object, seconds: float) -> None:
        """Calls it until it has succeeded; the client says when that is worth it."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                call(max(1.0, deadline - time.monotonic()))  # type: ignore[operator]
                return
            except KafkaException as error:
                reason = error_of(error)
                if reason is None or not reason.retriable() or time.monotonic() > deadline:
                    raise

    def _failure(self, error: KafkaException) -> Exception:
        return failure(self._target, self._doing, error_of(error))

    # --- the token --------------------------------------------------------------------------------

    def _token(self, batch: int) -> pa.RecordBatch:
        message = {TOPIC: self._topic, KEY: self._id, VALUE: json.dumps({"batch": batch})}
        columns = [pa.array([text.encode()], pa.binary()) for text in message.values()]
        return pa.RecordBatch.from_arrays(columns, names=list(message))

    def _read_token(self) -> int | None:
        """What our last committed token says.

        Reading committed messages only ends where the first open transaction begins. None of ours
        is open, but others may use the topic: so we read up to where it ended when we came, and
        wait for them.
        """
        config = without_producers(client_config(dict(self._target.options)))
        partition = TopicPartition(self._topic, 0)
        end = self._end(AdminClient(config, logger=logger()), partition)
        reading = {
            "group.id": self._id,  # nothing is ever committed to it
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
        consumer = Consumer({**config, **reading}, logger=logger())
        try:
            consumer.assign([TopicPartition(self._topic, 0, 0)])
            return self._newest_of(consumer, end)
        finally:
            consumer.close()

    def _end(self, admin: AdminClient, partition: TopicPartition) -> int:
        asked = admin.list_offsets(
            {partition: OffsetSpec.latest()},  # type: ignore[no-untyped-call]
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
        )
        return int(asked[partition].result(_SECONDS).offset)

    def _newest_of(self, consumer: Consumer, end: int) -> int | None:
        newest: int | None = None
        mine = self._id.encode("ascii")
        deadline = time.monotonic() + _SECONDS
        reached = 0
        while reached < end:
            message = consumer.poll(1.0)
            if message is None:
                if time.monotonic() > deadline:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
                continue
            error = message.error()
            if error is None and message.key() == mine:
                newest = int(json.loads(message.value() or b"{}").get("batch", -1))
            if error is None:
                reached = (message.offset() or 0) + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                reached = message.offset() or 0  # behind what marks the end of a transaction
            elif not error.retriable():
                raise KafkaException(error)
        return newest
