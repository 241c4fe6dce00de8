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
    return _signed(array.cast(pa.string()), pc.greater_equal(array.cast(pa.int32()), _DAY_10000))


def timestamp_text(array: pa.Array, zone: str) -> pa.Array:
    """`2026-11-15T10:00:00.000Z`: milliseconds, in the zone of the session; a timestamp without
    zone has none in its text either."""
    wall_clock = array.type.tz is None
    millis = pc.floor_temporal(array, unit="millisecond")
    far = pc.greater_equal(array.cast(pa.timestamp("us")).cast(pa.int64()), _YEAR_10000)
    if wall_clock:
        text = pc.strftime(millis.cast(pa.timestamp("ms")), format="%Y-%m-%dT%H:%M:%S")
        return _signed(text, far)
    if zone in ("UTC", "Z", "Etc/UTC"):
        text = pc.strftime(millis.cast(pa.timestamp("ms", "UTC")), format="%Y-%m-%dT%H:%M:%S")
        return _signed(pc.binary_join_element_wise(text, "Z", ""), far)
    local = millis.cast(pa.timestamp("ms", zone))
    text = pc.strftime(local, format="%Y-%m-%dT%H:%M:%S%z")
    text = pc.replace_substring_regex(text, r"([+-]\d\d)(\d\d)$", r"\1:\2")
    return _signed(pc.replace_substring_regex(text, r"[+-]00:00$", "Z"), far)


def _signed(text: pa.Array, far: pa.Array) -> pa.Array:
    """Years of more than four digits have a sign, as ISO 8601 wants it."""
    if not pc.any(far).as_py():
        return text
    return pc.if_else(far, pc.binary_join_element_wise("+", text, ""), text)


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


def bytes_of(column: pa.Array) -> memoryview:
    """The values of a column of text without NULLs, one after the other."""
    if not len(column):
        return memoryview(b"")
    _, offsets, data = column.buffers()
    starts = memoryview(offsets).cast("q" if pa.types.is_large_string(column.type) else "i")
    first, last = starts[column.offset], starts[column.offset + len(column)]
    return memoryview(data or b"")[first:last]
