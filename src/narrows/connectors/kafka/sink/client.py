"""Producers of a Kafka sink, what they are told, and what their errors mean."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException

from narrows.connectors.kafka.client.faults import revealed, without_values
from narrows.connectors.kafka.client.settings import settings_of
from narrows.connectors.kafka.sink.messages import MESSAGE_BYTES
from narrows.connectors.target import SinkTarget
from narrows.errors import Code, NarrowsError, fail

_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())  # or Python would write to stderr what nobody listens to

Config = dict[str, str | int | float | bool]

_OF_CONSUMERS = ("isolation.level", "queued.max.messages.kbytes")
"""What consumers are told, other clients warn about."""

PERMANENT = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError._CRIT_SYS_RESOURCE,
        KafkaError._INVALID_ARG,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNSUPPORTED_FEATURE,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.INVALID_CONFIG,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_REPLICATION_FACTOR,
        KafkaError.INVALID_TRANSACTION_TIMEOUT,
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.POLICY_VIOLATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
    }
)
"""What will be the same the next time. Everything else may pass: a broker that starts again, a
coordinator that moves, a transaction that took too long, another producer that took over."""


def client_config(options: Mapping[str, object]) -> Config:
    """What any client of the sink's brokers is told. Secrets are in the open: show it to nobody."""
    found = revealed(settings_of(options))
    return {name: value for name, value in found.items() if name not in _OF_CONSUMERS}


def producer_config(target: SinkTarget) -> Config:
    """What its producers are told, too."""
    options = dict(target.options)
    ours: Config = {
        "compression.type": str(options.get("compression", "lz4")),
        "partitioner": str(options.get("partitioner", "murmur2_random")),
        # What is handed over at once goes into one request (`producer.py`), however many messages
        # that are, and a request should not leave before all of it is there.
        "batch.num.messages": 100_000,
        "linger.ms": 20,
    }
    return {**ours, **client_config(options), "enable.idempotence": True}


def max_bytes(config: Config) -> int:
    return int(config.get("message.max.bytes", MESSAGE_BYTES))


def error_of(raised: BaseException) -> KafkaError | None:
    found = raised.args[0] if isinstance(raised, KafkaException) and raised.args else None
    return found if isinstance(found, KafkaError) else None


def failure(target: SinkTarget, doing: str, error: KafkaError | None) -> NarrowsError:
    """Why a batch fails: something that may pass, or something that somebody has to mend."""
    reason = "no reason was given" if error is None else f"{error.str()} ({error.name()})"
    reason = without_values(reason, settings_of(dict(target.options)))
    code = Code.SINK_UNAVAILABLE
    if error is not None and error.code() in PERMANENT:
        code = Code.BROKER_ERROR
    return fail(code, f"sink `{target.sink}`: Kafka failed while {doing}: {reason}")


def logger() -> logging.Logger:
    """Where clients write what they have to say, instead of to the terminal."""
    return _LOG
