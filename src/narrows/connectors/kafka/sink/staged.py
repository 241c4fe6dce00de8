"""Messages of a task in a file, until the driver sends them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from narrows.connectors.base import Receipt
from narrows.connectors.kafka.sink.messages import MessageMaker
from narrows.connectors.kafka.sink.topics import Topics
from narrows.connectors.letters import RowLetters, remove, unpublished
from narrows.connectors.target import SinkTarget
from narrows.files.synced_file import SyncedFile

_KEPT: dict[tuple[str, str], Topics] = {}
"""What this worker knows about topics, by brokers and sink."""


class StagedTask:
    """The messages of one task."""

    def __init__(self, target: SinkTarget) -> None:
        self._target = target
        self._letters = RowLetters(target)
        self._maker = MessageMaker(target, self._letters, _topics(target).facts)
        self._file: SyncedFile | None = None
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None
        self._written: list[str] = []

    def add(self, batch: pa.RecordBatch) -> None:
        for messages in self._maker.messages(batch):
            if self._writer is None:
                path = unpublished(self._target.place, self._target.pipeline)
                self._written.append(str(path))
                self._file = SyncedFile(path)
                self._writer = pa.ipc.new_stream(self._file, messages.schema)
            self._writer.write_batch(messages)

    def close(self) -> Receipt:
        if self._writer is not None and self._file is not None:
            self._writer.close()
            self._file.close_synced()
        self._letters.close()
        room = self._maker.room
        return {"files": self._written, "letters": self._letters.written, "room": room}

    def discard(self) -> None:
        if self._file is not None:
            self._file.close()
        self._letters.discard()
        remove(self._written)


def staged_messages(path: str) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(path) as file, pa.ipc.open_stream(file) as reader:
        yield from reader


def _topics(target: SinkTarget) -> Topics:
    key = (str(dict(target.options)["brokers"]), target.sink)
    if key not in _KEPT:
        _KEPT[key] = Topics(target)
    return _KEPT[key]
