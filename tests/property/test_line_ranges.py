"""However a file is cut, its ranges hold each line once, in order, with its place."""

from __future__ import annotations

import gzip
import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.files.lines import read_blocks
from narrows.files.ranges import FileRange

BOM = b"\xef\xbb\xbf"
PIECES = (b"\n", b"\n", b"\r\n", b"\r", b" ", b"a", b"{}", b"\xff", BOM, b"x" * 700, b"y" * 70)

contents = st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join)
blocks = st.fixed_dictionaries(
    {"block_bytes": st.sampled_from((1, 2, 7, 64, 2_000)), "block_payloads": st.integers(1, 9)}
)


def expected(content: bytes, keep_blank: bool) -> list[tuple[int, bytes]]:
    """Every payload with its place, byte for byte."""
    found = []
    start = 0
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        line = content[start:end].removesuffix(b"\r")
        bom = len(BOM) if start == 0 and line.startswith(BOM) else 0
        # A BOM may stand right before the line end, and the CR is none of the BOM's business.
        if keep_blank or line[bom:].strip():
            found.append((start + bom, line[bom:]))
        start = end + 1
    return found


def read(
    file_range: FileRange, keep_blank: bool, options: dict[str, int], skip_before: int = 0
) -> list[tuple[int, bytes]]:
    blocks = read_blocks(
        file_range,
        skip_before=skip_before,
        keep_blank=keep_blank,
        block_bytes=options["block_bytes"],
        block_payloads=options["block_payloads"],
    )
    return [
        (block.offset(position), payload)
        for block in blocks
        for position, payload in enumerate(block.payloads)
    ]


@settings(max_examples=400)
@given(contents, st.lists(st.integers(0, 2_000), max_size=8), st.booleans(), blocks)
def test_ranges_hold_each_line_once(
    content: bytes, cuts: list[int], keep_blank: bool, options: dict[str, int]
) -> None:
    size = len(content)
    bounds = sorted({0, size, *(cut % (size + 1) for cut in cuts)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f")
        path.write_bytes(content)
        parts = [FileRange(str(path), start, end) for start, end in pairwise(bounds)]
        found = [read(part, keep_blank, options) for part in parts]
        for part, payloads in zip(parts, found, strict=True):
            assert all(part.start <= offset for offset, _ in payloads)
            # A BOM stands between where its line begins and where its payload does.
            assert all(offset < part.end or offset == len(BOM) for offset, _ in payloads)
        assert [pair for pairs in found for pair in pairs] == expected(content, keep_blank)


@settings(max_examples=100)
@given(contents, st.booleans(), blocks)
def test_a_compressed_file_holds_the_same_lines(
    content: bytes, keep_blank: bool, options: dict[str, int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f.gz")
        path.write_bytes(gzip.compress(content, 1))
        whole = FileRange(str(path), 0, path.stat().st_size)
        assert read(whole, keep_blank, options) == expected(content, keep_blank)


@settings(max_examples=100)
@given(contents, st.integers(0, 20), blocks)
def test_lines_before_a_place_can_be_left_out(
    content: bytes, line: int, options: dict[str, int]
) -> None:
    starts = [0, *(at + 1 for at, byte in enumerate(content) if byte == 10)]
    skip = starts[line % len(starts)]
    wanted = [pair for pair in expected(content, keep_blank=False) if pair[0] >= skip]
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (("f", content), ("f.gz", gzip.compress(content, 1))):
            path = Path(folder, name)
            path.write_bytes(data)
            whole = FileRange(str(path), 0, len(data))
            assert read(whole, False, options, skip_before=skip) == wanted
