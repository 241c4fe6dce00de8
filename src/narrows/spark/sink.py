"""The Spark sink: writes what a pipeline made, to all its sinks at once, exactly once.

Every task writes a file of its own under a temporary name. When all tasks of a micro-batch are
done, the driver publishes their files under names that hold the batch's number. Spark may run a
batch again after a crash, but it runs it under the same number: then what the batch published
before is replaced, so every row is there once.
"""

from __future__ import annotations

import base64
import os
import pickle
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from narrows.errors import InternalError

LINE = "line"
"""The name of the column that holds encoded lines."""


@dataclass(frozen=True)
class SinkTarget:
    """A folder that one of the pipeline's sinks writes to, and the ending of its files."""

    folder: str
    suffix: str = ".json"


@dataclass(frozen=True)
class WriteSpec:
    pipeline: str
    targets: tuple[SinkTarget, ...]

    def to_option(self) -> str:
        return base64.b64encode(pickle.dumps(self)).decode("ascii")

    @staticmethod
    def from_option(text: str) -> WriteSpec:
        spec = pickle.loads(base64.b64decode(text))
        if not isinstance(spec, WriteSpec):
            raise InternalError("the option `spec` holds no write specification")
        return spec


class NarrowsSink(DataSource):
    @classmethod
    def name(cls) -> str:
        return "narrows_sink"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        return _LineWriter(WriteSpec.from_option(self.options["spec"]))


@dataclass
class Written(WriterCommitMessage):
    """The temporary files of one task, one for each target; none when it had no rows."""

    files: tuple[str, ...]


class _LineWriter(DataSourceStreamArrowWriter):
    def __init__(self, spec: WriteSpec) -> None:
        self._spec = spec

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return write_task(self._spec, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        publish_batch(self._spec, [m for m in messages if isinstance(m, Written)], batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        discard([m for m in messages if isinstance(m, Written)])


def write_task(spec: WriteSpec, iterator: Iterator[pa.RecordBatch]) -> Written:
    """Writes the rows of one task to temporary files; runs in the executors."""
    batches = (batch for batch in iterator if batch.num_rows)
    first = next(batches, None)
    if first is None:
        return Written(())
    paths = []
    for target in spec.targets:
        Path(target.folder).mkdir(parents=True, exist_ok=True)
        paths.append(Path(target.folder) / f".{uuid.uuid4().hex}.writing")
    files = [path.open("wb") for path in paths]
    try:
        for batch in _chain(first, batches):
            lines = _lines(batch.column(batch.schema.get_field_index(LINE)))
            for file in files:
                file.write(lines)
        for file in files:
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        for path in paths:
            path.unlink(missing_ok=True)
        raise
    finally:
        for file in files:
            file.close()
    return Written(tuple(str(path) for path in paths))


def publish_batch(spec: WriteSpec, written: Sequence[Written], batch: int) -> None:
    """Publishes what the tasks of a batch wrote; runs on the driver, when all of them are done."""
    written = [message for message in written if message.files]
    for place, target in enumerate(spec.targets):
        _publish(spec.pipeline, target, batch, [message.files[place] for message in written])


def discard(written: Sequence[Written]) -> None:
    """Removes what the tasks of a failed batch wrote."""
    for message in written:
        for path in message.files:
            Path(path).unlink(missing_ok=True)


def _chain(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _lines(column: pa.Array) -> bytes:
    """The strings of a column, each with a line end; made in Arrow, not row by row."""
    ended = pc.binary_join_element_wise(column, "", "\n")
    joined = pc.binary_join(pa.ListArray.from_arrays([0, len(ended)], ended), "")
    text: bytes = joined[0].as_buffer().to_pybytes()
    return text


def _publish(pipeline: str, target: SinkTarget, batch: int, files: Sequence[str]) -> None:
    """Gives the batch's files their names; what the batch had published before goes."""
    folder = Path(target.folder)
    prefix = f"{pipeline}-{batch:010d}-"
    named = {f"{prefix}{place:05d}{target.suffix}": file for place, file in enumerate(files)}
    for name, file in named.items():
        os.replace(file, folder / name)
    for old in folder.glob(f"{prefix}*") if folder.is_dir() else ():
        if old.name not in named:
            old.unlink()
    if folder.is_dir():
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
