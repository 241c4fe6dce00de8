"""What the encoders write: values of every type, NULLs at every level, layouts, splicing."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from narrows.formats.base import find_format
from narrows.formats.encoder import Encoded, RowColumns, SplicingEncoder, Values
from narrows.projection.fragments import Fragment, FragmentField
from narrows.schema import BIGINT, STRING

pytestmark = pytest.mark.usefixtures("kernel")


def written(format: str, *batches: RowColumns, **options: object) -> bytes:
    file = io.BytesIO()
    payload = find_format(format).encoder(options).open(file)
    for batch in batches:
        payload.add(batch)
    payload.close()
    return file.getvalue()


def text_of(value: Any, dtype: pa.DataType, **options: object) -> str:
    """The JSON text of one value."""
    line = written("json", [Values("v", pa.array([value], dtype))], **options).decode()
    assert line.startswith('{"v":')
    assert line.endswith("}\n")
    return line[5:-2]


NESTED = '{"a":null,"b":"x"}'
UTC_MICROS = pa.timestamp("us", tz="UTC")


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (None, pa.int64(), "null"),
        (True, pa.bool_(), "true"),
        (-(2**63), pa.int64(), "-9223372036854775808"),
        (1.0, pa.float64(), "1.0"),
        (-0.0, pa.float64(), "-0.0"),
        (0.1, pa.float64(), "0.1"),
        (1e20, pa.float64(), "1e+20"),
        (1.5e-7, pa.float64(), "1.5e-7"),
        (5e-324, pa.float64(), "5e-324"),
        (1.7976931348623157e308, pa.float64(), "1.7976931348623157e+308"),
        (float("nan"), pa.float64(), '"NaN"'),
        (float("inf"), pa.float64(), '"Infinity"'),
        (float("-inf"), pa.float32(), '"-Infinity"'),
        (0.1, pa.float32(), "0.1"),
        (Decimal("-12.340"), pa.decimal128(10, 3), "-12.340"),
        ("", pa.string(), '""'),
        ("grüße ☃ 😀", pa.string(), '"grüße ☃ 😀"'),
        ('a"b\\c/d', pa.string(), r'"a\"b\\c/d"'),
        ("\n\t\r\b\f\x00\x1f\x7f", pa.string(), '"\\n\\t\\r\\b\\f\\u0000\\u001f\x7f"'),
        (b"\x00\xffab", pa.binary(), '"AP9hYg=="'),
        (date(2026, 11, 15), pa.date32(), '"2026-11-15"'),
        (datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC), UTC_MICROS, '"2026-01-02T03:04:05.678Z"'),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999), UTC_MICROS, '"1969-12-31T23:59:59.999Z"'),
        (datetime(2026, 1, 2), pa.timestamp("us"), '"2026-01-02T00:00:00.000"'),
        ([], pa.list_(pa.int64()), "[]"),
        ([1, None, 3], pa.list_(pa.int64()), "[1,null,3]"),
        ([[1], None, []], pa.list_(pa.list_(pa.int64())), "[[1],null,[]]"),
        ({"a": None, "b": "x"}, pa.struct({"a": pa.int64(), "b": pa.string()}), NESTED),
        ([{"a": 1}, None], pa.list_(pa.struct({"a": pa.int64()})), '[{"a":1},null]'),
        ([("k", 1), ('"', None)], pa.map_(pa.string(), pa.int64()), r'{"k":1,"\"":null}'),
        ([(7, [1])], pa.map_(pa.int64(), pa.list_(pa.int64())), '{"7":[1]}'),
        (None, pa.null(), "null"),
    ],
)  # fmt: skip
def test_json_values(value: Any, dtype: pa.DataType, expected: str) -> None:
    assert text_of(value, dtype) == expected
    json.loads(expected)


def test_years_of_five_digits_have_a_sign() -> None:
    day_10000 = pa.array([2_932_897, 0], pa.int32()).cast(pa.date32())
    moment = pa.array([253_402_300_800_000_000, 0], pa.int64()).cast(UTC_MICROS)
    lines = written("json", [Values("d", day_10000), Values("t", moment)]).decode().splitlines()
    assert lines == [
        '{"d":"+10000-01-01","t":"+10000-01-01T00:00:00.000Z"}',
        '{"d":"1970-01-01","t":"1970-01-01T00:00:00.000Z"}',
    ]


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("Europe/Berlin", "2026-07-01T02:00:00.000+02:00"),
        ("America/New_York", "2026-06-30T20:00:00.000-04:00"),
        ("Europe/London", "2026-07-01T01:00:00.000+01:00"),
        ("Africa/Abidjan", "2026-07-01T00:00:00.000Z"),
    ],
)
def test_timestamps_are_written_in_the_sessions_zone(zone: str, expected: str) -> None:
    moment = datetime(2026, 7, 1, tzinfo=UTC)
    assert text_of(moment, UTC_MICROS, timezone=zone) == f'"{expected}"'


def test_years_that_arrow_cannot_count() -> None:
    days = pa.array([2**31 - 1, -719_529, -(2**31)], pa.int32()).cast(pa.date32())
    moments = pa.array([2**63 - 1, -62_198_755_200_000_000, -(2**63)], pa.int64()).cast(UTC_MICROS)
    lines = written("json", [Values("d", days), Values("t", moments)]).decode().splitlines()
    assert lines == [
        '{"d":"+5881580-07-11","t":"+294247-01-10T04:00:54.775Z"}',
        '{"d":"-0001-12-31","t":"-0001-01-01T00:00:00.000Z"}',
        '{"d":"-5877641-06-23","t":"-290308-12-21T19:59:05.224Z"}',
    ]


def test_a_part_of_a_column_of_maps_of_structs() -> None:
    kind = pa.map_(pa.string(), pa.struct({"x": pa.int64()}))
    maps = pa.array([[("a", {"x": 1})], [("b", {"x": 2}), ("c", None)], None], kind)
    lines = written("json", [Values("m", maps.slice(1))]).decode().splitlines()
    assert lines == ['{"m":{"b":{"x":2},"c":null}}', '{"m":null}']


def test_sliced_columns_are_written_from_where_they_start() -> None:
    lists = pa.array([[1], [2, 3], None, [4]], pa.list_(pa.int64())).slice(1, 3)
    texts = pa.array(["x\n", "a", "b", None]).slice(1, 3)
    maps = pa.array([[("a", 1)], [], [("b", 2)], None], pa.map_(pa.string(), pa.int64())).slice(
        1, 3
    )
    rows = [Values("l", lists), Values("t", texts), Values("m", maps)]
    assert written("json", rows).decode().splitlines() == [
        '{"l":[2,3],"t":"a","m":{}}',
        '{"l":null,"t":"b","m":{"b":2}}',
        '{"l":[4],"t":null,"m":null}',
    ]


def numbers(name: str, values: Sequence[int | None]) -> Values:
    return Values(name, pa.array(values, pa.int64()))


def test_null_columns_may_be_left_out() -> None:
    rows = [numbers("a", [None, 1, None]), numbers("b", [2, None, None])]
    lines = written("json", rows, omit_null_columns=True).decode()
    assert lines == '{"b":2}\n{"a":1}\n{}\n'


def test_a_payload_may_be_one_list() -> None:
    batches = [[numbers("a", [1, 2])], [numbers("a", [3])]]
    text = written("json", *batches, layout="array")
    assert json.loads(text) == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert written("json", layout="array") == b"[]\n"


def fragment(format: str, names: Sequence[str], **options: object) -> Fragment:
    fields = tuple(FragmentField((name,), f"{name}_out", BIGINT) for name in names)
    return Fragment(format, tuple(options.items()), fields)


@pytest.mark.parametrize("format", ["json", "csv"])
@pytest.mark.parametrize("omit", [False, True])
def test_fragments_are_spliced_in_their_place(format: str, omit: bool) -> None:
    options: dict[str, object] = {"omit_null_columns": omit, "header": True}
    encoder = find_format(format).encoder(options)
    assert isinstance(encoder, SplicingEncoder)
    a, b = pa.array([1, None, 3], pa.int64()), pa.array([None, None, 6], pa.int64())
    left, right = fragment(format, ["a"]), fragment(format, ["b", "c"])
    spliced = written(
        format,
        [
            Encoded(left, encoder.fragment(left, [a]).cast(pa.binary())),
            numbers("n", [7, None, 9]),
            Encoded(right, encoder.fragment(right, [b, a]).cast(pa.binary())),
        ],
        **options,
    )
    plain = [Values("a_out", a), numbers("n", [7, None, 9]), Values("b_out", b), Values("c_out", a)]
    assert spliced == written(format, plain, **options)


@pytest.mark.parametrize("format", ["json", "csv"])
def test_a_row_that_an_outer_join_made_has_null_fields(format: str) -> None:
    both = fragment(format, ["a", "b"])
    missing: RowColumns = [numbers("n", [1]), Encoded(both, pa.array([None], pa.binary()))]
    nulls = [numbers("n", [1]), numbers("a_out", [None]), numbers("b_out", [None])]
    assert written(format, missing) == written(format, nulls)


def test_a_row_that_an_outer_join_made_may_leave_its_fields_out() -> None:
    missing: RowColumns = [
        numbers("n", [1]),
        Encoded(fragment("json", ["a", "b"]), pa.array([None], pa.binary())),
    ]
    assert written("json", missing, omit_null_columns=True) == b'{"n":1}\n'


def test_csv() -> None:
    rows = [
        Values("a,b", pa.array(["x", "", None, 'say "hi"', "1,2", "line\nend", " pad"])),
        Values("n", pa.array([1.5, None, 2.0, 3.0, 4.0, 5.0, 6.0])),
    ]
    assert written("csv", rows, header=True).decode() == (
        '"a,b",n\nx,1.5\n"",\n,2.0\n"say ""hi""",3.0\n"1,2",4.0\n"line\nend",5.0\n" pad",6.0\n'
    )
    assert written("csv", [numbers("a", [1]), numbers("b", [2])], delimiter="::") == b"1::2\n"


