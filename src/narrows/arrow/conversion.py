"""Arrow values as values of another type, NULL where that cannot be.

Arrow converts a whole column or fails. So a column is converted as a whole first, which nearly
always succeeds, and only when it fails are the bad values looked for.

Texts are read as Spark reads them from CSV, but that spaces around a value do no harm.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.times import Zone, date_days, timestamp_micros
from narrows.arrow.types import arrow_type
from narrows.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    STRING,
    TIMESTAMP,
    DataType,
    Decimal,
)


def cast_or_null(values: pa.Array, target: pa.DataType) -> pa.Array:
    """The values as the target type, NULL where one cannot be.

    Bad values are found by halving, so that few of them cost little. Raises
    `pa.ArrowNotImplementedError` when the types have nothing in common.
    """
    if values.type == target:
        return values
    try:
        return values.cast(target)
    except pa.ArrowNotImplementedError:
        raise
    except pa.ArrowInvalid:
        if len(values) == 1:
            return pa.nulls(1, target)
    middle = len(values) // 2
    halves = values[:middle], values[middle:]
    return pa.concat_arrays([cast_or_null(half, target) for half in halves])


def from_text(texts: pa.Array, dtype: DataType, zone: Zone = 0) -> pa.Array:
    """What texts say, as values of a scalar type; NULL for a text that says no such value.

    The zone is that of times that name none.
    """
    if dtype == STRING:
        return texts
    if dtype == BINARY:
        return texts.cast(pa.binary())
    try:
        return _fast(texts, dtype, zone)
    except pa.ArrowInvalid:
        # Something is wrong, or only unusual: from here on speed is not the point.
        return _careful(pc.utf8_trim_whitespace(texts), dtype, zone)


# What a text says must not depend on the texts around it. So the fast way takes only what it reads
# as the careful way does, and refuses the whole column otherwise.

_TIME = r"-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_ZONED = rf"^[0-9]{{4}}{_TIME}(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9])$"
_LOCAL = rf"^(19[7-9][0-9]|20[0-2][0-9]|203[0-6]){_TIME}$"  # Arrow knows no clock changes from 2038


def _fast(texts: pa.Array, dtype: DataType, zone: Zone) -> pa.Array:
    if dtype == BOOLEAN:
        raise pa.ArrowInvalid("1 is true for Arrow, but not for Spark")
    if dtype in INTEGRAL and _any(pc.match_substring_regex(texts, "[xX]")):
        raise pa.ArrowInvalid("0x1F is a number for Arrow, but not for Spark")
    if isinstance(dtype, Decimal):
        # Of a number with too many digits Arrow may make another number.
        whole, scale = dtype.precision - dtype.scale, dtype.scale
        _require(texts, rf"^-?[0-9]{{0,{whole}}}(\.[0-9]{{0,{scale}}})?$")
    if dtype != TIMESTAMP:
        return texts.cast(arrow_type(dtype))
    if _all(texts, _ZONED):
        return texts.cast(arrow_type(TIMESTAMP))
    _require(texts, _LOCAL)
    local = texts.cast(pa.timestamp("us"))
    if isinstance(zone, ZoneInfo):
        # A time that a clock change leaves out raises ArrowInvalid, and is read the other way.
        utc = pc.assume_timezone(local, zone.key, ambiguous="earliest")
    else:
        utc = pc.subtract(local, pa.scalar(zone * 1_000_000, pa.duration("us")))
    return utc.cast(arrow_type(TIMESTAMP))


def _require(texts: pa.Array, pattern: str) -> None:
    if not _all(texts, pattern):
        raise pa.ArrowInvalid("a text that has to be read with care")


def _all(texts: pa.Array, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False


def _any(mask: pa.Array) -> bool:
    return bool(pc.any(mask).as_py())


def _careful(texts: pa.Array, dtype: DataType, zone: Zone) -> pa.Array:
    target = arrow_type(dtype)
    if dtype == BOOLEAN:
        lower = pc.utf8_lower(texts)
        known = pc.is_in(lower, value_set=pa.array(["true", "false"]))
        return pc.if_else(known, pc.equal(lower, "true"), pa.scalar(None, pa.bool_()))
    if dtype in INTEGRAL:
        texts = pc.replace_substring_regex(texts, r"^\+", "")
        return cast_or_null(_matching(texts, "^-?[0-9]+$"), target)
    if dtype in (FLOAT, DOUBLE):
        # This lets through whatever Arrow may take; a column of words is not tried one by one.
        return cast_or_null(_matching(texts, "(?i)^[-+]?([0-9.]|nan|inf)"), target)
    if dtype == DATE:
        return _each(texts, date_days, pa.int32()).cast(target)
    if dtype == TIMESTAMP:
        return _each(texts, lambda text: timestamp_micros(text, zone), pa.int64()).cast(target)
    assert isinstance(dtype, Decimal), dtype
    return _decimal(_matching(texts, r"^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$"), dtype)


def _matching(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.if_else(pc.match_substring_regex(texts, pattern), texts, pa.scalar(None, texts.type))


def _each(texts: pa.Array, read: Callable[[str], object], target: pa.DataType) -> pa.Array:
    return pa.array([t if t is None else read(t) for t in texts.to_pylist()], type=target)


def _decimal(texts: pa.Array, dtype: Decimal) -> pa.Array:
    """Digits beyond the scale are rounded half up, as Spark does; Arrow would refuse them."""
    step = decimal.Decimal(1).scaleb(-dtype.scale)
    context = decimal.Context(prec=76, rounding=decimal.ROUND_HALF_UP)

    def read(text: str) -> decimal.Decimal | None:
        try:
            value = decimal.Decimal(text).quantize(step, context=context)
        except decimal.InvalidOperation:
            return None
        return value if not value or value.adjusted() < dtype.precision - dtype.scale else None

    return _each(texts, read, arrow_type(dtype))
