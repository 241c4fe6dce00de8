"""Decoding: what is left out changes nothing, and neither does the way in which a row is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from narrows.demand import ALL, NOTHING, PRESENCE, Demand
from narrows.formats.decoder import Decoded
from narrows.formats.json import generated as json_source
from narrows.formats.json.decoder import JsonDecoder
from narrows.projection.columns import DecodeProjection
from narrows.schema import Struct
from support.json_documents import (
    Manner,
    expected,
    make_document,
    make_json_struct,
    plain,
)
from support.kernels import JUNK, KERNELS, MakeDecoder
from support.strategies import Draw, demands_on

KINDS = ("object", "object", "object", "object", "list", "bad")


@st.composite
def json_schemas(draw: Draw) -> Struct:
    return make_json_struct(lambda choices: draw(st.sampled_from(choices)), depth=4)


@st.composite
def payloads(draw: Draw, schema: Struct) -> bytes:
    """An object, mostly; a list of objects, or something that is none."""

    def choose(choices: Sequence[Any]) -> Any:
        return draw(st.sampled_from(choices))

    def document() -> bytes:
        return make_document(schema, choose, Manner())

    match choose(KINDS):
        case "list":
            return b"[" + b", ".join(document() for _ in range(choose(range(4)))) + b"]"
        case "bad":
            bad = (document()[:-1], b"", b"1", b"[1]", b'{"a": \xff}', b"[{}, null]")
            return bytes(choose(bad))
        case _:
            return document()


def row_demands(schema: Struct) -> st.SearchStrategy[Demand]:
    """Nobody asks whether a row is there."""
    return demands_on(schema).map(lambda demand: NOTHING if demand is PRESENCE else demand)


@st.composite
def cases(draw: Draw) -> tuple[DecodeProjection, list[bytes]]:
    schema = draw(json_schemas())
    tested = draw(st.one_of(st.just(NOTHING), row_demands(schema)))
    projection = DecodeProjection(schema, draw(row_demands(schema)), tested=tested)
    return projection, draw(st.lists(payloads(schema), max_size=5))


def columns(decoded: Decoded) -> list[list[Any]]:
    for column in decoded.batch.columns:
        column.validate(full=True)
    return [plain(column) for column in decoded.batch.columns]


def full_rows(decoded: Decoded, schema: Struct) -> list[dict[str, Any]]:
    return [
        dict(zip(schema.names, row, strict=True)) for row in zip(*columns(decoded), strict=True)
    ]


@pytest.mark.parametrize("make", KERNELS)
@settings(max_examples=300)
@given(case=cases())
def test_pruned_is_what_is_left_of_full(
    make: MakeDecoder, case: tuple[DecodeProjection, list[bytes]]
) -> None:
    projection, documents = case
    decoder = make()
    full = decoder.decode_with_projection(documents, DecodeProjection(projection.schema, ALL))
    pruned = decoder.decode_with_projection(documents, projection)
    rows = full_rows(full, projection.schema)
    assert pruned.batch.num_rows == len(rows)
    wanted = [[expected(row, column) for row in rows] for column in projection.columns]
    assert columns(pruned) == wanted
    assert pruned.bad == full.bad
    assert pruned.row_positions == full.row_positions
    if not projection.tested:
        assert pruned.mistyped <= full.mistyped


class _Refusing:
    """In the place of simdjson's parser: reads nothing."""

    asked = 0

    def __init__(self, max_capacity: int) -> None:
        pass

    def parse(self, payload: bytes) -> object:
        _Refusing.asked += 1
        raise ValueError


@settings(max_examples=150)
@given(cases())
def test_both_parsers_read_the_same(case: tuple[DecodeProjection, list[bytes]]) -> None:
    projection, documents = case
    one = JsonDecoder().decode_with_projection(documents, projection)
    with patch("narrows.formats.json.decoder.simdjson.Parser", _Refusing):
        exact = JsonDecoder()
    before = _Refusing.asked
    other = exact.decode_with_projection(documents, projection)
    assert _Refusing.asked > before or not documents
    assert columns(one) == columns(other)
    assert one.mistyped == other.mistyped
    assert one.bad == other.bad
    assert one.row_positions == other.row_positions


