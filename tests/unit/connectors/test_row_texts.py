"""Texts that are made of rows: what statements say of them, and what rows make of them."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from narrows import Catalog
from narrows.connectors.row_texts import RowTexts
from narrows.connectors.target import RowPart, SinkTarget
from narrows.errors import NarrowsError
from narrows.plugins.row_text import (
    RowText,
    RowTextError,
    columns_of_named_texts,
    parse_column_or_text,
    parse_row_text,
)

SQL = """
CREATE STREAM s (id BIGINT, site STRING, place STRUCT<x: BIGINT>)
  WITH (connector = 'file', path = '/in');
"""
SINK = "CREATE SINK out WITH (connector = 'kafka', brokers = 'b:1', {});"


def _target(**kinds: str) -> SinkTarget:
    return SinkTarget(
        pipeline="p",
        sink="out",
        connector="kafka",
        format="json",
        options=(("timezone", "UTC"),),
        parts=tuple(RowPart(column, name) for name, column in kinds.items()),
        place="",
        dead_letters="",
    )


def _texts(text: RowText, **columns: pa.Array) -> list[bytes | None]:
    names = {name: f"o{place}" for place, name in enumerate(columns)}
    rows = pa.RecordBatch.from_arrays(list(columns.values()), names=list(names.values()))
    found: list[bytes | None] = RowTexts(text, _target(**names)).of(rows).to_pylist()
    return found


def test_columns_and_constants() -> None:
    sites = pa.array(["a", None, "ü"])
    ids = pa.array([1, 2, 3], pa.int32())
    assert _texts(parse_row_text("{site}-{ID}.x"), site=sites, id=ids) == [
        b"a-1.x",
        None,
        "ü-3.x".encode(),
    ]
    assert _texts(parse_row_text("{{{id}}}"), id=ids) == [b"{1}", b"{2}", b"{3}"]
    assert _texts(parse_row_text("same"), id=ids) == [b"same"] * 3


def test_values_look_as_in_payloads() -> None:
    when = pa.array([datetime.datetime(2026, 11, 16, tzinfo=datetime.UTC)])
    assert _texts(parse_row_text("{t}"), t=when) == [b"2026-11-16T00:00:00.000Z"]
    assert _texts(parse_row_text("{t}"), t=pa.array([True])) == [b"true"]


def test_a_column_that_is_bytes_stays_so() -> None:
    assert _texts(parse_column_or_text("b"), b=pa.array([b"\xff\x00", None])) == [b"\xff\x00", None]


@given(st.lists(st.one_of(st.text("a{}", max_size=3), st.just(0)), max_size=5))
def test_whatever_is_escaped_comes_back(pieces: list[str | int]) -> None:
    def escaped(piece: str) -> str:
        return piece.replace("{", "{{").replace("}", "}}")

    text = "".join("{id}" if isinstance(p, int) else escaped(p) for p in pieces)
    wanted = "".join("7" if isinstance(p, int) else p for p in pieces)
    assert _texts(parse_row_text(text), id=pa.array([7])) == [wanted.encode()]


@pytest.mark.parametrize("text", ["{", "a}", "{}", "{ }", "{a{b}}", "}{"])
def test_what_is_no_text(text: str) -> None:
    with pytest.raises(RowTextError):
        parse_row_text(text)


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', "{", '{"a": "{"}'])
def test_what_are_no_named_texts(text: str) -> None:
    with pytest.raises(RowTextError):
        columns_of_named_texts(text)


def test_a_statement_says_where_a_text_is_wrong() -> None:
    with pytest.raises(NarrowsError) as caught:
        Catalog().execute(SINK.format("topic = 'a-{site'"))
    assert str(caught.value) == (
        "error[invalid_option]: option `topic`: `{` stands alone; write it twice if you mean the"
        " character\n"
        " --> 1:72\n"
        "  |\n"
        "1 | CREATE SINK out WITH (connector = 'kafka', brokers = 'b:1', topic = 'a-{site');\n"
        "  |                                                                        ^"
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("key = 'sit'", "option `key` of sink `out` names the column `sit`, which the query does"),
        ("""headers = '{"a": "{nothing}"}'""", "option `headers` of sink `out` names the column"),
        ("key = 'place'", "names the column `place`, which is nested"),
    ],
)
def test_a_pipeline_must_give_the_columns(option: str, message: str) -> None:
    catalog = Catalog()
    catalog.execute(SQL + SINK.format(f"topic = 'x', {option}"))
    with pytest.raises(NarrowsError, match=message):
        catalog.execute("CREATE PIPELINE p INTO out AS SELECT id, site, place FROM s")


def test_columns_that_options_name_are_shipped_and_others_are_not() -> None:
    catalog = Catalog()
    catalog.execute(SQL + SINK.format("topic = '{SITE}-alarms', exactly_once = true"))
    catalog.execute("CREATE PIPELINE p INTO out AS SELECT id, site, place->x FROM s")
    text = catalog.plan_pipeline("p").explain()
    assert "by_index_projection=[s#0->id; s#2.x->x]" in text
    assert "ships=[site]" in text
    assert "sink `out`: exactly once" in text


def test_formats_that_are_files_are_refused() -> None:
    with pytest.raises(NarrowsError, match="format `parquet` is written to files only"):
        Catalog().execute(SINK.format("topic = 'x', format = 'parquet'"))
    with pytest.raises(NarrowsError, match="has no option `layout`"):
        Catalog().execute(SINK.format("topic = 'x', layout = 'array'"))


@pytest.mark.parametrize("topic", ["in", "^i.$"])
def test_a_pipeline_that_would_read_what_it_writes(topic: str) -> None:
    catalog = Catalog()
    catalog.execute(
        f"CREATE STREAM k (id BIGINT) WITH (connector = 'kafka', brokers = 'a:1, b:1',"
        f" topic = '{topic}');" + SINK.format("topic = 'in'")
    )
    with pytest.raises(NarrowsError, match="would read what it writes"):
        catalog.execute("CREATE PIPELINE p INTO out AS SELECT id FROM k")
    catalog.execute(SINK.replace("SINK out", "SINK other").format("topic = 'out'"))
    catalog.execute("CREATE PIPELINE p INTO other AS SELECT id FROM k")
