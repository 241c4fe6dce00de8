"""Encoding: bytes do not depend on where a field was encoded, and JSON reads back as it was."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.demand import ALL
from narrows.formats.base import find_format
from narrows.formats.encoder import Encoded, RowColumns, SplicingEncoder, Values
from narrows.formats.kernel import NATIVE, PORTABLE, VARIABLE
from narrows.projection.columns import DecodeProjection
from narrows.projection.fragments import Fragment, FragmentField
from narrows.schema import Struct
from property.test_decode_laws import json_schemas, payloads
from support.kernels import needs_native
from support.strategies import Draw


@pytest.fixture(
    params=[PORTABLE, pytest.param(NATIVE, marks=needs_native)], autouse=True, scope="module"
)
def kernel(request: pytest.FixtureRequest) -> Iterator[None]:
    """The laws hold for both encoders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, request.param)
        yield


@st.composite
def cases(draw: Draw) -> tuple[Struct, list[bytes], list[bool], dict[str, object]]:
    schema = draw(json_schemas())
    documents = draw(st.lists(payloads(schema), max_size=6))
    delayed = draw(st.lists(st.booleans(), min_size=len(schema), max_size=len(schema)))
    options = {
        "omit_null_columns": draw(st.booleans()),
        "layout": draw(st.sampled_from(["lines", "array"])),
        "timezone": draw(st.sampled_from(["UTC", "Europe/Berlin"])),
    }
    return schema, documents, delayed, options


def written(rows: RowColumns, options: dict[str, object]) -> bytes:
    file = io.BytesIO()
    payload = find_format("json").encoder(options).open(file)
    payload.add(rows)
    payload.close()
    return file.getvalue()


@settings(max_examples=100)
@given(cases())
def test_a_delayed_column_is_written_as_a_computed_one(
    case: tuple[Struct, list[bytes], list[bool], dict[str, object]],
) -> None:
    schema, documents, delayed, options = case
    everything = DecodeProjection(schema, ALL)
    columns = find_format("json").decoder({}).decode_with_projection(documents, everything).batch
    plain = [Values(f.name, c) for f, c in zip(schema, columns.columns, strict=True)]
    if not plain:
        return
    names = [name for name, late in zip(schema.names, delayed, strict=True) if late]
    fragments = {
        name: Fragment("json", tuple(options.items()), (FragmentField((name,), name, f.type),))
        for name, f in zip(schema.names, schema, strict=True)
        if name in names
    }
    projection = DecodeProjection(schema, ALL, fragments=tuple(fragments.values()))
    decoded = find_format("json").decoder({}).decode_with_projection(documents, projection).batch
    encoder = find_format("json").encoder(options)
    assert isinstance(encoder, SplicingEncoder)
    texts = {
        fragment.fields[0].name: encoder.fragment(fragment, [decoded.column(p) for p in places])
        for fragment, places in zip(projection.fragments, projection.encoded, strict=True)
    }
    spliced = [
        Encoded(fragments[v.name], texts[v.name].cast(pa.binary())) if v.name in texts else v
        for v in plain
    ]
    assert written(spliced, options) == written(plain, options)


VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(),
    pa.float32(): st.floats(width=32),
    pa.string(): st.text(),
    pa.bool_(): st.booleans(),
    pa.list_(pa.string()): st.lists(st.none() | st.text(), max_size=3),
    pa.struct({"x": pa.float64(), "y y": pa.string()}): st.fixed_dictionaries(
        {"x": st.none() | st.floats(), "y y": st.none() | st.text()}
    ),
    pa.map_(pa.string(), pa.int64()): st.dictionaries(st.text(), st.integers(0, 9), max_size=3),
}


@st.composite
def arrow_columns(draw: Draw) -> list[tuple[str, pa.Array]]:
    rows = draw(st.integers(0, 5))
    columns = []
    for name in draw(st.lists(st.text(), min_size=1, max_size=6, unique=True)):
        kind = draw(st.sampled_from(list(VALUES)))
        values = draw(st.lists(st.none() | VALUES[kind], min_size=rows, max_size=rows))
        if pa.types.is_map(kind):
            values = [None if v is None else list(v.items()) for v in values]
        columns.append((name, pa.array(values, kind)))
    return columns


@settings(max_examples=100)
@given(arrow_columns())
def test_json_reads_back_as_it_was(columns: list[tuple[str, pa.Array]]) -> None:
    text = written([Values(name, array) for name, array in columns], {})
    rows = [json.loads(line) for line in text.decode().split("\n")[:-1]]
    expected = zip(
        *(map(as_json, array.to_pylist(maps_as_pydicts="strict")) for _, array in columns),
        strict=True,
    )
    names = [name for name, _ in columns]
    assert rows == [dict(zip(names, row, strict=True)) for row in expected]


def as_json(value: Any) -> Any:
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case float():
            return Approximate(value)
        case dict():
            return {key: as_json(part) for key, part in value.items()}
        case list():
            return [as_json(part) for part in value]
        case _:
            return value


class Approximate(float):
    """A number that may have been a FLOAT: its short text reads back as the same FLOAT."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, float):
            return False
        single = pa.scalar(other, pa.float64()).cast(pa.float32(), safe=False).as_py()
        return float(self) in (other, single)

    __hash__ = float.__hash__
