"""What a consumer reads of a shared stream is what it would have decoded by itself."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.demand import NOTHING, PRESENCE, Demand, union_all
from narrows.demand_json import demand_from_json, demand_to_json
from narrows.formats.json.decoder import JsonDecoder
from narrows.projection.columns import DecodeProjection
from narrows.schema import Struct
from narrows.shared.segments import SegmentWriter, read_segment
from support.json_documents import Manner, make_document, make_json_struct, plain
from support.strategies import Draw, demands, demands_on


@st.composite
def cases(draw: Draw) -> tuple[Struct, list[Demand], list[list[bytes]]]:
    """A schema, what several consumers demand of it, and documents in batches."""

    def choose(choices: Sequence[Any]) -> Any:
        return draw(st.sampled_from(choices))

    schema = make_json_struct(choose, depth=4)
    rows = demands_on(schema).map(lambda demand: NOTHING if demand is PRESENCE else demand)
    wanted = draw(st.lists(rows, min_size=1, max_size=4))
    counts = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    batches = [[make_document(schema, choose, Manner()) for _ in range(n)] for n in counts]
    return schema, wanted, batches


@settings(max_examples=300)
@given(cases())
def test_a_consumer_reads_what_it_would_have_decoded(
    case: tuple[Struct, list[Demand], list[list[bytes]]],
) -> None:
    schema, wanted, batches = case
    union = DecodeProjection(schema, union_all(wanted))
    decoder = JsonDecoder()
    with tempfile.TemporaryDirectory() as folder:
        with SegmentWriter(folder) as writer:
            for batch in batches:
                writer.write(decoder.decode_with_projection(batch, union).batch)
            segment = writer.finish()
        assert (segment is None) == (not any(batches))
        if segment is None:
            return
        filled = [batch for batch in batches if batch]
        for demand in wanted:
            projection = DecodeProjection(schema, demand)
            found = read_segment(folder, segment, union, projection)
            for batch, (columns, rows) in zip(filled, found, strict=True):
                alone = decoder.decode_with_projection(batch, projection).batch
                assert rows == alone.num_rows == len(batch)
                assert [c.type for c in columns] == [c.type for c in alone.columns]
                assert [plain(c) for c in columns] == [plain(c) for c in alone.columns]


@given(demands())
def test_a_demand_survives_json(demand: Demand) -> None:
    assert demand_from_json(demand_to_json(demand)) == demand
