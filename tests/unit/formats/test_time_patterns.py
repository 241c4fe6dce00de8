"""Times in a form that a source declares. `tests/spark/test_time_patterns.py` asks Spark."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from narrows import Catalog, NarrowsError
from narrows.demand import ALL
from narrows.formats.base import find_format
from narrows.formats.decoder import Decoded
from narrows.formats.time_patterns import PatternError, parse_pattern
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema


def decoded(
    format: str, payloads: list[str], schema: str = "v TIMESTAMP", **options: str
) -> Decoded:
    decoder = find_format(format).decoder(options)
    projection = DecodeProjection(read_schema(schema), ALL)
    return decoder.decode_with_projection([p.encode() for p in payloads], projection)


def moment(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("form", "number"),
    [("unix_s", "1700000000"), ("unix_ms", "1700000000000"), ("unix_us", "1700000000000000")],
)
def test_numbers(kernel: str, form: str, number: str) -> None:
    payloads = [f'{{"v": {number}}}', f'{{"v": "{number}"}}', '{"v": "x"}', '{"v": 1.5}', "{}"]
    found = decoded("json", payloads, timestamp_format=form)
    then = moment(2023, 11, 14, 22, 13, 20)
    assert found.batch.column(0).to_pylist() == [then, then, None, None, None]
    assert found.mistyped == 2
    found = decoded("csv", [number, "x", "-1"], timestamp_format=form)
    assert found.batch.column(0).to_pylist()[:2] == [then, None]
    assert found.mistyped == 1


def test_numbers_that_are_too_far_away(kernel: str) -> None:
    payloads = ['{"v": 9223372036855}', '{"v": -9223372036855}', '{"v": 99999999999999999999}']
    found = decoded("json", payloads, timestamp_format="unix_s")
    assert found.batch.column(0).to_pylist() == [None, None, None]
    assert found.mistyped == 3


def test_nested_times_numbers_and_what_does_not_fit(kernel: str) -> None:
    schema = "a STRUCT<t: ARRAY<TIMESTAMP>>, d DATE, n INT"
    payload = '{"a": {"t": ["31/12/2024 23:59", "2024-12-31 23:59", 60]}, "d": "1.2.24", "n": 1}'
    forms = {"timestamp_format": "dd/MM/yyyy HH:mm", "date_format": "d.M.yy"}
    found = decoded("json", [payload], schema, **forms)
    (row,) = found.batch.to_pylist()
    times = [moment(2024, 12, 31, 23, 59), None, moment(1970, 1, 1, 0, 1)]
    assert list(row.values()) == [{"t": times}, datetime(2024, 2, 1).date(), 1]
    assert found.mistyped == 1


def test_the_zone_of_the_session(kernel: str) -> None:
    options = {"timestamp_format": "HH:mm dd.MM.yyyy", "timezone": "Europe/Paris"}
    found = decoded("json", ['{"v": "12:00 01.07.2024"}'], **options)
    assert found.batch.column(0).to_pylist()[0] == moment(2024, 7, 1, 10)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("yyyy-MM-dd EEE", "has no meaning for `EEE`"),
        ("yyyy-MM-ddTHH", "has no meaning for `T`"),
        ("YYYY-MM-dd", "has no meaning for `YYYY`"),
        ("yyyyy", "has no meaning for `yyyyy`"),
        ("hh:mm", "needs `h` with `a`, and `a` with `h`"),
        ("yyyy[-MM", "has a bracket without the other"),
        ("yyyy]-[MM", "has a bracket without the other"),
        ("yyyy 'x", "cannot have a lone `'`"),
        ("MM MMM", "says the month twice"),
        ("'T'", "says nothing about a time"),
    ],
)
def test_what_is_no_pattern(pattern: str, why: str) -> None:
    with pytest.raises(PatternError) as raised:
        parse_pattern(pattern)
    assert str(raised.value) == why


def test_a_wrong_pattern_is_refused_where_it_stands() -> None:
    sql = (
        "CREATE STREAM s (t TIMESTAMP) WITH (connector = 'file', path = 'p',"
        " timestamp_format = 'yyyy-MM-ddTHH:mm')"
    )
    with pytest.raises(NarrowsError) as raised:
        Catalog().execute(sql)
    (problem,) = raised.value.problems
    assert problem.span is not None
    assert sql[problem.span.start : problem.span.end] == "'yyyy-MM-ddTHH:mm'"
    assert "other text in quotes" in (problem.hint or "")
