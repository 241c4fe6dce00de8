"""The JSON encoders, side by side: do the native ones write what the portable one writes?

As in `support.kernels`, cases are made by a `Choose`, for tests and for `tools/fuzz_encoders.py`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from narrows.demand import NOTHING
from narrows.formats.decoder import Decoded
from narrows.formats.encoder import Encoded, RowColumns, Values
from narrows.formats.fragments import encode_fragments
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.encoder import JsonEncoder
from narrows.formats.json.native import NativeJsonDecoder
from narrows.formats.json.native_encoder import NativeJsonEncoder
from narrows.projection.columns import DecodeProjection, Key, Path
from narrows.projection.fragments import Fragment, FragmentField
from narrows.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    Array,
    DataType,
    Field,
    Map,
    Struct,
)
from support.json_documents import make_json_struct, plain
from support.kernels import lines_of, make_payload, make_row_demand
from support.strategies import KEYS, Choose

# --- from documents -------------------------------------------------------------------------------


@dataclass(frozen=True)
class FragmentCase:
    projection: DecodeProjection
    documents: list[bytes]
    zone: str


def make_fragment_case(choose: Choose, most: int = 8) -> FragmentCase:
    schema = make_json_struct(choose, depth=4)
    demand = make_row_demand(choose, schema) if choose(range(2)) else NOTHING
    tested = make_row_demand(choose, schema) if choose(range(4)) == 0 else NOTHING
    fragments = tuple(_fragment(choose, schema) for _ in range(choose((1, 1, 2))))
    documents = [make_payload(choose, schema) for _ in range(choose(range(most + 1)))]
    zone = choose(("UTC", "UTC", "+01:00", "-09:30", "Europe/Paris"))
    projection = DecodeProjection(schema, demand, tested=tested, fragments=fragments)
    return FragmentCase(projection, documents, zone)


def _fragment(choose: Choose, schema: Struct) -> Fragment:
    if choose(range(3)) == 0:  # SELECT *
        fields = [FragmentField((m.name,), m.name, m.type) for m in schema]
    else:
        fields = [_field(choose, schema, place) for place in range(choose(range(1, 5)))]
    return Fragment("json", (("omit_null_columns", choose((False, True))),), tuple(fields))


def _field(choose: Choose, schema: Struct, place: int) -> FragmentField:
    path: Path = ()
    dtype: DataType = schema
    while not path or choose(range(2)):
        match dtype:
            case Struct(members):
                member = choose(members)
                path, dtype = (*path, member.name), member.type
            case Array(element):
                path, dtype = (*path, choose((0, 1, 2))), element
            case Map(_, value):
                path, dtype = (*path, Key(choose(KEYS[STRING]))), value
            case _:
                break
    name = choose((str(path[-1]), f'o"{place}\n', f"f{place}"))
    return FragmentField(path, name, dtype)


_COPIED_TYPES = (*(STRING,) * 4, BIGINT, INT, DOUBLE, BOOLEAN, DATE)
_COPIED_VALUES: dict[DataType, tuple[str, ...]] = {
    STRING: ('"x"', '""', '"a, b: {c}"', '"ü ☃"', '"{}"', '"a longer text, with a comma"'),
    BIGINT: ("0", "7", "-12", "1234567890123", "-0", "1e3", "12345678901234567890"),
    INT: ("0", "7", "-12", "3000000000", "1.0"),
    DOUBLE: ("0.5", "-12.25", "1.0", "1.50", "3", "1e-7"),
    BOOLEAN: ("true", "false"),
    DATE: ('"2024-02-29"', '"2024-2-9"', '"no date"'),
}
_ODD_VALUES = (*("null",) * 6, "[1]", '{"a":1}', '"\\n"', '"\\u0041"', "5", '"5"', "true")


def make_copied_case(choose: Choose, most: int = 8) -> FragmentCase:
    """Documents that can mostly be copied as they stand, and some in which one thing is odd."""
    names = ("a", "b", "ab", "a_long_name_of_a_column", "ü", "name with spaces", "c")
    members = [Field(name, choose(_COPIED_TYPES)) for name in names[: choose(range(1, 8))]]
    fields = [FragmentField((m.name,), m.name, m.type) for m in members]
    if choose(range(6)) == 0:
        fields.append(fields.pop(0))
    if choose(range(6)) == 0:
        fields[0] = replace(fields[0], name="other")
    options = (("omit_null_columns", choose((False, False, True))),)
    fragment = Fragment("json", options, tuple(fields))
    documents = [_copied(choose, members) for _ in range(choose(range(most + 1)))]
    projection = DecodeProjection(Struct(tuple(members)), NOTHING, fragments=(fragment,))
    return FragmentCase(projection, documents, "UTC")


def _copied(choose: Choose, schema: list[Field]) -> bytes:
    members = [[f'"{m.name}"', ":", choose(_COPIED_VALUES[m.type][:4]), ","] for m in schema]
    place = choose(range(len(members)))
    match choose(range(32)):
        case 0:
            members[place][2] = choose((*_ODD_VALUES, *_COPIED_VALUES[schema[place].type]))
        case 1:
            part = choose(range(4))
            members[place][part] = choose((" {}", "{} ")).format(members[place][part])
        case 2:
            members.append(members.pop(place))
        case 3:
            members.pop(place)
        case 4:
            members.insert(place, ['"more"', ":", choose(_ODD_VALUES), ","])
        case 5:
            members.append(list(members[place]))
        case 6:
            members[place][choose(range(4))] = choose(("", '"', "}", "x", "{"))
        case 7:  # as long, but another one
            members[place][0] = members[place][0].replace(schema[place].name[-1], "z")
    inside = "".join("".join(member) for member in members).rstrip()
    text = "{" + inside.removesuffix(",") + choose(("}",) * 8 + (" }", "} ", "", ",}"))
    return f"[{text},{text}]".encode() if choose(range(12)) == 0 else text.encode()


def fragments_outcome(decoded: Decoded, case: FragmentCase) -> dict[str, Any]:
    """All that one can tell of what was decoded and encoded."""
    fragments, batch = decoded.fragments, decoded.batch
    if fragments is None:
        fragments = encode_fragments(case.projection, batch, case.zone)
        batch = batch.select(list(range(case.projection.observed)))
    for column in (*batch.columns, *fragments):
        column.validate(full=True)
    assert all(fragment.type == pa.binary() for fragment in fragments)
    return {
        "rows": batch.num_rows,
        "columns": [plain(column) for column in batch.columns],
        "fragments": [fragment.to_pylist() for fragment in fragments],
        "bad": [(bad.position, bad.reason) for bad in decoded.bad],
        "mistyped": decoded.mistyped,
        "row_positions": decoded.row_positions,
    }


def assert_equal_fragments(case: FragmentCase) -> None:
    portable, native = JsonDecoder(case.zone), NativeJsonDecoder(case.zone)
    expected = portable.decode_with_projection(case.documents, case.projection)
    one = fragments_outcome(expected, case)
    found = native.decode_with_projection(case.documents, case.projection)
    other = fragments_outcome(found, case)
    assert one == other, (case, one, other)
    documents, pieces = lines_of(case.documents)
    if len(documents) < len(case.documents):
        expected = portable.decode_with_projection(documents, case.projection)
        one = fragments_outcome(expected, case)
    other = fragments_outcome(native.decode_lines(pieces, case.projection), case)
    assert one == other, (case, one, other)


# --- from Arrow columns ---------------------------------------------------------------------------

_TEXTS = ("", "a", 'q"\\', "\n\t\r\b\f", "\x00\x1f\x7f", "grüße ☃ 😀", "/", "x" * 100)
_DAY_10000 = 2_932_897
_MICROS_10000 = _DAY_10000 * 86_400_000_000


def _integers(bits: int, signed: bool = True) -> Callable[[Choose], int]:
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    edges = (least, least + 1, most, most - 1)

    def make(choose: Choose) -> int:
        return int(choose((*edges, choose(range(-9, 10)) if signed else choose(range(10)))))

    return make


def _double(choose: Choose) -> float:
    """Any bits, or a number with few digits around one of the sizes where the form changes."""
    if choose(range(3)):
        size = 10.0 ** choose(range(-9, 13))
        return float(choose((1, -1)) * round(choose(range(1, 10_000)) / 1000, 3) * size)
    return float(struct.unpack("d", bytes(choose(range(256)) for _ in range(8)))[0])


def _float(choose: Choose) -> float:
    number = _double(choose)
    return number if abs(number) < 3e38 or not math.isfinite(number) else 0.0


def _decimal(precision: int, scale: int) -> Callable[[Choose], Decimal]:
    def make(choose: Choose) -> Decimal:
        digits = choose(range(1, precision + 1))
        units = int("".join(choose("0123456789") for _ in range(digits)))
        return Decimal(choose((units, -units, 0))).scaleb(-scale)

    return make


def _near(*centres: int) -> Callable[[Choose], int]:
    return lambda choose: int(choose(centres)) + int(choose(range(-2000, 2001)))


def _bytes(choose: Choose) -> bytes:
    return bytes(choose(range(256)) for _ in range(choose(range(7))))


_SCALARS: tuple[tuple[pa.DataType, Callable[[Choose], Any]], ...] = (
    (pa.bool_(), lambda choose: choose((True, False))),
    (pa.int8(), _integers(8)),
    (pa.int16(), _integers(16)),
    (pa.int32(), _integers(32)),
    (pa.int64(), _integers(64)),
    (pa.uint32(), _integers(32, signed=False)),
    (pa.uint64(), _integers(64, signed=False)),
    (pa.float64(), _double),
    (pa.float32(), _float),
    (pa.decimal128(10, 2), _decimal(10, 2)),
    (pa.decimal128(38, 18), _decimal(38, 18)),
    (pa.decimal128(38, 38), _decimal(38, 38)),
    (pa.decimal128(5, 0), _decimal(5, 0)),
    (pa.string(), lambda choose: choose(_TEXTS)),
    (pa.large_string(), lambda choose: choose(_TEXTS)),
    (pa.binary(), _bytes),
    (pa.date32(), _near(0, 20_000, _DAY_10000, -719_528, -(2**31) + 2000, 2**31 - 2001)),
    (pa.timestamp("us", "UTC"), _near(0, 10**15, _MICROS_10000, -62_135_596_800_000_000)),
    (pa.timestamp("us"), _near(0, 10**15, _MICROS_10000, -62_135_596_800_000_000)),
    (pa.null(), lambda choose: None),
)


def make_column(choose: Choose, rows: int, depth: int = 2) -> pa.Array:
    """A column, which may be a part of a longer one."""
    before, after = choose((0, 0, 1, 3)), choose((0, 0, 2))
    return _make_column(choose, before + rows + after, depth).slice(before, rows)


def _make_column(choose: Choose, rows: int, depth: int) -> pa.Array:
    absent = pa.array([choose(range(4)) == 0 for _ in range(rows)], pa.bool_())
    mask = absent if choose(range(3)) else None
    match choose(("scalar", "scalar", "struct", "list", "map")) if depth else "scalar":
        case "struct":
            names = [choose(("a", 'b"', "c c")) for _ in range(choose((1, 2, 3)))]
            parts = [make_column(choose, rows, depth - 1) for _ in names]
            return pa.StructArray.from_arrays(parts, names, mask=mask)
        case "list":
            offsets, count = _offsets(choose, rows)
            elements = make_column(choose, count, depth - 1)
            return pa.ListArray.from_arrays(offsets, elements, mask=mask)
        case "map":
            offsets, count = _offsets(choose, rows)
            keys = pa.array([choose(_TEXTS) for _ in range(count)], pa.string())
            if choose(range(4)) == 0:
                keys = pa.array([choose(range(-9, 10)) for _ in range(count)], pa.int64())
            values = make_column(choose, count, depth - 1)
            return pa.MapArray.from_arrays(offsets, keys, values, mask=mask)
        case _:
            kind, make = choose(_SCALARS)
            values = [None if choose(range(5)) == 0 else make(choose) for _ in range(rows)]
            if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
                plain = pa.int64() if pa.types.is_timestamp(kind) else pa.int32()
                return pa.array(values, plain).cast(kind)
            return pa.array(values, kind)


def _offsets(choose: Choose, rows: int) -> tuple[pa.Array, int]:
    ends = [0]
    for _ in range(rows):
        ends.append(ends[-1] + choose((0, 1, 1, 3)))
    return pa.array(ends, pa.int32()), ends[-1]


def assert_equal_encoders(choose: Choose) -> None:
    """Makes some rows, and encodes them with both."""
    rows = choose((0, 1, 2, 5))
    columns = [make_column(choose, rows) for _ in range(choose((1, 2, 4)))]
    zone = choose(("UTC", "UTC", "+01:00", "-09:30", "Europe/Paris"))
    portable = JsonEncoder(zone, omit_null_columns=choose((False, True)))
    native = NativeJsonEncoder(portable)
    names = [choose(("a", "ü", 'q"\n')) for _ in columns]
    fields = tuple(FragmentField((name,), name, BIGINT) for name in names)
    fragment = Fragment("json", (), fields)
    one = portable.fragment(fragment, columns).cast(pa.binary())
    other = native.fragment(fragment, columns).cast(pa.binary())
    assert one.to_pylist() == other.to_pylist(), (zone, columns)
    encoded = pa.array([None if choose(range(3)) == 0 else v.as_py() for v in one], pa.binary())
    parts: RowColumns = [
        *(Values(name, column) for name, column in zip(names, columns, strict=True)),
        Encoded(fragment, encoded),
    ]
    end = choose(("\n", ",\n"))
    written = [e.objects(parts, end).cast(pa.binary()) for e in (portable, native)]
    assert written[0].to_pylist() == written[1].to_pylist(), (zone, columns)