@settings(max_examples=100)
@given(cases())
def test_guarded_structs_read_the_same(case: tuple[DecodeProjection, list[bytes]]) -> None:
    """Keys that are often missing are looked up in another way from the second batch on."""
    projection, documents = case
    decoder = JsonDecoder()
    batches = [decoder.decode_with_projection(documents, projection) for _ in range(3)]
    assert columns(batches[0]) == columns(batches[1]) == columns(batches[2])
    assert batches[0].mistyped == batches[1].mistyped == batches[2].mistyped


@settings(max_examples=100)
@given(cases(), st.sampled_from((1, 2, 3)), st.booleans(), st.booleans())
def test_how_the_code_is_written_does_not_matter(
    case: tuple[DecodeProjection, list[bytes]], inline: int, wide: bool, short: bool
) -> None:
    """Wide structs, deep ones and long rows are read by other code."""
    projection, documents = case
    one = JsonDecoder().decode_with_projection(documents, projection)
    with (
        patch.object(json_source, "_MAX_INLINE", inline),
        patch.object(json_source, "_WIDE", 1 if wide else 100),
        patch.object(json_source, "_FEW_INDICES", 1 if wide else 8),
        patch.object(json_source, "_MAX_LINES_IN_LOOP", 0 if short else 500),
    ):
        other = JsonDecoder().decode_with_projection(documents, projection)
    assert columns(one) == columns(other)
    assert one.mistyped == other.mistyped


@pytest.mark.parametrize("make", KERNELS)
@settings(max_examples=100)
@given(case=cases(), size=st.integers(1, 3))
def test_how_payloads_are_batched_does_not_matter(
    make: MakeDecoder, case: tuple[DecodeProjection, list[bytes]], size: int
) -> None:
    projection, documents = case
    decoder = make()
    whole = decoder.decode_with_projection(documents, projection)
    parts = [
        decoder.decode_with_projection(documents[start : start + size], projection)
        for start in range(0, len(documents), size)
    ]
    assert whole.batch.num_rows == sum(part.batch.num_rows for part in parts)
    joined: list[list[Any]] = [[] for _ in projection.columns]
    for part in parts:
        for column, more in zip(joined, columns(part), strict=True):
            column.extend(more)
    assert columns(whole) == joined
    assert whole.mistyped == sum(part.mistyped for part in parts)


# --- which payloads are bad -----------------------------------------------------------------------


def is_json(payload: bytes) -> bool:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        value = json.loads(payload.removeprefix(b"\xef\xbb\xbf").decode(), parse_constant=refuse)
    except ValueError:
        return False
    rows = value if isinstance(value, list) else [value]
    return all(isinstance(row, dict) for row in rows)


@st.composite
def mangled(draw: Draw) -> bytes:
    """A document with a few bytes changed, added or missing."""
    schema = draw(json_schemas())
    payload = bytearray(draw(payloads(schema)))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(payload)))
        junk = draw(st.one_of(st.binary(max_size=2), st.sampled_from(JUNK)))
        payload[place : place + draw(st.integers(0, 2))] = junk
    return bytes(payload)


@pytest.mark.parametrize("make", KERNELS)
@settings(max_examples=600)
@given(payload=mangled(), all=st.booleans())
@example(payload=b'{"a":1}{"a":2}', all=True)
def test_a_payload_is_bad_if_and_only_if_it_is_no_json_object(
    make: MakeDecoder, payload: bytes, all: bool
) -> None:
    schema = Struct(())
    projection = DecodeProjection(schema, ALL if all else NOTHING)
    decoded = make().decode_with_projection([payload], projection)
    assert (len(decoded.bad) == 0) == is_json(payload), decoded.bad
