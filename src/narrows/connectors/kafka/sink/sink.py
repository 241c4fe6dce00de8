"""Topics as a sink.

At least once, by default: a task sends its rows, and ends when the brokers have acknowledged every
one. A batch that is run again sends them again. With `exactly_once` tasks only stage them, and the
driver sends; see `once.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from narrows.connectors.base import Receipt, SinkConnector, SinkTask
from narrows.connectors.kafka.sink.direct import DirectTask
from narrows.connectors.kafka.sink.once import OncePublisher
from narrows.connectors.kafka.sink.staged import StagedTask, staged_messages
from narrows.connectors.kafka.sink.transactions import KafkaTransactions, transactional_id
from narrows.connectors.letters import publish_letters, remove, sweep_unpublished
from narrows.connectors.target import SinkTarget
from narrows.plugins.row_text import parse_named_texts

_Publisher = OncePublisher[pa.RecordBatch]


class _Kept(NamedTuple):
    publisher: _Publisher
    room: int
    """Bytes that it sends at once, at most."""


_PUBLISHERS: dict[tuple[str, str], _Kept] = {}
"""Those of this process, the driver's, by brokers and transactional id: they stay for the next
batch."""


class KafkaSink(SinkConnector):
    def __init__(self, target: SinkTarget) -> None:
        self._target = target
        self._options = dict(target.options)
        self._exact = self._options.get("exactly_once") is True
        self._key = (str(self._options["brokers"]), transactional_id(target))

    def open_task(self, batch: int, task: int) -> SinkTask:
        return StagedTask(self._target) if self._exact else DirectTask(self._target)

    def publish(self, batch: int, receipts: Sequence[Receipt]) -> None:
        if self._exact:
            files = [file for receipt in receipts for file in receipt["files"]]
            if files:
                self._publisher(receipts).publish(batch, _messages(files))
                remove(files)
        letters = [file for receipt in receipts for file in receipt["letters"]]
        publish_letters(self._target, batch, letters)

    def discard(self, receipts: Sequence[Receipt]) -> None:
        for receipt in receipts:
            remove((*receipt["files"], *receipt["letters"]))

    def sweep(self) -> None:
        kept = _PUBLISHERS.pop(self._key, None)
        if kept is not None:
            kept.publisher.close()
        for folder in (self._target.place, self._target.dead_letters):
            sweep_unpublished(folder, self._target.pipeline)

    def _publisher(self, receipts: Sequence[Receipt]) -> _Publisher:
        """What writes the batch: what wrote the last one, unless a topic takes less at once."""
        room = min(receipt["room"] for receipt in receipts)
        kept = _PUBLISHERS.get(self._key)
        if kept is not None and kept.room <= room:
            return kept.publisher
        if kept is not None:
            kept.publisher.close()
        publisher = OncePublisher(
            self._target.sink, lambda: KafkaTransactions(self._target, self._headers, room)
        )
        _PUBLISHERS[self._key] = _Kept(publisher, room)
        return publisher

    @property
    def _headers(self) -> list[str]:
        return list(parse_named_texts(str(self._options.get("headers", "{}"))))


def _messages(files: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for file in files:
        yield from staged_messages(file)
