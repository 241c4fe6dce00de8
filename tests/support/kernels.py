"""The two JSON kernels, side by side: which there are, and whether they agree.

Documents are made by a `Choose`, so that tests and `tools/fuzz_kernels.py`, which makes a million,
can share how.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from narrows.demand import ALL, LENGTH, NOTHING, PRESENCE, Demand, conform, fields, items, keys
from narrows.formats.decoder import Decoded, RecordDecoder
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.native import NativeJsonDecoder
from narrows.formats.kernel import VARIABLE, is_native_usable
from narrows.projection.columns import DecodeProjection
from narrows.schema import STRING, Array, DataType, Map, Struct
from support.fake_messages import FakeMessages
from support.json_documents import Manner, make_document, make_json_struct, plain
from support.strategies import KEYS, Choose

needs_native = pytest.mark.skipif(not is_native_usable(), reason="the native kernel is not built")

MakeDecoder = Callable[..., RecordDecoder]

KERNELS = (
    pytest.param(JsonDecoder, id="portable"),
    pytest.param(NativeJsonDecoder, id="native", marks=needs_native),
)
"""For tests that hold for both: how each kernel's decoder is made."""


def use_kernel(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Readers decode with this kernel, also those that have kept a decoder of the other."""
    from narrows.worker.read import _decoder

    monkeypatch.setenv(VARIABLE, name)
    _decoder.cache_clear()


# --- cases ----------------------------------------------------------------------------------------

JUNK = (
    *b'{ } [ ] , : " \\ \\u \\ud800 \\udc00 0 -0 01 1. .1 1e 1e400 NaN Infinity nul true'.split(),
    *(b"\x00", b"\x0c", b"\x1a", b"\x1f", b"\x7f", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf"),
    *(b"9" * 30, b'\\"', b"\\\\", b"\r", b"\t", b"\xf0\x9f\x98\x80", b"\\u00e9", b" " * 70),
)


@dataclass(frozen=True)
class Case:
    projection: DecodeProjection
    documents: list[bytes]
    zone: str


def make_case(choose: Choose, most: int = 8) -> Case:
    schema = make_json_struct(choose, depth=4)
    demand = make_row_demand(choose, schema)
    tested = make_row_demand(choose, schema) if choose(range(4)) == 0 else NOTHING
    documents = [make_payload(choose, schema) for _ in range(choose(range(most + 1)))]
    zone = choose(("UTC", "UTC", "+01:00", "Europe/Paris"))
    return Case(DecodeProjection(schema, demand, tested=tested), documents, zone)


def make_payload(choose: Choose, schema: Struct) -> bytes:
    """An object or a list of them, often with a few bytes changed, added or missing."""
    manner = Manner()
    if choose(range(6)) == 0:
        documents = [make_document(schema, choose, manner) for _ in range(choose(range(4)))]
        payload = b"[" + b", ".join(documents) + b"]"
    else:
        payload = make_document(schema, choose, manner)
    if choose(range(3)):
        return payload
    mangled = bytearray(payload)
    for _ in range(choose((1, 1, 2, 3))):
        place = choose(range(len(mangled) + 1))
        junk = choose(JUNK) if choose(range(3)) else bytes([choose(range(256))])
        mangled[place : place + choose(range(3))] = junk
    return bytes(mangled)


def make_row_demand(choose: Choose, schema: Struct) -> Demand:
    demand = conform(_demand(choose, schema, 4), schema)
    return NOTHING if demand is PRESENCE else demand  # nobody asks whether a row is there


def _demand(choose: Choose, dtype: DataType, depth: int) -> Demand:
    if depth == 0:
        return ALL
    kind = choose(("all", "part", "part", "part", "presence", "length", "nothing"))
    match kind, dtype:
        case "nothing", _:
            return NOTHING
        case "presence", _:
            return PRESENCE
        case "length", Array() | Map():
            return LENGTH
        case "part", Struct(members):
            parts = {m.name: _demand(choose, m.type, depth - 1) for m in members}
            return fields(parts, presence=choose((False, False, True)))
        case "part", Array(element):
            parts_at = {i: _demand(choose, element, depth - 1) for i in (0, 2) if choose((0, 1))}
            rest = _demand(choose, element, depth - 1) if choose(range(3)) == 0 else NOTHING
            return items(parts_at, rest=rest, length=choose((False, False, True)))
        case "part", Map(_, value):
            of = {k: _demand(choose, value, depth - 1) for k in KEYS[STRING] if choose((0, 1))}
            rest = _demand(choose, value, depth - 1) if choose(range(3)) == 0 else NOTHING
            return keys(of, rest=rest)
        case _:
            return ALL


# --- comparison -----------------------------------------------------------------------------------


def outcome(decoded: Decoded) -> dict[str, Any]:
    """All that one can tell of what was decoded."""
    batch = decoded.batch
    for column in batch.columns:
        column.validate(full=True)
    return {
        "rows": batch.num_rows,
        "schema": str(batch.schema),
        "columns": [plain(column) for column in batch.columns],
        "bad": [(bad.position, bad.reason) for bad in decoded.bad],
        "mistyped": decoded.mistyped,
        "row_positions": decoded.row_positions,
    }


def array_of(documents: list[bytes]) -> pa.Array:
    """The documents as an array, a part of a larger one."""
    return pa.array([b"{", *documents, b"}"], pa.binary()).slice(1, len(documents))


def lines_of(documents: list[bytes]) -> tuple[list[bytes], list[tuple[bytes, int, int]]]:
    """Those of the documents that can stand in lines, and the lines, in two pieces."""
    fitting = [d for d in documents if b"\n" not in d and not d.endswith(b"\r") and d.strip()]
    half = len(fitting) // 2
    first = b"some\n" + b"".join(d + b"\n" for d in fitting[:half])
    second = b"".join(d + b"\r\n \n" for d in fitting[half:])
    return fitting, [(first, 5, len(first)), (second, 0, len(second))]


def assert_equal_kernels(case: Case, portable: JsonDecoder, native: NativeJsonDecoder) -> None:
    projection = case.projection
    one = outcome(portable.decode_with_projection(case.documents, projection))
    other = outcome(native.decode_with_projection(case.documents, projection))
    assert one == other, (case, one, other)
    other = outcome(native.decode_array(array_of(case.documents), projection))
    assert one == other, (case, one, other)
    with FakeMessages(case.documents) as fake:
        other = outcome(native.decode_messages(fake.messages, projection))
    assert one == other, (case, one, other)
    documents, pieces = lines_of(case.documents)
    if len(documents) < len(case.documents):
        one = outcome(portable.decode_with_projection(documents, projection))
    other = outcome(native.decode_lines(pieces, projection))
    assert one == other, (case, one, other)
