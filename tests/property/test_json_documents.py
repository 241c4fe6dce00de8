"""Values over several lines are those that Python's own JSON parser finds, however a file comes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from narrows.formats.json.documents import find_documents

texts = st.text(alphabet=st.sampled_from('{}[]",\\ \n:aé'), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=3)
top = objects | st.lists(values, max_size=4)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, list[Any]]:
    """The text of a file, and the values that it holds."""
    text = draw(st.sampled_from(["", " ", "\n"]))
    held: list[Any] = []
    for value in draw(st.lists(top, max_size=4)):
        indent = draw(st.sampled_from([None, 0, 2]))
        text += json.dumps(value, indent=indent, ensure_ascii=draw(st.booleans()))
        text += draw(st.sampled_from(["", "\n", " \r\n\t"]))
        held += value if isinstance(value, list) else [value]
    return text, held


def _cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@given(files(), st.integers(1, 40))
def test_what_python_finds(file: tuple[str, list[Any]], chunk: int) -> None:
    text, held = file
    data = text.encode()
    found = list(find_documents(_cut(data, chunk)))
    payloads = [payload for some in found for payload in some.payloads]
    assert [json.loads(payload) for payload in payloads] == held
    for some in found:
        for offset, payload in zip(some.offsets, some.payloads, strict=True):
            assert data[offset:].startswith(payload)
    assert sum(some.size for some in found) <= len(data)
