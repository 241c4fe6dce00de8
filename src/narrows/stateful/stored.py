"""What windows and functions remember, as bytes in a checkpoint: data, and nothing that could run.

The form is JSON behind a mark that says so. JSON's own values stand for themselves, everything else
is an object with one name, which says what it is: `{"decimal": "1.50"}`. What comes back is what
was kept, to the last bit of a NaN; only that times come back with a distance from UTC instead of a
zone.

Rows are kept column by column (`{"rows": ...}`), and columns of plain values as they stand, so that
a window of a thousand rows costs some dozens of steps in Python and not some thousands.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from narrows.errors import Code, InternalError, fail
from narrows.stateful.rows import WindowRow

FORM = "JSON, form 1"
"""Changes whenever what was kept can no longer be read. A pipeline's record holds it, so that an
older state is refused before anything runs."""

_MARK = b"NJ1 "
_ENCODER = json.JSONEncoder(separators=(",", ":"), check_circular=False)

_NONE = frozenset({type(None)})
_PLAIN = _NONE | {bool, int, str}
_FLOATS = _NONE | {float}
_ROW, _ROWS, _TUPLE, _TUPLES = "row", "rows", "tuple", "tuples"
_STRUCT, _DOUBLES, _EACH = "struct", "doubles", "each"
_MICROSECOND = timedelta(microseconds=1)


def to_bytes(state: Any) -> bytes:
    return _MARK + _ENCODER.encode(_written(state)).encode("ascii")


def from_bytes(stored: bytes) -> Any:
    if not stored.startswith(_MARK):
        raise fail(
            Code.CHECKPOINT_MISMATCH,
            "what the pipeline remembers was kept by another version of Narrows",
            hint="forget what the pipeline has done with `narrows reset <pipeline>`, or go on with"
            " the version that it was begun with",
        )
    return _read(json.loads(stored[len(_MARK) :].decode("ascii")))


# --- writing --------------------------------------------------------------------------------------


def _written(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return _written_list(value)
    if kind is tuple:
        return {_TUPLE: _written_list(value)}
    if kind is WindowRow:
        return {_ROW: _written_list(value)}
    if kind is dict:
        return {_STRUCT: {name: _written(part) for name, part in value.items()}}
    scalar = _SCALARS.get(kind)
    if scalar is None:
        raise InternalError(f"a value of {kind} cannot be kept in a checkpoint")
    name, write, _ = scalar
    return {name: write(value)}


def _written_list(values: Sequence[Any]) -> Any:
    kinds = set(map(type, values))
    if kinds <= _PLAIN:
        return values
    if kinds <= _FLOATS:
        return {_DOUBLES: _packed(values)}
    if kinds == {WindowRow}:
        return {_ROWS: [*map(_written_list, zip(*values, strict=True))]}
    if kinds == {tuple} and len(set(map(len, values))) == 1:
        return {_TUPLES: [len(values), *map(_written_list, zip(*values, strict=True))]}
    present = kinds - _NONE
    if len(present) == 1 and present <= _SCALARS.keys():
        name, write, _ = _SCALARS[present.pop()]
        return {_EACH: [name, [None if value is None else write(value) for value in values]]}
    return [_written(value) for value in values]


def _packed(values: Sequence[float | None]) -> list[Any]:
    """Their bits, one behind the other, and the places of those that are NULL."""
    missing = [place for place, value in enumerate(values) if value is None]
    numbers = [0.0 if value is None else value for value in values] if missing else values
    return [struct.pack(f"<{len(values)}d", *numbers).hex(), missing]


# --- reading --------------------------------------------------------------------------------------


def _read(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return value if set(map(type, value)) <= _PLAIN else [_read(part) for part in value]
    ((name, held),) = value.items()
    return _READ[name](held)


def _read_rows(columns: Sequence[Any]) -> list[WindowRow]:
    return [*map(WindowRow._make, zip(*map(_read, columns), strict=True))]


def _read_tuples(held: Sequence[Any]) -> list[Any]:
    count, *columns = held
    return [*zip(*map(_read, columns), strict=True)] if columns else [()] * count


def _read_each(held: tuple[str, Sequence[Any]]) -> list[Any]:
    name, parts = held
    read = _READ[name]
    return [None if part is None else read(part) for part in parts]


def _read_doubles(held: tuple[str, Sequence[int]]) -> list[float | None]:
    packed, missing = bytes.fromhex(held[0]), held[1]
    values: list[float | None] = list(struct.unpack(f"<{len(packed) // 8}d", packed))
    for place in missing:
        values[place] = None
    return values


# --- scalars --------------------------------------------------------------------------------------


def _bits(value: float) -> str:
    return struct.pack("<d", value).hex()


def _of_bits(text: str) -> float:
    (value,) = struct.unpack("<d", bytes.fromhex(text))
    return float(value)


_SCALARS: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    float: ("double", _bits, _of_bits),
    Decimal: ("decimal", str, Decimal),
    bytes: ("bytes", bytes.hex, bytes.fromhex),
    datetime: ("timestamp", datetime.isoformat, datetime.fromisoformat),
    date: ("date", date.isoformat, date.fromisoformat),
    time: ("time", time.isoformat, time.fromisoformat),
    timedelta: (
        "interval",
        lambda value: value // _MICROSECOND,
        lambda count: timedelta(microseconds=count),
    ),
}
"""The name of a type, how a value of it is written, and how it is read again."""

_READ: dict[str, Callable[[Any], Any]] = {
    _ROW: lambda held: WindowRow._make(_read(held)),
    _ROWS: _read_rows,
    _TUPLE: lambda held: tuple(_read(held)),
    _TUPLES: _read_tuples,
    _STRUCT: lambda held: {name: _read(part) for name, part in held.items()},
    _DOUBLES: _read_doubles,
    _EACH: _read_each,
    **{name: read for name, _, read in _SCALARS.values()},
}
