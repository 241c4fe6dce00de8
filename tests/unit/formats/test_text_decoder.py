"""Lines of text as rows."""

from __future__ import annotations

import pytest

from narrows.demand import ALL, NOTHING
from narrows.formats.base import find_format
from narrows.formats.decoder import BadPayload
from narrows.formats.text.decoder import TextDecoder
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema

LINE = read_schema("line STRING")


def test_each_line_is_a_row() -> None:
    decoded = (
        find_format("text")
        .decoder({})
        .decode_with_projection([b"a", b"", "é漢😀".encode(), b" "], DecodeProjection(LINE, ALL))
    )
    assert decoded.batch.to_pydict() == {"line": ["a", "", "é漢😀", " "]}
    assert not decoded.bad
    assert decoded.row_positions is None


def test_no_payloads() -> None:
    decoded = TextDecoder().decode_with_projection([], DecodeProjection(LINE, ALL))
    assert decoded.batch.to_pydict() == {"line": []}


@pytest.mark.parametrize("demand", [ALL, NOTHING])
def test_what_is_not_utf8_makes_no_row_whatever_is_demanded(demand: object) -> None:
    payloads = [b"a", b"\xff", b"b", b"\xc3", b"\xed\xa0\x80"]
    decoded = TextDecoder().decode_with_projection(payloads, DecodeProjection(LINE, demand))  # type: ignore[arg-type]
    assert decoded.batch.num_rows == 2
    assert decoded.batch.num_columns == (demand is ALL)
    assert decoded.bad == [BadPayload(place, "not valid UTF-8") for place in (1, 3, 4)]
    assert decoded.row_positions == [0, 2]


@pytest.mark.parametrize("columns", ["a INT", "a STRING, b STRING", "a ARRAY<STRING>"])
def test_other_schemas_are_refused(columns: str) -> None:
    reason = find_format("text").check_schema(read_schema(columns))
    assert reason == "format `text` has one column, a STRING: declare `(line STRING)`"
