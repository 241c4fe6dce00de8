"""Event times as a reader sees them: which rows have one that can be read.

A row without a readable event time belongs to no window and would stand still while the watermark
moves on. So it makes no row: its payload is reported as bad, with a reason that says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from narrows.formats.decoder import BadPayload, Decoded

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999: beyond them Spark has no timestamps to show."""


@dataclass(frozen=True)
class EventTime:
    """Where a decoder's batches hold the event time, and in which unit; None for timestamps."""

    column: str
    place: int
    unit: str | None = None


def with_event_time(decoded: Decoded, eventtime: EventTime) -> Decoded:
    """The rows whose event time can be read; the payloads of all others are bad."""
    batch = decoded.batch
    values = batch.column(eventtime.place)
    readable = _readable(values, eventtime.unit)
    if pc.all(readable).as_py() in (True, None):  # None: there is no row
        return decoded
    kept = pc.indices_nonzero(readable)
    lost = pc.indices_nonzero(pc.invert(readable)).to_pylist()
    positions = decoded.row_positions
    bad = [
        BadPayload(row if positions is None else positions[row], _reason(eventtime, values[row]))
        for row in lost
    ]
    return replace(
        decoded,
        batch=batch.take(kept),
        fragments=_kept(decoded.fragments, kept),
        bad=sorted((*decoded.bad, *bad), key=lambda problem: problem.position),
        row_positions=_taken(positions, kept.to_pylist()),
    )


def newest_of(times: pa.Array, unit: str | None) -> int:
    """The newest event time, in milliseconds; 0 if there is none."""
    newest = pc.max(times)
    if not newest.is_valid:
        return 0
    if unit is None:
        return int(newest.cast(pa.timestamp("us", newest.type.tz)).value) // 1_000
    value = int(newest.as_py())
    return {"s": value * 1_000, "ms": value, "us": value // 1_000}[unit]


def _kept(fragments: Sequence[pa.Array] | None, rows: pa.Array) -> Sequence[pa.Array] | None:
    return None if fragments is None else [fragment.take(rows) for fragment in fragments]


def _taken(positions: Sequence[int] | None, rows: Sequence[int]) -> Sequence[int]:
    return rows if positions is None else [positions[row] for row in rows]


def _readable(values: pa.Array, unit: str | None) -> pa.Array:
    if unit is None:
        return pc.is_valid(values)
    factor = _PER_SECOND[unit]
    low, high = _FIRST_SECOND * factor, _LAST_SECOND * factor
    inside = pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high))
    return pc.fill_null(inside, False)


def _reason(eventtime: EventTime, value: pa.Scalar) -> str:
    if value.is_valid:
        return f"the event time `{eventtime.column}` is out of range"
    return f"the event time `{eventtime.column}` is missing, or cannot be read"
