"""Rows whose event time cannot be read make no row, and say so."""

from __future__ import annotations

import pyarrow as pa
import pytest

from narrows.formats.decoder import BadPayload, Decoded
from narrows.worker.event_time import EventTime, with_event_time

MISSING = "the event time `t` is missing, or cannot be read"
BEYOND = "the event time `t` is out of range"


def decoded(times: pa.Array, **more: object) -> Decoded:
    numbers = pa.array(range(len(times)), pa.int64())
    batch = pa.RecordBatch.from_arrays([numbers, times], names=["a", "t"])
    return Decoded(batch, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("unit", "last"), [("s", 253402300799), ("ms", 253402300799000)])
def test_epochs_inside_the_years_1_to_9999_are_read(unit: str, last: int) -> None:
    times = pa.array([0, None, last, last + 1, -(2**62)], pa.int64())
    kept = with_event_time(decoded(times), EventTime("t", 1, unit))
    assert kept.batch.column(0).to_pylist() == [0, 2]
    assert kept.bad == [BadPayload(1, MISSING), BadPayload(3, BEYOND), BadPayload(4, BEYOND)]
    assert kept.row_positions == [0, 2]


def test_a_timestamp_is_read_or_not() -> None:
    times = pa.array([None, 1, None], pa.timestamp("us", "UTC"))
    kept = with_event_time(decoded(times), EventTime("t", 1))
    assert kept.batch.column(0).to_pylist() == [1]
    assert [problem.position for problem in kept.bad] == [0, 2]


def test_positions_are_those_of_the_payloads() -> None:
    """Payload 1 was bad before, payload 2 is a list of two records, one of them without time."""
    bad = [BadPayload(1, "no JSON")]
    before = decoded(pa.array([5, 6, None], pa.int64()), bad=bad, row_positions=[0, 2, 2])
    kept = with_event_time(before, EventTime("t", 1, "ms"))
    assert kept.bad == [*bad, BadPayload(2, MISSING)]
    assert kept.row_positions == [0, 2]


def test_nothing_is_copied_when_all_is_well() -> None:
    before = decoded(pa.array([5, 6], pa.int64()))
    assert with_event_time(before, EventTime("t", 1, "ms")) is before
    empty = decoded(pa.array([], pa.int64()))
    assert with_event_time(empty, EventTime("t", 1, "ms")) is empty
