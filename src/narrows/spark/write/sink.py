"""The sink: writes what a pipeline made, to all its sinks at once, exactly once.

Every task writes files of its own under temporary names: the last thing it does, so a streaming
query carries no row behind that but one for each task, which says what it wrote. When all tasks of
a micro-batch are done, the driver publishes their files under names that hold the batch's number.
Spark may run a batch again after a crash, but it runs it under the same number: then what the batch
published before is replaced, so every row is there once.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from narrows.files.atomic import sync_folder
from narrows.files.output_names import BatchFiles
from narrows.formats.encoder import encoder_spec
from narrows.worker.carried import Carried
from narrows.worker.payload_files import PayloadFiles, sweep_unpublished
from narrows.worker.write_spec import WriteSpec


@dataclass(frozen=True)
class Written:
    """What one task wrote under temporary names, by target; nothing when it had no rows."""

    files: tuple[tuple[str, ...], ...] = ()
    dead_letters: tuple[tuple[str, ...], ...] = ()


def write_task(spec: WriteSpec, batches: Iterator[pa.RecordBatch]) -> Written:
    """Writes the rows of one task to temporary files; runs in the executors."""
    files = [PayloadFiles(spec.pipeline, target) for target in spec.targets]
    try:
        for batch in batches:
            for target in files:
                target.add(batch)
        for target in files:
            target.close()
    except BaseException:
        for target in files:
            target.discard()
        raise
    written = tuple(tuple(target.written) for target in files)
    return Written(written, tuple(tuple(target.dead_letters) for target in files))


def publish_batch(spec: WriteSpec, written: Sequence[Written], batch: int) -> None:
    """Publishes what the tasks of a batch wrote; runs on the driver, when all of them are done."""
    for place, target in enumerate(spec.targets):
        suffix = encoder_spec(target.format).suffix
        files = [file for message in written if message.files for file in message.files[place]]
        letters = [f for message in written if message.files for f in message.dead_letters[place]]
        _publish(Path(target.folder), BatchFiles(spec.pipeline, batch, suffix), files)
        aside = BatchFiles(spec.pipeline, batch, ".ndjson")
        _publish(Path(target.dead_letters), aside, letters)


WRITTEN = "written"
"""The column in which tasks tell what they wrote."""
WRITTEN_SCHEMA = f"{WRITTEN} BINARY"


def tell(written: Written) -> pa.RecordBatch:
    """One row: what a task wrote."""
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(written)])], names=[WRITTEN])


def written_by_tasks(rows: DataFrame, spec: WriteSpec) -> DataFrame:
    """What tasks wrote of rows that are as the sinks take them."""
    carried = Carried(spec)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield tell(write_task(carried.value, batches))

    return rows.mapInArrow(write, WRITTEN_SCHEMA)


def publish_written(told: DataFrame, spec: WriteSpec, batch: int) -> None:
    """Has tasks write and tell what they wrote, and publishes it."""
    try:
        publish_batch(spec, [pickle.loads(row[WRITTEN]) for row in told.collect()], batch)
    except BaseException:
        sweep(spec)
        raise


def sweep(spec: WriteSpec) -> None:
    """Removes what tasks of earlier batches wrote that was never published."""
    for target in spec.targets:
        sweep_unpublished(spec.pipeline, target)


def discard(written: Sequence[Written]) -> None:
    """Removes what the tasks of a failed batch wrote."""
    for message in written:
        for paths in (*message.files, *message.dead_letters):
            for path in paths:
                Path(path).unlink(missing_ok=True)


def _publish(folder: Path, names: BatchFiles, files: Sequence[str]) -> None:
    """Gives the batch's files their names; what the batch had published before goes."""
    if not files and not folder.is_dir():
        return  # nothing was written there, now or before
    named = {names.name(part): file for part, file in enumerate(files)}
    for name, file in named.items():
        os.replace(file, folder / name)
    for name in os.listdir(folder):
        if name not in named and names.owns(name):
            (folder / name).unlink()
    sync_folder(folder)
