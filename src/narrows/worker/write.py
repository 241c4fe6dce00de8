"""What one task does with its rows: encode them for all sinks of the pipeline, and write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from narrows.connectors.base import Receipt, SinkConnector, SinkTask, find_connector
from narrows.connectors.target import WriteSpec


@dataclass(frozen=True)
class Receipts:
    """What one task wrote."""

    rows: int
    """Those that it handed to each of the sinks."""
    by_sink: Sequence[Receipt]


def writers_of(spec: WriteSpec) -> list[SinkConnector]:
    return [find_connector(target.connector).sink(target) for target in spec.targets]


def write_task(
    spec: WriteSpec, batches: Iterator[pa.RecordBatch], batch: int = 0, task: int = 0
) -> Receipts:
    """Writes the rows of one task; nobody sees them until the driver publishes them."""
    tasks: list[SinkTask] = []
    count = 0
    try:
        for writer in writers_of(spec):
            tasks.append(writer.open_task(spec.first_batch + batch, task))
        for rows in batches:
            count += rows.num_rows
            for one in tasks:
                one.add(rows)
        return Receipts(count, [one.close() for one in tasks])
    except BaseException:
        for one in tasks:
            one.discard()
        raise


def publish(spec: WriteSpec, batch: int, receipts: Sequence[Receipts]) -> int:
    """Publishes what the tasks of a batch wrote; on the driver, when all of them are done. Answers
    how many rows that were."""
    for place, writer in enumerate(writers_of(spec)):
        writer.publish(spec.first_batch + batch, [each.by_sink[place] for each in receipts])
    return sum(each.rows for each in receipts)


def discard(spec: WriteSpec, receipts: Sequence[Receipts]) -> None:
    """Removes what the tasks of a failed batch wrote."""
    for place, writer in enumerate(writers_of(spec)):
        writer.discard([each.by_sink[place] for each in receipts])


def sweep(spec: WriteSpec) -> None:
    """Removes what tasks of earlier batches wrote that was never published."""
    for writer in writers_of(spec):
        writer.sweep()


def receipts_to_text(receipts: Receipts) -> str:
    """How tasks tell the driver what they wrote."""
    return json.dumps(asdict(receipts))


def receipts_from_text(text: str) -> Receipts:
    return Receipts(**json.loads(text))
