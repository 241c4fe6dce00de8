"""What the native kernel decodes itself, and what it leaves to the portable one."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from narrows.demand import ALL, NOTHING, fields
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.native import NativeJsonDecoder
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema
from support.kernels import array_of, lines_of, needs_native, outcome

pytestmark = needs_native

COMMON = (
    ("BOOLEAN", "true", "1", "null"),
    ("TINYINT", "127", "128", '"1"', "1.0"),
    ("BIGINT", "-9223372036854775808", "9223372036854775808", "[1]"),
    ("FLOAT", "1.5", "1e400", '"NaN"', '"x"', "12345678901234567890123"),
    ("DOUBLE", "-0.0", "-0", "5e-324", '"-INF"', "{}"),
    ("STRING", '"a"', '"\\u00e9\\n\\ud83d\\ude00"', "1e7", "-0", "1e400", '[1, {"a": null}]'),
    ("BINARY", '"YWI="', '""', "1"),
    ("DATE", '"2020-02-29"', '""', '"n/a"', "1"),
    ("TIMESTAMP", '"2020-01-02T03:04:05.678Z"', '"2020-01-02 03:04:05+01:00"', "1577934245"),
    ("DECIMAL(10, 2)", "1.005", "-7", '"2.5"', "123456789", "true"),
    ("STRUCT<x: INT>", '{"x": 1, "x": 2}', "[]", '{"\\u0078": 3}'),
    ("ARRAY<INT>", "[1, null, true]", "{}"),
    ("MAP<STRING, INT>", '{"a": 1, "a": 2, "\\u0000": 3}', "1"),
)
UNCOMMON = (
    ("STRING", '"\\ud800"', "[1.5]", '["\\n"]', '["😀"]'),
    ("BINARY", '"YQ==YQ=="', '"Y Q="', '"?"'),
    ("DATE", '"2020-2-9"', '"2021-02-29"', '"+2020-01-01"'),
    ("TIMESTAMP", '"2020-01-02"', '"2020-01-02T03:04:05 Europe/Paris"', '"2020-01-02T25:00:00Z"'),
    ("DECIMAL(10, 2)", "1e3", '"1,000"', '".5"', "1" * 40),
)


def left(schema: str, payload: str, zone: str = "UTC") -> bool:
    """Does the native kernel leave a payload to the portable one?"""
    projection = DecodeProjection(read_schema(schema), ALL)
    program = NativeJsonDecoder(zone)._programs.of(projection)
    return list(program.decoder.decode([payload.encode()]).left) == [0]


@pytest.mark.parametrize(("dtype", "value"), [(d, v) for d, *values in COMMON for v in values])
def test_common_values_are_decoded(dtype: str, value: str) -> None:
    assert not left(f"a {dtype}", f'{{"a": {value}}}')


@pytest.mark.parametrize(("dtype", "value"), [(d, v) for d, *values in UNCOMMON for v in values])
def test_uncommon_values_are_left(dtype: str, value: str) -> None:
    assert left(f"a {dtype}", f'{{"a": {value}}}')
    assert not left("b INT", f'{{"a": {value}}}')  # where nobody looks it does not matter


@pytest.mark.parametrize(
    "payload", ["", "1", "{", "{}}", "[{}, 1]", '{"a": 01}', '{"a": "\x01"}', "[" * 2000]
)
def test_what_is_no_object_is_left(payload: str) -> None:
    assert left("a INT", payload)


@pytest.mark.parametrize("payload", ["{}", "[]", "[{}, {}]", " {\r\n} ", "\ufeff{}"])
def test_objects_and_lists_of_them_are_decoded(payload: str) -> None:
    assert not left("a INT", payload)


def test_a_time_without_zone_is_read_in_a_fixed_zone_only() -> None:
    document = '{"t": "2020-01-02T03:04:05"}'
    assert not left("t TIMESTAMP", document, "+05:30")
    assert left("t TIMESTAMP", document, "Europe/Paris")


def both(documents: list[bytes], projection: DecodeProjection) -> tuple[Any, Any]:
    portable, native = JsonDecoder(), NativeJsonDecoder()
    fitting, pieces = lines_of(documents)
    assert fitting == documents
    expected = outcome(portable.decode_with_projection(documents, projection))
    assert outcome(native.decode_with_projection(documents, projection)) == expected
    assert outcome(native.decode_array(array_of(documents), projection)) == expected
    return expected, outcome(native.decode_lines(pieces, projection))


@pytest.mark.parametrize("every", [1, 2, 7, 500])
@pytest.mark.parametrize(
    "odd",
    [
        b'{"a": 7, "t": "2020-01-02"}',
        b'{"a": "x", "t": 1.5, "l": [{"x": "\\ud800"}, 1]}',
        b"no JSON",
        b'[{"a": 8, "t": "2020"}, {}, {"l": [{"x": "y"}]}]',
        b"[]",
    ],
)
def test_rows_stay_in_order(odd: bytes, every: int) -> None:
    """Whatever is left, and how much of it, rows come as their payloads do."""
    schema = read_schema("a INT, t TIMESTAMP, l ARRAY<STRUCT<x: STRING>>, m MAP<STRING, INT>")
    documents = []
    for number in range(1000):
        plain = {"a": number, "l": [{"x": f"text {number}"}] * (number % 3), "m": {"k": number}}
        documents.append(odd if number % every == 0 else json.dumps(plain).encode())
    for demand in (ALL, fields({"t": ALL}), NOTHING):
        expected, found = both(documents, DecodeProjection(schema, demand))
        assert found == expected


def test_names_that_no_c_string_can_hold() -> None:
    schema = read_schema("s ARRAY<STRUCT<`a\0b`: INT, m: MAP<STRING, STRUCT<`\0`: STRING>>>>")
    documents = [b'{"s": [{"a\\u0000b": 1, "m": {"k": {"\\u0000": "x"}, "l": null}}, null]}', b"{}"]
    expected, found = both(documents, DecodeProjection(schema, ALL))
    assert found == expected


def test_fifteen_thousand_columns() -> None:
    names = [f"signal_{number:05}_of_some_vehicle" for number in range(15_000)]
    schema = read_schema(", ".join(f"{name} BIGINT" for name in names))
    ordered = {name: place for place, name in enumerate(names)}
    documents = [json.dumps(ordered).encode(), json.dumps(dict(reversed(ordered.items()))).encode()]
    batch = (
        NativeJsonDecoder().decode_with_projection(documents, DecodeProjection(schema, ALL)).batch
    )
    assert [column.to_pylist() for column in batch.columns] == [[n, n] for n in range(15_000)]


def test_pieces_must_lie_within_their_bytes() -> None:
    projection = DecodeProjection(read_schema("a INT"), ALL)
    for piece in ((b"{}", 0, 3), (b"{}", 2, 1), (b"", 1, 1)):
        with pytest.raises(ValueError, match="goes beyond"):
            NativeJsonDecoder().decode_lines([piece], projection)


@pytest.mark.parametrize("payloads", [[None], ["{}"], [1]])
def test_payloads_are_an_array_of_binary_without_nulls(payloads: list[object]) -> None:
    projection = DecodeProjection(read_schema("a INT"), ALL)
    array = pa.array(payloads, pa.binary() if payloads == [None] else None)
    with pytest.raises(ValueError, match="no array of payloads"):
        NativeJsonDecoder().decode_array(array, projection)


def test_an_array_whose_offsets_are_wrong() -> None:
    projection = DecodeProjection(read_schema("a INT"), ALL)
    for ends in ((0, 99, 2), (0, -1, 2)):
        offsets = pa.array(ends, pa.int32()).buffers()[1]
        array = pa.Array.from_buffers(pa.binary(), 2, [None, offsets, pa.py_buffer(b"{}")])
        with pytest.raises(ValueError, match="no array of payloads"):
            NativeJsonDecoder().decode_array(array, projection)
