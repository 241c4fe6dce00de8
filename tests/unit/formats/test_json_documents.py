"""JSON over several lines: which payloads a file has, and what is read of it."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from narrows.connectors.file.source import FileSource
from narrows.demand import ALL
from narrows.files.ranges import FileRange
from narrows.formats.decoder import UnfinishedError
from narrows.formats.json.documents import find_documents
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema
from narrows.worker.counts import ReadCounts
from narrows.worker.dead_letters import read_dead_letters
from narrows.worker.read_spec import ReadSpec
from support.reading import read_ranges

PRETTY = b'{\n  "a": 1,\n  "b": "x"\n}'


def found(text: bytes, chunk: int = 1 << 20) -> list[tuple[int, bytes]]:
    chunks = (text[at : at + chunk] for at in range(0, len(text), chunk))
    return [
        (offset, payload)
        for some in find_documents(chunks)
        for offset, payload in zip(some.offsets, some.payloads, strict=True)
    ]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize(
    ("text", "payloads"),
    [
        (b"", []),
        (b" \n ", []),
        (b"[]", []),
        (b" [ \n ] ", []),
        (PRETTY, [(0, PRETTY)]),
        (b"\n" + PRETTY + b"\n\n" + PRETTY + b"\n", [(1, PRETTY), (len(PRETTY) + 3, PRETTY)]),
        (b"{}{}", [(0, b"{}"), (2, b"{}")]),
        (b"[" + PRETTY + b" , {}\n]", [(1, PRETTY), (len(PRETTY) + 4, b"{}")]),
        (b"[{}] [{}]{}", [(1, b"{}"), (6, b"{}"), (9, b"{}")]),
        (b"\xef\xbb\xbf{}", [(3, b"{}")]),
        (b'{"a": "}{\\"["}{}', [(0, b'{"a": "}{\\"["}'), (14, b"{}")]),
        (b'{"a": "\\\\"}{}', [(0, b'{"a": "\\\\"}'), (11, b"{}")]),
        (b'["a,b", {"c": [1, 2]}]', [(1, b'"a,b"'), (8, b'{"c": [1, 2]}')]),
        (b"[[{}], 1]", [(1, b"[{}]"), (7, b"1")]),
        # What is no JSON is a payload that is bad, and the only one.
        (b"[{},]", [(1, b"{}"), (4, b"")]),
        (b"[{},,{}]", [(1, b"{}"), (4, b""), (5, b"{}")]),
        (b"[{} {}, {}]", [(1, b"{} {}"), (8, b"{}")]),
        (b"oops {} more", [(0, b"oops"), (5, b"{}"), (8, b"more")]),
        (b"{},{}", [(0, b"{}"), (2, b","), (3, b"{}")]),
        (b'{"a": 1,, "b"} {}', [(0, b'{"a": 1,, "b"}'), (15, b"{}")]),
    ],
)
def test_payloads_and_where_they_begin(
    text: bytes, payloads: list[tuple[int, bytes]], chunk: int
) -> None:
    assert found(text, chunk) == payloads


@pytest.mark.parametrize("chunk", [1, 5, 1 << 20])
@pytest.mark.parametrize(
    ("text", "before", "reason"),
    [
        (b'{} {"a": 1', 1, "has no end"),
        (b'[{}, {}, {"a": "x}]', 2, "has no end"),
        (b'{} "abc', 1, "has no end"),
        (b"{} } {}", 1, "not opened"),
        (b"[{}]] {}", 1, "not opened"),
    ],
)
def test_what_cannot_be_told_apart(text: bytes, before: int, reason: str, chunk: int) -> None:
    payloads: list[bytes] = []
    chunks = (text[at : at + chunk] for at in range(0, len(text), chunk))
    with pytest.raises(UnfinishedError, match=reason):
        payloads.extend(p for some in find_documents(chunks) for p in some.payloads)
    assert payloads == [b"{}"] * before


SCHEMA = read_schema("a INT, b STRING, c STRUCT<d: ARRAY<INT>, e: INT>")


def spec(folder: Path) -> ReadSpec:
    projection = DecodeProjection(SCHEMA, ALL)
    return ReadSpec(
        source="s",
        connector="file",
        format="json",
        projection=projection,
        names=tuple(f"c{place}" for place in range(len(projection.columns))),
        options={"path": str(folder), "multiline": True},
        dead_letters=str(folder / "dead"),
    )


def rows(batches: Iterator[pa.RecordBatch]) -> list[int | None]:
    return [value for batch in batches for value in batch.column(0).to_pylist()]


def written(path: Path, content: bytes) -> FileRange:
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    elif path.suffix == ".zst":
        content = pa.Codec("zstd").compress(content, asbytes=True)
    path.write_bytes(content)
    return FileRange(str(path), 0, len(content))


@pytest.mark.parametrize("name", ["f.json", "f.json.gz", "f.json.zst"])
@pytest.mark.parametrize("as_list", [True, False])
def test_rows_and_letters(tmp_path: Path, kernel: str, name: str, as_list: bool) -> None:
    documents = [{"a": n, "b": "}\n", "c": {"d": [n], "e": n}} for n in range(15_000)]
    pretty = [json.dumps(document, indent=2) for document in documents]
    pretty[7] = '{"a": 7,\n,}'
    content = "[" + ",\n".join(pretty) + "]" if as_list else "\n".join(pretty)
    counts = ReadCounts()
    read = written(tmp_path / name, content.encode())
    found = rows(read_ranges(spec(tmp_path), [read], counts))
    assert found == [n for n in range(15_000) if n != 7]
    (letter,) = read_dead_letters(tmp_path / "dead")
    assert letter["payload"] == pretty[7]
    assert content[letter["offset"] :].startswith(pretty[7])
    assert counts.bad == 1


@pytest.mark.parametrize("name", ["f.json", "f.json.gz"])
def test_the_rest_of_a_damaged_file_is_one_letter(tmp_path: Path, kernel: str, name: str) -> None:
    content = PRETTY + b'\n{"a": 2, "b": "never closed}\n' + PRETTY * 10
    found = rows(read_ranges(spec(tmp_path), [written(tmp_path / name, content)]))
    assert found == [1]
    (letter,) = read_dead_letters(tmp_path / "dead")
    assert "a value begins here that has no end" in letter["reason"]
    assert letter["offset"] == len(PRETTY) + 1


def test_a_file_that_became_shorter(tmp_path: Path, kernel: str) -> None:
    read = written(tmp_path / "f.json", b"[" + b",".join([PRETTY] * 5) + b"]")
    Path(read.path).write_bytes(b"[" + PRETTY + b"," + PRETTY[:5])
    assert rows(read_ranges(spec(tmp_path), [read])) == [1]
    (letter,) = read_dead_letters(tmp_path / "dead")
    assert "is shorter than it was" in letter["reason"]


def test_files_are_not_cut(tmp_path: Path) -> None:
    source = FileSource(spec(tmp_path).declared)
    entry = [[str(tmp_path / "f"), 10 << 30, 0]]
    assert [len(share.ranges) for share in source.split(entry, 8)] == [1]


def test_memory_is_that_of_the_longest_payload() -> None:
    document = json.dumps({"a": ["x" * 100] * 100}, indent=1).encode()

    def chunks() -> Iterator[bytes]:
        yield b"["
        for _ in range(500):
            yield document + b","
            yield b" " * 100
        yield b"{}]"

    size = 500 * len(document)
    tracemalloc.start()
    try:
        count = sum(len(some.payloads) for some in find_documents(chunks()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 501
    assert peak < size // 4
