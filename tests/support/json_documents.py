"""JSON documents for every type, as text: what users send, and what they should not.

Texts and not Python values, because the spelling matters: `1`, `1.0` and `1e0`, escapes, spaces,
repeated keys. Everything is made by a `Choose`, so that Hypothesis and a seeded `Random` can both
make it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from narrows.demand import ALL, NOTHING, Demand, Fields, Items, Keys
from narrows.projection.columns import Aspect, FlatColumn, Key
from narrows.schema import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
)
from support.strategies import KEYS, NAMES, Choose

DECIMALS = (Decimal(10, 2), Decimal(38, 18), Decimal(5, 5), Decimal(3, 0))

RIGHT: dict[DataType, tuple[str, ...]] = {
    BOOLEAN: ("true", "false"),
    TINYINT: ("0", "-0", "127", "-128"),
    SMALLINT: ("1", "32767", "-32768"),
    INT: ("-1", "2147483647", "-2147483648"),
    BIGINT: ("7", "9223372036854775807", "-9223372036854775808", "4294967296"),
    FLOAT: ("1", "1.5", "-0.0", "1e39", "-1e400", '"NaN"', '"-Infinity"', '"+INF"', "16777217"),
    DOUBLE: (
        *("1", "0.1", "-0.0", "1e400", "1e-400", "9007199254740993", "18446744073709551615"),
        *('"NaN"', '"Infinity"', '"+Infinity"', '"-INF"', "123456789012345678901234567890"),
    ),
    STRING: (
        *('"a"', '""', '"\\u00e9\\n\\"\\\\\\/"', '"😀"', '"\\ud83d\\ude00"', '"\\u0000"', '"1"'),
        *("1", "-0", "1.50", "1e7", "12345678.9", "0.00012", "true", "12345678901234567890123"),
        *("[]", "{ }", '{"a" : [1, null, {"b" :\t"\\u001f\\u2028\\/"}]}', '["😀", 1.0e-5, false]'),
    ),
    BINARY: ('""', '"YQ=="', '"YWI="', '"+/+/"', '" YWJj\\tYWJj "', '"YQ==YWI="'),
    DATE: (
        *('"2020-02-29"', '"2020-1-2"', '"2020-01"', '"2020"', '"1969-12-31 whatever"'),
        *('"+2020-01-02"', '" 2020-01-02T00:00:00Z\\n"', '"12020-01-01"', '"-0001-01-01"'),
        *('"0000-02-29"', '"5881580-07-11"', '"2020-01-02GMT"'),
    ),
    TIMESTAMP: (
        *('"2020-01-02T03:04:05Z"', '"2020-01-02 03:04:05.123456"', '"2020-01-02"', '"2020"'),
        *('"2020-01-02T03:04:05.123456789+01:00"', '"2020-1-2 3:4"', '"2020-01-02T3"'),
        *('"2020-01-02T03:04:05 -0830"', '"2020-01-02T03:04:05+1"', '"1969-12-31T23:59:59.9Z"'),
        *('"2020-07-01T00:00:00 Europe/Paris"', '"2021-03-28T02:30:00Europe/Paris"'),
        *('"2021-10-31T02:30:00Europe/Paris"', '"2020-01-02T03:04:05PST"', '"0001-01-01"'),
        *('"2020-01-02T03:04:05UTC+3"', '"2020-01-02 03:04GMT"', '"12021-07-01T00:00:00CET"'),
        *('"294247-01-10T04:00:54.775807Z"', "0", "1577934245", "-1", "9223372036854"),
    ),
    Decimal(10, 2): (
        *("1", "1.005", "-2.345", "0.125", "99999999.994", "1e3", "1e-400", "-0.001", "0e99"),
        *('"2.345"', '"1,000.5"', '".5"', '"5."', '"+1e2"', "0.12499999999999999999"),
    ),
    Decimal(38, 18): (
        *("1.1234567890123456785", "12345678901234567890.123456789012345678", "0.1", "1.5e-17"),
        *("0.1000000000000000055511151231257827", "99999999999999999999", '"-0.5"', "7"),
    ),
    Decimal(5, 5): ("0.99999", "0.1", "-0.000005", "0.000004999999999999999999", '"0"'),
    Decimal(3, 0): ("0.5", "-1.5", "999.4", "2.4999999999999999999", "12", '"1e2"'),
}
"""JSON that is a value of each type, common and odd."""

WRONG: dict[DataType, tuple[str, ...]] = {
    BOOLEAN: ("1", '"true"', "[]"),
    TINYINT: ("256", "-129", "1.0", '"1"', "{}"),
    SMALLINT: ("32768", "1e2", "true"),
    INT: ("2147483648", "-2147483649", "0.5", '""', "123456789012345678901234567890"),
    BIGINT: ("9223372036854775808", "18446744073709551616", "1e0", '"7"', "[1]"),
    FLOAT: ('"1.5"', '"nan"', "true", '""', "[]"),
    DOUBLE: ('"inf"', '"INF"', '"0.1"', "false", "{}"),
    STRING: (),
    BINARY: ('"YQ"', '"Y Q=="', '"-_-_"', "1", "true", '"YQ==="'),
    DATE: ('"2020-02-30"', '"2020-01-02Z"', '"2020/01/02"', '""', "18262", '"5881580-07-12"'),
    TIMESTAMP: (
        *('"2020-01-02T24:00:00"', '"2020-02-30T00:00:00Z"', '"2020-01-02T03:04Z"', '"x"', '""'),
        *('"2020-01-02T03:04:05+19:00"', '"2020-01-02T03:04:05z"', "1.5", "true", "[]"),
        *('"2020-01-02T03:04:05Europe/Nowhere"', '"294247-01-10T04:00:54.775808Z"'),
    ),
    Decimal(10, 2): ("1e8", "99999999.995", '"1 "', '"NaN"', '"x"', '""', "true", "1e400"),
    Decimal(38, 18): ("1e20", "99999999999999999999.9999999999999999999", '"--1"', "[]"),
    Decimal(5, 5): ("1", "0.999995", '"1"'),
    Decimal(3, 0): ("999.5", "1000", "-1e3", "{}"),
}
"""JSON that is none, and reads as NULL."""


@dataclass(frozen=True)
class Manner:
    """How documents are written: which oddities they have."""

    wrong: bool = True
    """Values of the wrong type."""
    wrong_elements: bool = True
    """Also as elements of lists and values of maps."""
    repeated: bool = True
    """Repeated keys."""


def make_json_type(choose: Choose, depth: int) -> DataType:
    match choose(("scalar", "scalar", "struct", "list", "map")) if depth > 0 else "scalar":
        case "struct":
            return make_json_struct(choose, depth)
        case "list":
            return Array(make_json_type(choose, depth - 1))
        case "map":
            return Map(STRING, make_json_type(choose, depth - 1))
        case _:
            return choose(tuple(RIGHT))  # type: ignore[no-any-return]


def make_json_struct(
    choose: Choose, depth: int, names: Sequence[str] = NAMES, most: int = 4
) -> Struct:
    chosen = dict.fromkeys(choose(names) for _ in range(choose(range(1, most + 1))))
    return Struct(tuple(Field(name, make_json_type(choose, depth - 1)) for name in chosen))


def make_document(schema: Struct, choose: Choose, manner: Manner) -> bytes:
    """A payload that is an object."""
    return _object(_members(schema, choose, manner), choose).encode()


def make_json(dtype: DataType, choose: Choose, manner: Manner) -> str:
    """A value of a type as JSON, or null, or in some manners something else."""
    match choose(range(12)):
        case 11:
            return "null"
        case 10 if manner.wrong and not isinstance(dtype, (Struct, Array, Map)):
            return str(choose(WRONG[dtype] or RIGHT[dtype]))
        case 10 if manner.wrong:
            nested = ("[]", "{}", '[{"a": 1}]') if manner.wrong_elements else ()
            return str(choose(("1", '"text"', "true", *nested)))
    inside = manner if manner.wrong_elements else Manner(False, False, manner.repeated)
    match dtype:
        case Struct():
            return _object(_members(dtype, choose, manner), choose)
        case Array(element):
            count = choose((0, 1, 1, 2, 3, 5))
            texts = [make_json(element, choose, inside) for _ in range(count)]
            return "[" + _comma(choose).join(texts) + "]"
        case Map(_, value):
            names = [choose(KEYS[STRING]) for _ in range(choose(range(4)))]
            names = names if manner.repeated else list(dict.fromkeys(names))
            pairs = [(name, make_json(value, choose, inside)) for name in names]
            return _object(pairs, choose)
        case _:
            return str(choose(RIGHT[dtype]))


def _members(struct: Struct, choose: Choose, manner: Manner) -> list[tuple[str, str]]:
    pairs = [
        (member.name, make_json(member.type, choose, manner))
        for member in struct
        if choose(range(6))
    ]
    if choose(range(4)) == 0:
        pairs.insert(choose(range(len(pairs) + 1)), ("nobody asks", '{"a": [1, {"b": 2.5}]}'))
    if manner.repeated and pairs and choose(range(6)) == 0:
        again = struct.fields[choose(range(len(struct)))]
        pairs.append((again.name, make_json(again.type, choose, manner)))
    return pairs


def _object(pairs: list[tuple[str, str]], choose: Choose) -> str:
    colon = choose((":", ": ", " :\n"))
    members = (f"{_key(name, choose)}{colon}{text}" for name, text in pairs)
    return "{" + _comma(choose).join(members) + "}"


def _key(name: str, choose: Choose) -> str:
    if name and choose(range(12)) == 0:
        return f'"\\u{ord(name[0]):04x}{json.dumps(name[1:])[1:]}'
    return json.dumps(name)


def _comma(choose: Choose) -> str:
    return str(choose((",", ", ", "\t,\n")))


# --- decoded values -------------------------------------------------------------------------------


def rows_of(arrays: Sequence[pa.Array]) -> Iterator[tuple[Any, ...]]:
    return zip(*(plain(array) for array in arrays), strict=True)


def plain(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of an array, comparable: dates and times are numbers, because Python's end with
    the year 9999, NaN equals itself, and minus zero differs from zero.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    kind = array.type
    if pa.types.is_struct(kind):
        members = [plain(array.field(place)) for place in range(kind.num_fields)]
        names = [kind.field(place).name for place in range(kind.num_fields)]
        there = array.is_valid().to_pylist()
        return [
            {name: column[row] for name, column in zip(names, members, strict=True)} if t else None
            for row, t in enumerate(there)
        ]
    if pa.types.is_map(kind):
        pairs = list(zip(plain(array.keys), plain(array.items), strict=True))
        return _sliced(array, pairs)
    if pa.types.is_list(kind):
        return _sliced(array, plain(array.values))
    if pa.types.is_timestamp(kind):
        array = array.cast(pa.int64())
    elif pa.types.is_date32(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_floating(kind):
        return [repr(v) if v is not None and _odd(v) else v for v in array.to_pylist()]
    found: list[Any] = array.to_pylist()
    return found


def _odd(value: float) -> bool:
    return math.isnan(value) or value == 0


def _sliced(array: pa.Array, values: list[Any]) -> list[Any]:
    offsets, there = array.offsets.to_pylist(), array.is_valid().to_pylist()
    return [values[offsets[row] : offsets[row + 1]] if t else None for row, t in enumerate(there)]


# --- what a column of a projection should hold ----------------------------------------------------


def expected(row: dict[str, Any], column: FlatColumn) -> Any:
    """What a column holds of a row that was decoded in full."""
    value: Any = row
    for step in column.path:
        if value is None:
            break
        match step:
            case str():
                value = value[step]
            case int():
                value = value[step] if step < len(value) else None
            case Key(key):
                value = dict(value).get(key)
    match column.aspect:
        case Aspect.PRESENCE:
            return value is not None
        case Aspect.LENGTH:
            return None if value is None else len(value)
        case Aspect.VALUE:
            return _built(value, column.dtype, column.demand)


def _built(value: Any, target: DataType, demand: Demand) -> Any:
    if value is None or demand is NOTHING:
        return None
    match target:
        case Struct(members):
            return {
                m.name: _built(value.get(m.name), m.type, _part(demand, m.name)) for m in members
            }
        case Array(element):
            return [_built(v, element, _part(demand, i)) for i, v in enumerate(value)]
        case Map(_, inner):
            return [(k, _built(v, inner, _part(demand, k))) for k, v in value]
        case _:
            return value


def _part(demand: Demand, place: Any) -> Demand:
    if isinstance(demand, (Fields, Items, Keys)):
        return demand.at(place)
    return ALL if demand is ALL else NOTHING
