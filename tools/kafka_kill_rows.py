"""What `kafka_kill.py` must find in the topics when everything is over, as a reader of committed
messages sees them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

PARTITIONS, KEYS = 3, 11
WINDOW = 100
"""Ids that a window spans."""
DEADLINE = 300.0


class WrongRowsError(Exception):
    """A topic that does not hold every row once and in order."""


def check_rows(address: str, topic: str, put: int) -> None:
    """Ids from 0 up to `put`, each once, those of a key in their order."""
    ids: dict[int, int] = {}
    by_key: dict[bytes | None, list[int]] = {}
    for key, row in _committed(address, topic):
        ids[row["id"]] = ids.get(row["id"], 0) + 1
        by_key.setdefault(key, []).append(row["id"])
    twice = sorted(number for number, times in ids.items() if times > 1)
    missing = sorted(set(range(put)).difference(ids))
    unordered = [key for key, found in by_key.items() if found != sorted(found)]
    if twice or missing or unordered or len(ids) != put:
        raise WrongRowsError(
            f"{topic}: of {put} rows {len(missing)} are missing ({missing[:5]}),"
            f" {len(twice)} there more than once ({twice[:5]}), out of order: {unordered}"
        )
    print(f"{topic}: {put} rows, each once, each key in order", flush=True)


def check_windows(address: str, topic: str, put: int) -> None:
    """Every window of every key, once, with all ids from 0 up to `put` that are in it."""
    wanted: dict[tuple[str, int], list[int]] = {}
    for number in range(put):
        wanted.setdefault((f"k{number % KEYS}", number // WINDOW), []).append(number)
    rows = [row for _, row in _committed(address, topic)]
    found = sorted((row["k"], row["n"], row["low"], row["high"]) for row in rows)
    right = sorted((k, len(ids), ids[0], ids[-1]) for (k, _), ids in wanted.items())
    if found != right:
        missing, more = set(right).difference(found), set(found).difference(right)
        raise WrongRowsError(
            f"{topic}: of {len(right)} windows {len(missing)} are missing"
            f" ({sorted(missing)[:5]}), {len(found)} are there ({sorted(more)[:5]})"
        )
    print(f"{topic}: {len(right)} windows, each once, with all its rows", flush=True)


def _committed(address: str, topic: str) -> Iterator[tuple[bytes | None, dict[str, Any]]]:
    with contextlib.closing(consumer_of(address)) as consumer:
        consumer.assign(places(topic))
        ended: set[int | None] = set()
        while len(ended) < PARTITIONS:
            found = consumer.poll(DEADLINE)
            if found is None:
                raise WrongRowsError(f"{topic} has no end: a transaction is open")
            error = found.error()
            if error is None:
                yield found.key(), json.loads(found.value() or b"{}")
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(found.partition())


def consumer_of(address: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "kill",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "log_level": 0,
        }
    )


def places(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, number, 0) for number in range(PARTITIONS)]
