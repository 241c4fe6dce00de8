"""Hands messages to a producer, as fast as it takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from confluent_kafka import KafkaError, Message, Producer

from narrows.connectors.kafka.sink.messages import KEY, TOPIC, VALUE

OnDelivery = Callable[[KafkaError | None, Message], None]

_FULL_SECONDS = 0.05
"""How long to wait when the producer has as many messages as it can hold."""


class Sender:
    def __init__(
        self, producer: Producer, headers: Sequence[str], on_delivery: OnDelivery | None = None
    ) -> None:
        self._producer = producer
        self._headers = headers
        self._on_delivery = on_delivery

    def send(self, messages: pa.RecordBatch) -> None:
        """In order, as far as messages go to the same partition."""
        topics, keys, values = (messages.column(name).to_pylist() for name in (TOPIC, KEY, VALUE))
        names = {topic: topic.decode("ascii") for topic in set(topics)}
        produce: Callable[..., None] = self._producer.produce
        more = {} if self._on_delivery is None else {"on_delivery": self._on_delivery}
        for topic, key, value, headers in zip(
            topics, keys, values, self._headers_of(messages), strict=True
        ):
            while True:
                try:
                    if headers is None:
                        produce(names[topic], value, key, **more)
                    else:
                        produce(names[topic], value, key, headers=headers, **more)
                    break
                except BufferError:
                    self._producer.poll(_FULL_SECONDS)
        self._producer.poll(0)

    def _headers_of(self, messages: pa.RecordBatch) -> Sequence[list[tuple[str, bytes]] | None]:
        if not self._headers:
            return [None] * messages.num_rows
        columns = [messages.column(f"h{n}").to_pylist() for n in range(len(self._headers))]
        return [list(zip(self._headers, row, strict=True)) for row in zip(*columns, strict=True)]
