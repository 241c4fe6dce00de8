"""Arrow columns as text, a column at a time: what the text encoders share.

Dates, times, numbers and binary values look as in Spark's `to_json`; `docs/encoding.md` lists what
differs. NULL stays NULL here: what stands for it is the encoder's business.
"""

from __future__ import annotations

from binascii import b2a_base64

import pyarrow as pa
import pyarrow.compute as pc

_YEAR_10000 = 253_402_300_800_000_000  # microseconds
_DAY_10000 = 2_932_897
_CYCLE_DAYS = 146_097
_DAY_MICROS = 86_400_000_000


def number_text(array: pa.Array) -> pa.Array:
    """Integers and decimals. Small decimals may have an exponent, as in Java."""
    return array.cast(pa.string())


def float_text(array: pa.Array) -> pa.Array:
    """The shortest digits that read back as the same number; whole numbers keep their `.0`.

    NaN and infinities are left as `NaN`, `Infinity` and `-Infinity`.
    """
    text = array.cast(pa.string())
    whole = pc.invert(pc.match_substring_regex(text, r"[.ena]"))
    text = pc.if_else(whole, pc.binary_join_element_wise(text, ".0", ""), text)
    unusual = pc.invert(pc.is_finite(array))
    if pc.any(unusual).as_py():
        text = pc.if_else(pc.is_nan(array), "NaN", text)
        endless = pc.if_else(pc.less(array, 0), "-Infinity", "Infinity")
        text = pc.if_else(pc.is_inf(array), endless, text)
    return text


def boolean_text(array: pa.Array) -> pa.Array:
    return pc.if_else(array, "true", "false")


def date_text(array: pa.Array) -> pa.Array:
    near, cycles = _near(array.cast(pa.int32()).cast(pa.int64()), _DAY_10000, _CYCLE_DAYS)
    text = near.cast(pa.int32()).cast(pa.date32()).cast(pa.string())
    return _with_far_years(text, cycles)


def timestamp_text(array: pa.Array, zone: str) -> pa.Array:
    """`2026-11-15T10:00:00.000Z`: milliseconds, in the zone of the session; a timestamp without
    zone has none in its text either."""
    micros = array.cast(pa.timestamp("us")).cast(pa.int64())
    near, cycles = _near(micros, _YEAR_10000, _CYCLE_DAYS * _DAY_MICROS)
    moments = near.cast(pa.timestamp("us", array.type.tz))
    return _with_far_years(_timestamp_text(moments, zone), cycles)


def _timestamp_text(array: pa.Array, zone: str) -> pa.Array:
    wall_clock = array.type.tz is None
    millis = pc.floor_temporal(array, unit="millisecond")
    if wall_clock:
        return pc.strftime(millis.cast(pa.timestamp("ms")), format="%Y-%m-%dT%H:%M:%S")
    if zone in ("UTC", "Z", "Etc/UTC"):
        text = pc.strftime(millis.cast(pa.timestamp("ms", "UTC")), format="%Y-%m-%dT%H:%M:%S")
        return pc.binary_join_element_wise(text, "Z", "")
    local = millis.cast(pa.timestamp("ms", zone))
    text = pc.strftime(local, format="%Y-%m-%dT%H:%M:%S%z")
    text = pc.replace_substring_regex(text, r"([+-]\d\d)(\d\d)$", r"\1:\2")
    return pc.replace_substring_regex(text, r"[+-]00:00$", "Z")


# --- far years ------------------------------------------------------------------------------------
#
# Arrow cannot write years beyond 32767. The calendar repeats itself every 400 years, so times from
# the year 10000 on, or as far before 1970, are brought near, written, and get their years back.


def _near(times: pa.Array, year_10000: int, cycle: int) -> tuple[pa.Array, pa.Array | None]:
    """Times without their surplus cycles of 400 years, and these; None if there are none."""
    if -year_10000 < (pc.min(times).as_py() or 0) and (pc.max(times).as_py() or 0) < year_10000:
        return times, None
    beyond = pc.divide(pc.subtract(times, year_10000), cycle)
    before = pc.divide(pc.add(times, year_10000), cycle)
    cycles = pc.if_else(
        pc.greater_equal(times, year_10000),
        pc.add(beyond, 1),
        pc.if_else(pc.less_equal(times, -year_10000), before, 0),
    )
    return pc.subtract(times, pc.multiply(cycles, cycle)), cycles


def _with_far_years(text: pa.Array, cycles: pa.Array | None) -> pa.Array:
    if cycles is None:
        return text
    both = zip(text.to_pylist(), cycles.to_pylist(), strict=True)
    return pa.array([_with_far_year(t, c) if c else t for t, c in both], pa.string())


def _with_far_year(text: str, cycles: int) -> str:
    """Years of more than four digits have a sign, as ISO 8601 wants it."""
    year, rest = text[: text.index("-", 1)], text[text.index("-", 1) :]
    return f"{int(year) + 400 * cycles:+05d}{rest}"


def base64_text(array: pa.Array) -> pa.Array:
    values = [None if v is None else b2a_base64(v, newline=False) for v in array.to_pylist()]
    return pa.array(values, pa.binary()).cast(pa.string())


def scalar_text(array: pa.Array, zone: str) -> pa.Array | None:
    """The text of a column of scalars other than strings; None for strings and nested values."""
    kind = array.type
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return number_text(array)
    if pa.types.is_floating(kind):
        return float_text(array)
    if pa.types.is_boolean(kind):
        return boolean_text(array)
    if pa.types.is_date(kind):
        return date_text(array)
    if pa.types.is_timestamp(kind):
        return timestamp_text(array, zone)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return base64_text(array)
    if pa.types.is_null(kind):
        return array.cast(pa.string())
    return None


def _is_large(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))


def bytes_of(column: pa.Array) -> memoryview:
    """The values of a column of text without NULLs, one after the other."""
    if not len(column):
        return memoryview(b"")
    _, offsets, data = column.buffers()
    starts = memoryview(offsets).cast("q" if _is_large(column.type) else "i")
    first, last = starts[column.offset], starts[column.offset + len(column)]
    return memoryview(data or b"")[first:last]
