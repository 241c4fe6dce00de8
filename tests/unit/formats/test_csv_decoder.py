"""Lines of CSV as rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.demand import ALL, NOTHING, Demand, fields
from narrows.errors import Code, InternalError, NarrowsError
from narrows.files.lines import read_blocks
from narrows.files.ranges import FileRange
from narrows.formats.base import find_format
from narrows.formats.csv.decoder import CsvDecoder
from narrows.formats.decoder import BadPayload, Decoded, RecordDecoder
from narrows.formats.headers import decoder_for_file
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema

AB = "a INT, b STRING"


def decode(
    payloads: Sequence[bytes],
    columns: str = AB,
    demand: Demand = ALL,
    options: Mapping[str, object] | None = None,
) -> Decoded:
    projection = DecodeProjection(read_schema(columns), demand)
    return find_format("csv").decoder(options or {}).decode_with_projection(payloads, projection)


def rows(decoded: Decoded) -> list[tuple[Any, ...]]:
    return list(zip(*decoded.batch.to_pydict().values(), strict=True))


# --- fields ---------------------------------------------------------------------------------------


def test_fields_and_quotes() -> None:
    payloads = [b"1,x", b'2,"a, ""b"""', b"3,", b'4,""', b",", b'5,it"s', b"6, y ", b'"7","8"']
    decoded = decode(payloads)
    assert rows(decoded) == [
        (1, "x"),
        (2, 'a, "b"'),
        (3, None),
        (4, ""),
        (None, None),
        (5, 'it"s'),
        (6, " y "),
        (7, "8"),
    ]
    assert (decoded.bad, decoded.mistyped, decoded.row_positions) == ([], 0, None)


def test_other_delimiters() -> None:
    assert rows(decode([b"1;x,y"], options={"delimiter": ";"})) == [(1, "x,y")]
    assert rows(decode([b"1\tx"], options={"delimiter": "\t"})) == [(1, "x")]
    for wrong in ("", "ab", '"', "\n", "é", 7):
        with pytest.raises(NarrowsError, match="takes one ASCII character") as caught:
            CsvDecoder({"delimiter": wrong})
        assert caught.value.code is Code.INVALID_OPTION


def test_one_column() -> None:
    assert rows(decode([b"1", b"x", b'""'], "a STRING")) == [("1",), ("x",), ("",)]


@pytest.mark.parametrize("demand", [ALL, NOTHING, fields({"b": ALL})])
def test_what_makes_no_row_does_whatever_is_demanded(demand: Demand) -> None:
    payloads = [
        b"1,x",
        b"1",
        b"1,2,3",
        b'2,"open',
        b"3,y",
        b"",
        b"4,\xff",
        b'5,"a"b","open',
        b"6,\xef\xbb\xbfz",
        b'"open',
    ]
    decoded = decode(payloads, demand=demand)
    quote = "a quote is not closed, or a line ends in the middle"
    assert decoded.bad == [
        BadPayload(1, "1 fields instead of 2"),
        BadPayload(2, "3 fields instead of 2"),
        BadPayload(3, quote),
        BadPayload(5, "empty"),
        BadPayload(6, "not valid UTF-8"),
        BadPayload(7, quote),
        BadPayload(9, quote),
    ]
    assert decoded.batch.num_rows == 3
    assert decoded.row_positions == [0, 4, 8]
    if demand is not NOTHING:
        assert decoded.batch.column("b").to_pylist() == ["x", "y", "\ufeffz"]


def test_only_bad_ones_and_none_at_all() -> None:
    assert decode([b"1", b'"']).batch.to_pydict() == {"a": [], "b": []}
    assert decode([]).batch.to_pydict() == {"a": [], "b": []}
    assert decode([], demand=NOTHING).batch.num_rows == 0


def test_a_byte_order_mark_stays_where_it_is() -> None:
    for payloads in ([b"\xef\xbb\xbfx,1"], [b"y,2", b"\xef\xbb\xbfx,1"]):
        assert rows(decode(payloads, "a STRING, b INT"))[-1] == ("\ufeffx", 1)


def test_line_ends_in_payloads() -> None:
    decoded = decode([b"1,x\n", b"2,y\r\n", b'3,"z\nz"', b"4,v\n5,w", b"6,u\rv", b"7,t"])
    assert rows(decoded) == [(1, "x"), (2, "y"), (3, "z\nz"), (7, "t")]
    assert [bad.position for bad in decoded.bad] == [3, 4]


def test_an_open_quote_and_a_line_end_do_not_make_up_for_each_other() -> None:
    decoded = decode([b'1,"a', b'b"\r2,c', b"3,d"])
    assert rows(decoded) == [(3, "d")]
    assert [bad.position for bad in decoded.bad] == [0, 1]


