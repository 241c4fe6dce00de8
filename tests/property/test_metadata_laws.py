"""Metadata columns come out of a reader as if they had been in the payloads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.connectors.base import Part
from narrows.demand import ALL, NOTHING, PRESENCE, fields
from narrows.formats.decoder import Decoded
from narrows.formats.json.decoder import JsonDecoder
from narrows.projection.columns import DecodeProjection
from narrows.projection.fragments import Fragment, FragmentField
from narrows.schema import Struct
from narrows.sql.parser.types import read_schema
from narrows.worker.metadata import MetadataReader, demanded_metadata
from support.json_documents import Manner, make_document, make_json_struct, plain
from support.strategies import Draw, demands_on

BAD = b'{"'


@dataclass(frozen=True)
class Case:
    whole: DecodeProjection
    """All columns are in the payload ..."""
    split: DecodeProjection
    """... or the last ones come with it."""
    payloads: Sequence[bytes]


@st.composite
def cases(draw: Draw) -> Case:
    def choose(choices: Sequence[Any]) -> Any:
        return draw(st.sampled_from(choices))

    schema = make_json_struct(choose, depth=4)
    width = draw(st.integers(0, len(schema)))
    rows = demands_on(schema).map(lambda demand: NOTHING if demand is PRESENCE else demand)
    demand, tested = draw(rows), draw(rows)
    documents = [make_document(schema, choose, Manner()) for _ in range(draw(st.integers(0, 4)))]
    payloads = [*documents, *[BAD] * draw(st.integers(0, 2))]
    return Case(
        DecodeProjection(schema, demand, tested=tested),
        DecodeProjection(
            Struct(schema.fields[:width]),
            demand,
            tested=tested,
            metadata=Struct(schema.fields[width:]),
        ),
        draw(st.permutations(payloads)),
    )


class Reader:
    """Takes the payloads apart: some columns are decoded, some are beside them."""

    def __init__(self, projection: DecodeProjection, payloads: Sequence[bytes]) -> None:
        self._projection = projection
        self._payloads = payloads

    def parts(self, read: object) -> Iterator[Part]:
        decoder = JsonDecoder()
        decoded = decoder.decode_with_projection(self._payloads, self._projection.payload)
        names = demanded_metadata(self._projection)
        wanted = fields(dict.fromkeys(names, ALL))
        whole = DecodeProjection(self._projection.metadata, wanted)
        good = [payload for payload in self._payloads if payload != BAD]
        places = iter(range(len(good)))
        each = pa.array([None if p == BAD else next(places) for p in self._payloads], pa.int64())
        columns = decoder.decode_with_projection(good, whole).batch.columns
        yield Part(decoded, 0, metadata=[column.take(each) for column in columns])


@settings(max_examples=300)
@given(cases())
def test_metadata_is_read_like_what_is_in_payloads(case: Case) -> None:
    expected = JsonDecoder().decode_with_projection(case.payloads, case.whole)
    reader: Any = Reader(case.split, case.payloads)
    if demanded_metadata(case.split):
        reader = MetadataReader(reader, case.split)
    (part,) = reader.parts(None)
    assert case.split.columns == case.whole.columns
    assert part.decoded.batch.schema.types == expected.batch.schema.types
    assert part.decoded.batch.num_rows == expected.batch.num_rows
    assert list(map(plain, part.decoded.batch.columns)) == list(map(plain, expected.batch.columns))
    assert [bad.position for bad in part.decoded.bad] == [bad.position for bad in expected.bad]


@settings(max_examples=300)
@given(cases())
def test_decoders_see_no_metadata_and_readers_only_what_is_wanted(case: Case) -> None:
    payload, metadata = set(case.split.schema.names), case.split.metadata.names
    assert {column.path[0] for column in case.split.payload.columns} <= payload
    wanted = {column.path[0] for column in case.split.columns} - payload
    assert demanded_metadata(case.split) == tuple(n for n in metadata if n in wanted)


def test_a_decoder_that_makes_fragments_leaves_columns_out() -> None:
    """Those that are for fragments only; metadata stands before them."""
    schema, metadata = read_schema("a BIGINT, b BIGINT"), read_schema("_f STRING, _g BIGINT")
    projection = DecodeProjection(
        schema,
        fields({"_f": ALL}),
        tested=fields({"a": ALL, "_g": ALL}),
        fragments=(Fragment("json", (), (FragmentField(("b",), "b", schema.fields[1].type),)),),
        metadata=metadata,
    )

    class Native:
        def parts(self, read: object) -> Iterator[Part]:
            batch = pa.RecordBatch.from_arrays([pa.array([1, 3])], names=["a"])
            made = [pa.array([b',"b":1', b',"b":3'])]
            decoded = Decoded(batch, row_positions=[0, 2], fragments=made)
            yield Part(decoded, 0, metadata=[pa.scalar("f"), pa.array([7, 8, 9])])

    (part,) = MetadataReader(Native(), projection).parts(None)
    assert part.decoded.batch.to_pydict() == {"_f": ["f", "f"], "a": [1, 3], "_g": [7, 9]}
    assert part.decoded.fragments is not None
