"""Producers of a Kafka sink, what they are told, and what their errors mean."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException

from narrows.connectors.kafka.sink_messages import MESSAGE_BYTES
from narrows.connectors.target import SinkTarget
from narrows.errors import Code, NarrowsError, fail
from narrows.plugins.secrets import resolved

_LOG = logging.getLogger("narrows.kafka")

Config = dict[str, str | int | float | bool]

_PASSED_ON = "kafka."

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
    known = {n: v for n, v in options.items() if isinstance(v, (str, int, float, bool))}
    plain = resolved(known)
    config: Config = {
        name.removeprefix(_PASSED_ON): value
        for name, value in plain.items()
        if name.startswith(_PASSED_ON)
    }
    return {"client.id": "narrows", **config, "bootstrap.servers": plain["brokers"]}


def producer_config(target: SinkTarget) -> Config:
    """What its producers are told, too."""
    options = dict(target.options)
    ours: Config = {
        "compression.type": str(options.get("compression", "lz4")),
        "partitioner": str(options.get("partitioner", "murmur2_random")),
        # 100 000 messages are too few for small ones, and memory is bounded by bytes anyway.
        "queue.buffering.max.messages": 1_000_000,
        "queue.buffering.max.kbytes": 128 << 10,
    }
    return {**ours, **client_config(options), "enable.idempotence": True}


def max_bytes(config: Config) -> int:
    return int(config.get("message.max.bytes", MESSAGE_BYTES))


def error_of(raised: BaseException) -> KafkaError | None:
    found = raised.args[0] if isinstance(raised, KafkaException) and raised.args else None
    return found if isinstance(found, KafkaError) else None


def failure(sink: str, doing: str, error: KafkaError | None) -> NarrowsError:
    """Why a batch fails: something that may pass, or something that somebody has to mend."""
    reason = "no reason was given" if error is None else error.str() or error.name()
    code = Code.UNREACHABLE
    if error is not None and error.code() in PERMANENT:
        code = Code.PIPELINE_FAILED
    return fail(code, f"sink `{sink}`: Kafka failed while {doing}: {reason}")


def logger() -> logging.Logger:
    """Where clients write what they have to say, instead of to the terminal."""
    return _LOG