def test_text_is_made_by_a_template() -> None:
    rows = [
        Values("id", pa.array([1, None, 3])),
        Values("Name", pa.array(["a\nb", "", None])),
        Values("at", pa.array([datetime(2026, 11, 15, 10, tzinfo=UTC)] * 3, UTC_MICROS)),
    ]
    lines = written("text", rows, template="{id}: {name} {{{at}}}", timezone="Europe/Berlin")
    at = "{2026-11-15T11:00:00.000+01:00}"
    assert lines.decode() == f"1: a\nb {at}\n:  {at}\n3:  {at}\n"
    assert written("text", rows, template="x") == b"x\n" * 3
    assert written("text", rows, template="{id}") == b"1\n\n3\n"
    binary = [Values("b", pa.array([b"\xff", None]))]
    assert written("text", binary, template="{b}") == b"\xff\n\n"


def test_csv_refuses_nested_values() -> None:
    with pytest.raises(ValueError, match="csv has no form"):
        written("csv", [Values("l", pa.array([[1]]))])


def test_parquet_keeps_types_and_row_order() -> None:
    lists = pa.array([[1], None], pa.list_(pa.int64()))
    data = written("parquet", [Values("l", lists), Values("t", pa.array(["x", None]))])
    table = pq.read_table(io.BytesIO(data))
    assert table.to_pydict() == {"l": [[1], None], "t": ["x", None]}


