"""A topic as a sink: tasks write Arrow files, and the driver makes a batch of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from narrows.connectors.base import Receipt, SinkConnector
from narrows.connectors.memory import KEPT_BYTES, TOPIC
from narrows.connectors.memory.topic import Topic, TopicFile
from narrows.connectors.target import SinkTarget
from narrows.files.small import disk_errors

_KEPT = 1 << 30
"""Bytes that are kept while nobody reads, where the sink does not say."""


class TopicSink(SinkConnector):
    def __init__(self, target: SinkTarget) -> None:
        options = dict(target.options)
        self._target = target
        self._topic = Topic(target.folder, str(options[TOPIC]))
        given = target.limit(KEPT_BYTES)
        self._kept_bytes = _KEPT if given is None else given

    def open_task(self, batch: int, task: int) -> TopicSinkTask:
        return TopicSinkTask(self._target, self._topic)

    def publish(self, batch: int, receipts: Sequence[Receipt]) -> None:
        files = [TopicFile(*file) for receipt in receipts for file in receipt]
        with disk_errors(self._topic.folder, self._target.sink):
            self._topic.publish(self._target.pipeline, batch, files, self._kept_bytes)

    def discard(self, receipts: Sequence[Receipt]) -> None:
        self._topic.remove(name for receipt in receipts for name, _, _ in receipt)

    def sweep(self) -> None:
        self._topic.sweep(self._target.pipeline)


class TopicSinkTask:
    """The rows of one task: a file, if there are any."""

    def __init__(self, target: SinkTarget, topic: Topic) -> None:
        self._target = target
        self._topic = topic
        self._path: Path | None = None
        self._file: pa.OSFile | None = None
        self._writer: Any = None
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        parts = self._target.parts
        named = pa.RecordBatch.from_arrays(
            [batch.column(part.column) for part in parts], names=[part.name for part in parts]
        )
        with disk_errors(self._topic.folder, self._target.sink):
            if self._writer is None:
                self._path = self._topic.new_file(self._target.pipeline)
                self._file = pa.OSFile(str(self._path), "wb")
                self._writer = pa.ipc.new_file(self._file, named.schema)
            self._writer.write_batch(named)
        self._rows += batch.num_rows

    def close(self) -> Receipt:
        """The file is on the disk then."""
        if self._path is None or self._file is None:
            return []
        with disk_errors(self._topic.folder, self._target.sink):
            self._writer.close()
            self._file.close()
            with self._path.open("rb") as written:
                os.fsync(written.fileno())
            return [[self._path.name, self._rows, self._path.stat().st_size]]

    def discard(self) -> None:
        if self._path is not None and self._file is not None:
            self._file.close()
            self._path.unlink(missing_ok=True)
