"""What a task reads, whichever kernel decodes: rows, counts, dead letters. No Spark is needed."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from narrows.demand import ALL
from narrows.files.listing import list_files
from narrows.files.ranges import FileRange, split
from narrows.formats.kernel import NATIVE, PORTABLE
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema
from narrows.worker.count_files import total_counts
from narrows.worker.dead_letters import BadPayloadError, read_dead_letters
from narrows.worker.read_spec import ReadSpec
from support.kernels import needs_native, use_kernel
from support.reading import read_ranges

SCHEMA = read_schema("a BIGINT, s STRING, t TIMESTAMP")
LINES = (
    b'\xef\xbb\xbf{"a": 1}\r\n\r\n \t\n'
    b'{"a": 2, "s": "\xc3\xa9", "t": "2020-01-02T03:04:05Z"}\n'
    b"no JSON\r\n"
    b'{"a": 3, "t": "2020"}\r\r\n'
    b'[{"a": 4}, {"a": "x"}, {}]\n'
    b'{"s": "\xff"}\n'
    b"\xef\xbb\xbf{}\n"
    b'{"a": 5} \n\n\n'
    b'{"a": 6'
)
BAD = [
    (LINES.index(b"no JSON"), "not valid JSON: expecting value at byte 0"),
    (LINES.index(b'{"s": "\xff"}'), "not UTF-8 at byte 7"),
    (LINES.index(b'{"a": 6'), "not valid JSON: expecting ',' delimiter at byte 7"),
]


def read(spec: ReadSpec, ranges: list[FileRange]) -> list[dict[str, object]]:
    batches = list(read_ranges(spec, ranges))
    return pa.Table.from_batches(batches).to_pylist() if batches else []


@pytest.mark.parametrize("kernel", [PORTABLE, pytest.param(NATIVE, marks=needs_native)])
@pytest.mark.parametrize("size", [1, 7, 50, 10_000])
def test_lines_of_every_kind(
    kernel: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_kernel(monkeypatch, kernel)
    path = tmp_path / "data.json"
    path.write_bytes(LINES)
    spec = ReadSpec(
        *("s", "file", "json", DecodeProjection(SCHEMA, ALL), ("a", "s", "t")),
        dead_letters=str(tmp_path / "dead"),
        statistics=str(tmp_path / "counts"),
    )
    ranges = [
        FileRange(str(path), start, min(start + size, len(LINES)))
        for start in range(0, len(LINES), size)
    ]
    rows = read(spec, ranges)
    assert [row["a"] for row in rows] == [1, 2, 3, 4, None, None, None, 5]
    assert [row["s"] for row in rows] == [None, "é", *[None] * 6]
    assert [row["t"] is not None for row in rows] == [n in (1, 2) for n in range(8)]
    letters = list(read_dead_letters(tmp_path / "dead"))
    assert [(letter["offset"], letter["reason"]) for letter in letters] == BAD
    assert [letter.get("payload") for letter in letters] == ["no JSON", None, '{"a": 6']
    counts = total_counts(tmp_path / "counts")
    assert (counts.rows_decoded, counts.bad, counts.mistyped) == (8, 3, 1)


@needs_native
def test_kernels_read_large_files_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many blocks, with lines across their borders, long ones, and some that are handed back."""
    with (tmp_path / "data.json").open("wb") as file:
        for number in range(30_000):
            odd = number % 1_000 == 0
            text = "2020-01-02" if odd else "2020-01-02T03:04:05Z"
            row = {"a": number, "s": "x" * (number % 97), "t": text}
            file.write(json.dumps(row).encode() + b"\n")
            if number % 10_000 == 5_000:
                file.write(b'{"s": "' + b"y" * 1_500_000 + b'"}\nbad\n\n')
    spec = ReadSpec("s", "file", "json", DecodeProjection(SCHEMA, ALL), ("a", "s", "t"))
    ranges = split(list_files(str(tmp_path)))
    use_kernel(monkeypatch, NATIVE)
    native = read(spec, ranges)
    use_kernel(monkeypatch, PORTABLE)
    assert read(spec, ranges) == native
    assert len(native) == 30_003


def _damaged(path: Path, whole: bytes, kind: str) -> None:
    half = len(whole) // 2
    changed = bytes(255 - byte for byte in whole[half : half + 50])
    cut = {
        "cut off": whole[:half],
        "changed": whole[:half] + changed + whole[half + 50 :],
        "other": b"x" * 99,
    }
    path.write_bytes(cut[kind])


@pytest.mark.parametrize("kind", ["cut off", "changed", "other"])
@pytest.mark.parametrize("format", ["json", "parquet"])
def test_a_damaged_file_is_one_dead_letter(tmp_path: Path, format: str, kind: str) -> None:
    rows = [{"a": n, "s": f"{n * n} {n % 7}", "t": None} for n in range(30_000)]
    if format == "json":
        name = "data.json.gz"
        (tmp_path / name).write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    else:
        name = "data.parquet"
        columns = {"a": [row["a"] for row in rows], "s": [row["s"] for row in rows]}
        pq.write_table(pa.table(columns), tmp_path / name, row_group_size=10_000)
    whole = (tmp_path / name).read_bytes()
    _damaged(tmp_path / f"bad-{name}", whole, kind)
    spec = ReadSpec(
        *("s", "file", format, DecodeProjection(SCHEMA, ALL), ("a", "s", "t")),
        dead_letters=str(tmp_path / "dead"),
        statistics=str(tmp_path / "counts"),
    )
    ranges = [
        FileRange(str(tmp_path / file), 0, (tmp_path / file).stat().st_size)
        for file in (f"bad-{name}", name)
    ]
    found = read(spec, ranges)
    assert found[-len(rows) :] == rows  # the file after it is read as if nothing had happened
    before = found[: -len(rows)]
    assert before == rows[: len(before)]
    (letter,) = read_dead_letters(tmp_path / "dead")
    assert letter["file"] == ranges[0].path
    assert "the file is damaged, and was read up to here" in letter["reason"]
    counts = total_counts(tmp_path / "counts")
    assert (counts.bad, counts.payloads) == (1, len(found) + 1)
    fails = replace(spec, on_error="fail")
    with pytest.raises(BadPayloadError, match="the file is damaged"):
        read(fails, ranges)