def test_a_long_field() -> None:
    long = b"x" * 20_000_000
    decoded = decode([b"1,a", b"2," + long, b"3,b"])
    assert [len(text) for _, text in rows(decoded)] == [1, len(long), 1]


# --- values ---------------------------------------------------------------------------------------


def values(columns: str, *texts: str, options: Mapping[str, object] | None = None) -> list[Any]:
    """The values of the texts, of which those that are NULL must all be counted."""
    decoded = decode([text.encode() for text in texts], f"v {columns}", options=options)
    found: list[Any] = decoded.batch.column(0).to_pylist()
    assert decoded.mistyped == found.count(None)
    return found


def test_numbers() -> None:
    assert values("INT", "1", "-2", "+3", "007", " 4 ") == [1, -2, 3, 7, 4]
    assert values("INT", "1.0", "1e3", "0x1F", "x", "2147483648", "-") == [None] * 6
    assert values("TINYINT", "127", "128") == [127, None]
    assert values("BIGINT", "9223372036854775807", "9223372036854775808") == [2**63 - 1, None]
    assert values("DOUBLE", "1", "1.5e3", ".5", "-1.", "x") == [1.0, 1500.0, 0.5, -1.0, None]
    assert values("FLOAT", "Infinity", "-Inf") == [float("inf"), float("-inf")]
    assert str(values("DOUBLE", "NaN")) == "[nan]"
    some = [Decimal("1.50"), Decimal("2.35"), Decimal("-100.00"), None, None, None]
    assert values("DECIMAL(5,2)", "1.5", "2.345", "-1e2", "1000", "x", "1_0") == some
    digits = "1" * 30  # of which Arrow makes another number without saying so
    assert values("DECIMAL(38,10)", digits) == [None]
    assert values("DECIMAL(38,0)", digits) == [Decimal(digits)]


def test_truth_values_and_bytes() -> None:
    found = values("BOOLEAN", "true", "FALSE", " True ", "1", "yes")
    assert found == [True, False, True, None, None]
    assert values("BINARY", "é", '""') == ["é".encode(), b""]


def test_days_and_times() -> None:
    day = dt.date(2024, 1, 2)
    assert values("DATE", "2024-01-02", "2024-1-2", "2024-02-30", "x") == [day, day, None, None]
    when = dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    texts = ["2024-01-02T03:04:05Z", "2024-01-02 05:04:05+02:00"]
    assert values("TIMESTAMP", *texts) == [when, when]
    assert values("TIMESTAMP", "2024-01-02 03:04:05") == [when]
    mixed = values("TIMESTAMP", *texts, "2024-01-02 03:04:05.1234567", "x")
    assert mixed == [when, when, when.replace(microsecond=123456), None]


@pytest.mark.parametrize("zone", ["Europe/Paris", "+02:00"])
def test_times_without_a_zone(zone: str) -> None:
    found = values(
        "TIMESTAMP",
        "2024-07-01 02:00:00",
        "2024-07-01 00:00:00Z",
        options={"timezone": zone},
    )
    assert found == [dt.datetime(2024, 7, 1, tzinfo=dt.UTC)] * 2
    only_local = values("TIMESTAMP", "2024-07-01 02:00:00", options={"timezone": zone})
    assert only_local == found[:1]
    with pytest.raises(NarrowsError, match="there is no time zone `Nowhere`"):
        CsvDecoder({"timezone": "Nowhere"})


def test_clocks_change_in_two_hundred_years_too() -> None:
    """The first of two times, still in summer; Arrow's calendar knows no summer from 2038 on."""
    found = values("TIMESTAMP", "2224-10-27 02:30:00", options={"timezone": "Europe/Paris"})
    assert found == [dt.datetime(2224, 10, 27, 0, 30, tzinfo=dt.UTC)]


TEXTS = [
    "1",
    "-5",
    "+7",
    "0x1F",
    "007",
    "1.0",
    "99999999999",
    "1e3",
    "nan",
    "inf",
    "-Infinity",
    ".5",
    "1.",
    ".",
    "1e400",
    "1.555",
    "999.995",
    "1e-400",
    "true",
    "FALSE",
    "2024-01-01",
    "2024-13-01",
    "2024-1-1",
    "2024-01-01T00:00:00Z",
    "2024-01-01T05Z",
    "2024-01-01T00:00:00.123456+02:00",
    "2024-03-31T02:30:00",
    "2224-10-27T02:30:00",
    "2024-01-01T24:00:00",
    "2024-01-01T00:00:00+18:00",
    "1900-01-01T00:00:00",
    "111111111111111111111111111111",
]
TYPES = [
    "TINYINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(5,2)",
    "DECIMAL(38,10)",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP",
    "STRING",
]


