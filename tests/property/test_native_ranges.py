"""The native kernel reads the lines of a range as `read_blocks` does, and decodes them alike."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.demand import ALL
from narrows.errors import NarrowsError
from narrows.files.lines import read_blocks
from narrows.files.ranges import FileRange
from narrows.formats.decoder import Decoded
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.native import NativeJsonDecoder
from narrows.formats.kernel import is_native_usable
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema

pytestmark = pytest.mark.skipif(not is_native_usable(), reason="the native kernel is not built")

BOM = b"\xef\xbb\xbf"
PIECES = (
    *(b"\n", b"\n", b"\n", b"\r\n", b"\r", b" ", BOM, b"\xff", b"{}", b"}"),
    *(b'{"a":1}', b'{"a":"x"}', b'[{"a":2},{}]', b'{"a": 3, "b":"%s"}\n' % (b"long" * 200)),
)
PROJECTION = DecodeProjection(read_schema("a INT"), ALL)

contents = st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join)
limits = st.tuples(st.sampled_from((1, 2, 7, 64, 2_000)), st.integers(1, 9))
Found = tuple[list[object], list[tuple[int, bytes]], list[tuple[int, bytes, str]]]
"""The rows, the line that each was made of, and what is bad."""


def native(read: FileRange, block_bytes: int, block_payloads: int) -> Found:
    rows: list[object] = []
    lines = []
    bad = []
    for found in NativeJsonDecoder().decode_range(
        read, PROJECTION, block_bytes=block_bytes, block_payloads=block_payloads
    ):
        assert found.lines is not None
        rows += found.decoded.batch.column(0).to_pylist()
        lines += [(found.lines.offset(p), found.lines.payload(p)) for p in _places(found.decoded)]
        for each in found.decoded.bad:
            assert each.position < block_payloads
            place = found.lines.offset(each.position)
            bad.append((place, found.lines.payload(each.position), each.reason))
    return rows, lines, bad


def _places(decoded: Decoded) -> Sequence[int]:
    """Of each row, the position of its payload."""
    places = decoded.row_positions
    if places is None:
        bad = {each.position for each in decoded.bad}
        payloads = range(decoded.batch.num_rows + len(bad))
        places = [place for place in payloads if place not in bad]
    return places


def portable(read: FileRange) -> Found:
    rows: list[object] = []
    lines = []
    bad = []
    for block in read_blocks(read):
        decoded = JsonDecoder().decode_with_projection(block.payloads, PROJECTION)
        rows += decoded.batch.column(0).to_pylist()
        lines += [(block.offset(p), block.payload(p)) for p in _places(decoded)]
        for each in decoded.bad:
            place = block.offset(each.position)
            bad.append((place, block.payload(each.position), each.reason))
    return rows, lines, bad


@settings(max_examples=300)
@given(contents, st.lists(st.integers(0, 4_000), max_size=5), limits)
def test_ranges_are_read_alike(content: bytes, cuts: list[int], limit: tuple[int, int]) -> None:
    bounds = sorted({0, len(content), *(cut % (len(content) + 1) for cut in cuts)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f")
        path.write_bytes(content)
        for start, end in pairwise(bounds):
            read = FileRange(str(path), start, end)
            assert native(read, *limit) == portable(read)


def test_lines_that_are_longer_than_what_is_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "f"
    long = b'{"b":"%s","a":%d}\n'
    path.write_bytes(b"".join(long % (b"x" * (n * 100_000), n) for n in range(20)))
    cuts = [path.stat().st_size * part // 7 for part in range(8)]
    for start, end in pairwise(cuts):
        read = FileRange(str(path), start, end)
        assert native(read, 1 << 20, 100) == portable(read)
    assert native(FileRange(str(path), 0, cuts[-1]), 1 << 20, 3)[0] == list(range(20))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"{}\n")
    with pytest.raises(NarrowsError, match="shorter than it was"):
        native(FileRange(str(path), 0, 10), 1, 1)
    with pytest.raises(NarrowsError, match=r"cannot read file .*: No such file"):
        native(FileRange(str(tmp_path / "none"), 0, 10), 1, 1)
    with pytest.raises(NarrowsError, match="cannot read file"):
        native(FileRange(str(tmp_path), 0, 10), 1, 1)