def test_many_columns_of_few_rows_read_as_one_by_one() -> None:
    """Stacked or not: the same text."""
    kinds: list[tuple[pa.DataType, list[Any]]] = [
        (pa.string(), ["a", None, 'b"']),
        (pa.int64(), [1, 2, None]),
        (pa.float64(), [None, 0.5, float("nan")]),
        (pa.list_(pa.int64()), [[1], None, []]),
    ]
    columns = [pa.array(values, kind) for kind, values in kinds * 20]
    names = [f"c{i}" for i in range(len(columns))]
    fields = tuple(FragmentField((n,), n, STRING) for n in names)
    for omit in (False, True):
        whole = Fragment("json", (("omit_null_columns", omit),), fields)
        encoder = find_format("json").encoder(dict(whole.options))
        assert isinstance(encoder, SplicingEncoder)
        text = encoder.fragment(whole, columns)
        plain = [Values(n, c) for n, c in zip(names, columns, strict=True)]
        options = {"omit_null_columns": omit}
        assert written("json", [Encoded(whole, text)], **options) == written(
            "json", plain, **options
        )


# --- fields that only some rows have ----------------------------------------------------------


def _changed(*flags: bool) -> pa.Array:
    return pa.array(flags, pa.bool_())


@pytest.mark.parametrize("omit", [False, True])
def test_json_leaves_out_what_has_not_changed(omit: bool) -> None:
    rows = [
        Values("a", pa.array([1, None, None]), _changed(True, True, False)),
        Values("b", pa.array(["x", None, "y"])),
        Values(
            "c", pa.array([None, [1], None], pa.list_(pa.int64())), _changed(False, True, False)
        ),
    ]
    lines = written("json", rows, omit_null_columns=omit).decode().splitlines()
    if omit:
        assert lines == ['{"a":1,"b":"x"}', '{"c":[1]}', '{"b":"y"}']
    else:
        assert lines == ['{"a":1,"b":"x"}', '{"a":null,"b":null,"c":[1]}', '{"b":"y"}']


def test_a_row_in_which_nothing_has_changed() -> None:
    rows = [Values("a", pa.array([None, 1]), _changed(False, True))]
    assert written("json", rows).decode().splitlines() == ["{}", '{"a":1}']


def test_other_formats_have_all_columns_in_every_row() -> None:
    rows = [Values("a", pa.array([None, 1]), _changed(False, True)), Values("b", pa.array([5, 6]))]
    assert written("csv", rows).decode() == ",5\n1,6\n"
    table = pq.read_table(io.BytesIO(written("parquet", rows)))
    assert table.to_pydict() == {"a": [None, 1], "b": [5, 6]}
