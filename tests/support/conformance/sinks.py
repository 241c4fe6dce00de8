"""The laws for sinks: nothing is seen before its batch is published, and then all of it, once."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from narrows import Catalog
from narrows.connectors.base import find_connector
from narrows.connectors.target import RowPart, SinkTarget, WriteSpec
from narrows.plugins.options import OptionValue
from narrows.worker.write import (
    Receipts,
    discard,
    publish,
    receipts_from_text,
    receipts_to_text,
    sweep,
    write_task,
)

PIPELINES = ("p", "p-0000000000", "*", "../out", "P q", "\n")
"""Some that could be taken for another's."""


class SinkCase(ABC):
    """A sink that the laws are held against; it is made anew for every test."""

    connector: str
    format = "json"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    @abstractmethod
    def options(self) -> Mapping[str, OptionValue]:
        """How a statement declares the sink, but for its connector."""

    @abstractmethod
    def visible(self) -> list[dict[str, Any]]:
        """The rows that anybody can see, of all pipelines."""

    @abstractmethod
    def hidden(self) -> Sequence[object]:
        """What is kept of rows that nobody can see."""

    @abstractmethod
    def disturb(self) -> object:
        """Puts something of the user's where it may be in the way."""

    @abstractmethod
    def disturbance(self) -> object:
        """What is there of that now."""

    def spec(self, pipeline: str = "p") -> WriteSpec:
        """As a pipeline would have it, carried to its tasks."""
        texts = [f"{name} = '{value}'" for name, value in self.options.items()]
        catalog = Catalog()
        clause = ", ".join([f"connector = '{self.connector}'", *texts])
        catalog.execute(f"CREATE SINK out WITH ({clause})")
        sink, connector = catalog.sink("out"), find_connector(self.connector)
        target = SinkTarget(
            pipeline=pipeline,
            sink="out",
            connector=self.connector,
            format=self.format,
            options=(*sink.options.items(), ("timezone", "UTC")),
            parts=(RowPart("o0", "id"), RowPart("o1", "t")),
            place=connector.place(sink.options, str(self.folder / "ours")),
            dead_letters=str(self.folder / "dead"),
            folder=str(self.folder / "kept"),
        )
        carried: WriteSpec = pickle.loads(pickle.dumps(WriteSpec((target,))))
        return carried


def _batch(ids: Sequence[int]) -> pa.RecordBatch:
    texts = pa.array([f"t{i}" for i in ids], pa.string())
    return pa.RecordBatch.from_arrays([pa.array(ids, pa.int64()), texts], names=["o0", "o1"])


def _write(spec: WriteSpec, *ids: int) -> Receipts:
    """What one task writes, and how the driver hears of it."""
    written = write_task(spec, iter([_batch(ids[:1]), _batch(ids[1:])]))
    return receipts_from_text(receipts_to_text(written))


def _ids(case: SinkCase) -> list[int]:
    rows = case.visible()
    assert all(row["t"] == f"t{row['id']}" for row in rows)
    return sorted(row["id"] for row in rows)


class SinkLaws:
    """For every sink."""

    def test_rows_are_seen_when_they_are_published(self, case: SinkCase) -> None:
        spec = case.spec()
        receipts = [_write(spec, 1, 2, 3), _write(spec), _write(spec, 4)]
        assert _ids(case) == []
        publish(spec, 0, receipts)
        assert _ids(case) == [1, 2, 3, 4]
        assert list(case.hidden()) == []

    def test_batches_stand_beside_each_other(self, case: SinkCase) -> None:
        spec = case.spec()
        for batch in range(3):
            publish(spec, batch, [_write(spec, 10 * batch), _write(spec, 10 * batch + 1)])
        assert _ids(case) == [0, 1, 10, 11, 20, 21]

    def test_a_batch_without_rows(self, case: SinkCase) -> None:
        spec = case.spec()
        publish(spec, 0, [])
        publish(spec, 1, [_write(spec)])
        assert _ids(case) == []

    def test_receipts_are_json(self, case: SinkCase) -> None:
        spec = case.spec()
        for ids in ((), (1, 2)):
            written = write_task(spec, iter([_batch(ids)]))
            assert receipts_from_text(receipts_to_text(written)) == written

    def test_a_task_that_fails_leaves_nothing(self, case: SinkCase) -> None:
        def rows() -> Iterator[pa.RecordBatch]:
            yield _batch([1, 2])
            raise RuntimeError("lost")

        with pytest.raises(RuntimeError, match="lost"):
            write_task(case.spec(), rows())
        assert list(case.hidden()) == []
        assert _ids(case) == []

    def test_what_is_discarded_is_gone(self, case: SinkCase) -> None:
        spec = case.spec()
        publish(spec, 0, [_write(spec, 1)])
        kept = _write(spec, 3)
        discard(spec, [_write(spec, 2), _write(spec)])
        publish(spec, 1, [kept])
        assert _ids(case) == [1, 3]
        assert list(case.hidden()) == []

    def test_what_crashes_left_is_swept_by_its_own_pipeline(self, case: SinkCase) -> None:
        specs = [case.spec(name) for name in PIPELINES]
        receipts = [_write(spec, number) for number, spec in enumerate(specs)]
        publish(specs[1], 0, [_write(specs[1], 77)])
        sweep(specs[0])
        for spec, receipt in list(zip(specs, receipts, strict=True))[1:]:
            publish(spec, 1, [receipt])
        assert _ids(case) == [*range(1, len(PIPELINES)), 77]
        for spec in specs:
            sweep(spec)
        assert list(case.hidden()) == []
        assert _ids(case) == [*range(1, len(PIPELINES)), 77]

    def test_pipelines_do_not_touch_what_is_not_theirs(self, case: SinkCase) -> None:
        before = case.disturb()
        for number, name in enumerate(PIPELINES):
            spec = case.spec(name)
            sweep(spec)
            publish(spec, 0, [_write(spec, number), _write(spec, 100 + number)])
            discard(spec, [_write(spec, 99)])
        assert case.disturbance() == before
        numbers = range(len(PIPELINES))
        assert _ids(case) == [*numbers, *(100 + number for number in numbers)]


class ExactlyOnceLaws:
    """For sinks that promise every row once: a batch that is run again replaces itself."""

    def test_it_says_so(self, case: SinkCase) -> None:
        assert find_connector(case.connector).guarantee == "exactly once"

    def test_a_batch_replaces_what_it_published(self, case: SinkCase) -> None:
        spec = case.spec()
        publish(spec, 0, [_write(spec, 1, 2), _write(spec, 3), _write(spec, 4)])
        publish(spec, 1, [_write(spec, 5)])
        publish(spec, 0, [_write(spec, 1), _write(spec, 2, 3)])
        assert _ids(case) == [1, 2, 3, 5]
        publish(spec, 0, [_write(spec)])
        assert _ids(case) == [5]
        publish(spec, 1, [])
        assert _ids(case) == []

    def test_and_only_its_own(self, case: SinkCase) -> None:
        specs = [case.spec(name) for name in PIPELINES]
        for _ in range(2):
            for number, spec in enumerate(specs):
                publish(spec, 0, [_write(spec, number)])
                publish(spec, 1, [_write(spec, 100 + number)])
        numbers = range(len(PIPELINES))
        assert _ids(case) == [*numbers, *(100 + number for number in numbers)]
