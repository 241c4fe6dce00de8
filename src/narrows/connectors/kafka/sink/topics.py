"""What topics take, as the brokers say; and topics of our own."""

from __future__ import annotations

import time

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from narrows.connectors.kafka.sink.client import (
    Config,
    client_config,
    error_of,
    failure,
    logger,
    max_bytes,
)
from narrows.connectors.kafka.sink.messages import TopicFacts
from narrows.connectors.target import SinkTarget
from narrows.errors import Code, fail

_TIMEOUT = 30.0
_KNOWN_FOR = 60.0
"""Seconds after which the brokers are asked again: topics can be changed."""

COMPACTED = {
    "cleanup.policy": "compact",
    # Whoever starts reads all of it, so it must not grow to the gigabyte that segments hold else.
    "segment.bytes": str(1 << 20),
    "segment.ms": "600000",
    "min.cleanable.dirty.ratio": "0.1",
}


class Topics:
    """Asks the brokers of a sink about topics."""

    def __init__(self, target: SinkTarget) -> None:
        config = client_config(dict(target.options))
        self._target = target
        self._limit = max_bytes(config)
        self._admin = AdminClient(without_producers(config), logger=logger())
        self._facts: dict[str, tuple[float, TopicFacts]] = {}

    def facts(self, topic: str) -> TopicFacts:
        asked, known = self._facts.get(topic, (0.0, None))
        if known is None or time.monotonic() - asked > _KNOWN_FOR:
            known = self._ask(topic)
            self._facts[topic] = (time.monotonic(), known)
        return known

    def _ask(self, topic: str) -> TopicFacts:
        config = self._config(topic)
        if config is None:
            return TopicFacts(self._limit)
        limit = min(self._limit, int(config.get("max.message.bytes", self._limit)))
        return TopicFacts(limit, "compact" in config.get("cleanup.policy", ""))

    def _config(self, topic: str) -> dict[str, str] | None:
        """The settings of a topic; None where there is none, or nobody may ask."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        (asked,) = self._admin.describe_configs([resource], request_timeout=_TIMEOUT).values()
        try:
            found = asked.result(_TIMEOUT + 5)
        except KafkaException as error:
            reason = error_of(error)
            if reason is not None and reason.code() in _CANNOT_TELL:
                return None
            raise failure(self._target, f"asking about topic `{topic}`", reason) from error
        return {name: str(entry.value) for name, entry in found.items()}

    def make_compacted(self, topic: str) -> None:
        """Makes a topic that keeps the last message of each key for ever, if it is not there."""
        config = self._config(topic)
        if config is None:
            made = self._admin.create_topics(
                [NewTopic(topic, num_partitions=1, replication_factor=-1, config=COMPACTED)],
                request_timeout=_TIMEOUT,
            )
            try:
                made[topic].result(_TIMEOUT + 5)
            except KafkaException as error:
                reason = error_of(error)
                if reason is None or reason.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise failure(self._target, f"making topic `{topic}`", reason) from error
        elif config.get("cleanup.policy") != "compact":
            policy = config.get("cleanup.policy")
            raise fail(
                Code.BROKER_ERROR,
                f"sink `{self._target.sink}`: topic `{topic}` is to keep which batches are"
                f" written, and its cleanup.policy is `{policy}`: it would forget them",
                hint="set its `cleanup.policy` to `compact`, or name another `token_topic`",
            )


_CANNOT_TELL = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)


def without_producers(config: Config) -> Config:
    """What producers are told, other clients warn about."""
    return {name: value for name, value in config.items() if name not in _OF_PRODUCERS}


_OF_PRODUCERS = frozenset(
    {
        "acks",
        "batch.num.messages",
        "batch.size",
        "compression.codec",
        "compression.level",
        "compression.type",
        "delivery.timeout.ms",
        "linger.ms",
        "message.send.max.retries",
        "message.timeout.ms",
        "partitioner",
        "queue.buffering.max.kbytes",
        "queue.buffering.max.messages",
        "queue.buffering.max.ms",
        "request.required.acks",
        "request.timeout.ms",
        "retries",
        "sticky.partitioning.linger.ms",
        "transaction.timeout.ms",
    }
)