@settings(max_examples=300)
@given(
    st.sampled_from(TYPES),
    st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4),
    st.sampled_from(["UTC", "Europe/Paris", "-03:00"]),
)
def test_a_value_does_not_depend_on_those_around_it(
    dtype: str, texts: list[str], zone: str
) -> None:
    options = {"timezone": zone}
    payloads = [text.encode() for text in texts]
    together = decode(payloads, f"v {dtype}", options=options)
    alone = [decode([payload], f"v {dtype}", options=options) for payload in payloads]
    assert str(together.batch.column(0).to_pylist()) == str(
        [one.batch.column(0)[0].as_py() for one in alone]
    )
    assert together.mistyped == sum(one.mistyped for one in alone)


# --- schemas and projections ----------------------------------------------------------------------


def test_only_demanded_columns_are_made_values() -> None:
    columns = "a INT, b INT, c STRING"
    decoded = decode([b"x,1,p", b"y,z,q"], columns, fields({"c": ALL, "b": ALL}))
    assert decoded.batch.to_pydict() == {"b": [1, None], "c": ["p", "q"]}
    assert decoded.mistyped == 1  # nobody asked for `a`


def test_counting() -> None:
    decoded = decode([b"x,1", b"y"], demand=NOTHING)
    assert (decoded.batch.num_rows, decoded.batch.num_columns) == (1, 0)
    assert len(decoded.bad) == 1


def test_nested_columns_are_refused() -> None:
    form = find_format("csv")
    for check in (form.check_schema, form.check_outputs):
        assert check(read_schema("a INT, d DECIMAL(3, 1)")) is None
        reason = check(read_schema("a INT, b ARRAY<INT>, c STRUCT<x: INT>"))
        assert reason == "format `csv` has no nested values, and `b` is one"


# --- headers --------------------------------------------------------------------------------------


def with_header(header: bytes, payloads: Sequence[bytes], columns: str = AB) -> Decoded:
    decoder: RecordDecoder = CsvDecoder({"header": True}).with_header(header)
    return decoder.decode_with_projection(payloads, DecodeProjection(read_schema(columns), ALL))


def test_columns_are_found_by_name() -> None:
    assert rows(with_header(b"b,other,a", [b"x,y,1"])) == [(1, "x")]
    assert rows(with_header(b'"B",A', [b"x,1"])) == [(1, "x")]
    assert rows(with_header(b"a,a,b", [b"1,2,x"])) == [(1, "x")]
    assert rows(with_header(b"A,a", [b"1,2"], "a INT, A INT")) == [(2, 1)]


def test_a_column_that_the_file_does_not_have() -> None:
    decoded = with_header(b"b", [b"x", b"y"])
    assert rows(decoded) == [(None, "x"), (None, "y")]
    assert decoded.mistyped == 0


@pytest.mark.parametrize("header", [b"1,x", b"", b"\xff\xfe", b'"' + b"x" * 200_000])
def test_a_header_that_is_none(header: bytes) -> None:
    decoded = with_header(header, [b"1,x", b"2,y"])
    assert decoded.batch.num_rows == 0
    assert decoded.row_positions == []
    assert {bad.reason for bad in decoded.bad} == {
        "the header of the file names none of the columns"
    }
    assert len(decoded.bad) == 2


def test_a_header_must_be_known() -> None:
    with pytest.raises(InternalError):
        decode([b"1,x"], options={"header": True})


@pytest.mark.parametrize("header", [True, False])
def test_every_range_of_a_file_knows_its_header(tmp_path: Path, header: bool) -> None:
    path = tmp_path / "f.csv"
    content = b"\xef\xbb\xbf" + (b"b,a\r\n" if header else b"") + b"x,1\r\ny,2\nz,3"
    path.write_bytes(content)
    columns = AB if header else "b STRING, a INT"
    projection = DecodeProjection(read_schema(columns), fields({"a": ALL}))
    decoder = find_format("csv").decoder({"header": header})
    for step in (1, 4, 100):
        found = []
        for start in range(0, len(content), step):
            part = FileRange(str(path), start, min(start + step, len(content)))
            mine, skip = decoder_for_file(decoder, part.path)
            for block in read_blocks(part, skip_before=skip):
                decoded = mine.decode_with_projection(block.payloads, projection)
                assert not decoded.bad
                found += decoded.batch.column("a").to_pylist()
        assert found == [1, 2, 3]
    path.write_bytes(b"\n")
    assert decoder_for_file(decoder, str(path))[1] == 0
