"""The JSON encoders, side by side: do the native ones write what the portable one writes?

As in `support.kernels`, cases are made by a `Choose`, for tests and for `tools/fuzz_encoders.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from narrows.codecs.decoder import Decoded
from narrows.codecs.delayed import encode_fragments
from narrows.codecs.fragment import Fragment, FragmentField
from narrows.codecs.json_decoder import JsonDecoder
from narrows.codecs.json_native import NativeJsonDecoder
from narrows.codecs.projection import DecodeProjection, Key, Path
from narrows.demand import NOTHING
from narrows.schema import STRING, Array, DataType, Map, Struct
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
