"""The lines of a range of a file."""

from __future__ import annotations

import gzip
import time
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest

from narrows.errors import Code, NarrowsError
from narrows.files.lines import Block, Header, header_of, read_blocks
from narrows.files.listing import list_files
from narrows.files.ranges import FileRange, split


def put(folder: Path, content: bytes, name: str = "f") -> FileRange:
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(content, mtime=0))
    elif name.endswith(".zst"):
        path.write_bytes(pa.Codec("zstd").compress(content, asbytes=True))
    else:
        path.write_bytes(content)
    return FileRange(str(path), 0, path.stat().st_size)


def payloads(file_range: FileRange, **options: object) -> list[bytes]:
    blocks = read_blocks(file_range, **options)  # type: ignore[arg-type]
    return [payload for block in blocks for payload in block.payloads]


def offsets(blocks: list[Block]) -> list[int]:
    return [block.offset(i) for block in blocks for i in range(len(block.payloads))]


@pytest.mark.parametrize("name", ["f", "f.gz", "f.zst"])
@pytest.mark.parametrize(
    ("content", "expected", "places"),
    [
        (b"", [], []),
        (b"\n \n\t\r\n", [], []),
        (b"a\nb\n", [b"a", b"b"], [0, 2]),
        (b"a\nb", [b"a", b"b"], [0, 2]),
        (b"a\r\nb\r\n", [b"a", b"b"], [0, 3]),
        (b"a\r\n\r\nb\n\n c \n", [b"a", b"b", b" c "], [0, 5, 8]),
        (b"a\rb\n\rc\r\r\n", [b"a\rb", b"\rc\r"], [0, 4]),
        (b"\xef\xbb\xbfa\nb\n", [b"a", b"b"], [3, 5]),
        (b"\xef\xbb\xbf\nb\n", [b"b"], [4]),
        (b"\xef\xbb\xbf", [], []),
        (b"a\n\xef\xbb\xbfb\n", [b"a", b"\xef\xbb\xbfb"], [0, 2]),
        (b"\xff\x00\n\x00", [b"\xff\x00", b"\x00"], [0, 3]),
    ],
)
def test_lines_and_their_places(
    tmp_path: Path, name: str, content: bytes, expected: list[bytes], places: list[int]
) -> None:
    blocks = list(read_blocks(put(tmp_path, content, name)))
    assert [payload for block in blocks for payload in block.payloads] == expected
    assert offsets(blocks) == places
    assert all(block.payloads for block in blocks)


def test_blank_lines_are_kept_on_demand(tmp_path: Path) -> None:
    whole = put(tmp_path, b"a\n\n b\r\n\r\n")
    assert payloads(whole, keep_blank=True) == [b"a", b"", b" b", b""]
    (block,) = read_blocks(whole, keep_blank=True)
    assert offsets([block]) == [0, 2, 3, 7]


def test_blocks_are_bounded(tmp_path: Path) -> None:
    whole = put(tmp_path, b"".join(b"%05d\n" % n for n in range(10_000)))
    blocks = list(read_blocks(whole, block_bytes=6_000, block_payloads=700))
    assert {len(block.payloads) for block in blocks[:-1]} == {700}
    assert all(block.size <= 6_000 for block in blocks)
    assert sum(block.size for block in blocks) == whole.end
    assert offsets(blocks) == list(range(0, 60_000, 6))


def test_a_line_belongs_to_where_it_begins(tmp_path: Path) -> None:
    path = put(tmp_path, b"aaa\nbbb\nccc").path
    assert payloads(FileRange(path, 0, 4)) == [b"aaa"]
    assert payloads(FileRange(path, 0, 5)) == [b"aaa", b"bbb"]
    assert payloads(FileRange(path, 1, 4)) == []
    assert payloads(FileRange(path, 4, 5)) == [b"bbb"]
    assert payloads(FileRange(path, 3, 11)) == [b"bbb", b"ccc"]
    assert payloads(FileRange(path, 9, 11)) == []


def test_line_ends_across_chunks(tmp_path: Path) -> None:
    lines = [b"a" * (n % 5 + 1) for n in range(30)]
    whole = put(tmp_path, b"\r\n".join(lines))
    for size in range(1, 40):
        assert payloads(whole, block_bytes=size) == lines


def test_members_of_a_gzip_file_are_all_read(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(b"a\nb") + gzip.compress(b"c\nd\n"))
    assert payloads(FileRange(str(path), 0, path.stat().st_size)) == [b"a", b"bc", b"d"]


@pytest.mark.parametrize("name", ["f", "f.gz"])
def test_headers(tmp_path: Path, name: str) -> None:
    whole = put(tmp_path, b"\xef\xbb\xbf\r\n\na,b\r\n1,2\n3,4\n", name)
    header = header_of(whole.path)
    assert header == Header(b"a,b", end=11)
    blocks = list(read_blocks(whole, skip_before=header.end))
    assert [block.payloads for block in blocks] == [[b"1,2", b"3,4"]]
    assert offsets(blocks) == [11, 15]


def test_a_header_concerns_every_range_that_it_reaches_into(tmp_path: Path) -> None:
    path = put(tmp_path, b"\n\n\na,b\n1,2\n").path
    header = header_of(path)
    assert header is not None
    parts = [FileRange(path, at, at + 1) for at in range(11)]
    assert [p for r in parts for p in payloads(r, skip_before=header.end)] == [b"1,2"]
    assert header_of(put(tmp_path, b" \n\n").path) is None
    assert header_of(put(tmp_path, b"only").path) == Header(b"only", end=5)
    assert payloads(put(tmp_path, b"only"), skip_before=5) == []


@pytest.mark.parametrize("megabytes", [10, 100])
def test_long_lines_cost_their_bytes(tmp_path: Path, megabytes: int) -> None:
    long = b"x" * (megabytes * 1_000_000)
    whole = put(tmp_path, b"first\n" + long + b"\nlast\n")
    started = time.process_time()
    ranges = split(list_files(whole.path))
    found = [payload for part in ranges for payload in payloads(part)]
    assert time.process_time() - started < 5  # quadratic would be minutes
    assert [len(payload) for payload in found] == [5, len(long), 4]


def test_memory_is_bounded(tmp_path: Path) -> None:
    whole = put(tmp_path, (b"x" * 1_599 + b"\n") * 40_000)
    tracemalloc.start()
    try:
        for block in read_blocks(whole):
            assert block.payloads
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20


def test_a_file_that_grew_is_read_as_far_as_it_was(tmp_path: Path) -> None:
    whole = put(tmp_path, b"a\nb")
    with open(whole.path, "ab") as file:
        file.write(b"b\nc\n")
    assert payloads(whole) == [b"a", b"bb"]


def test_a_file_that_shrank_is_an_error(tmp_path: Path) -> None:
    path = put(tmp_path, b"a\nb\n").path
    with pytest.raises(NarrowsError, match="shorter than it was"):
        payloads(FileRange(path, 0, 5))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing = FileRange(str(tmp_path / "missing"), 0, 1)
    with pytest.raises(NarrowsError, match=r"cannot read file .*missing`: No such file") as caught:
        payloads(missing)
    assert caught.value.code is Code.UNREADABLE_FILE
    broken = put(tmp_path, b"this is no gzip", "f")
    (tmp_path / "f").rename(tmp_path / "f.gz")
    with pytest.raises(NarrowsError, match=r"cannot read file .*f\.gz"):
        payloads(FileRange(broken.path + ".gz", 0, 15))


@pytest.mark.parametrize("name", ["f.gz", "f.zst"])
def test_a_compressed_file_that_was_cut_off_is_an_error(tmp_path: Path, name: str) -> None:
    whole = put(tmp_path, b"".join(b"%d\n" % (n * n) for n in range(10_000)), name)
    path = Path(whole.path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(NarrowsError, match="cannot read file"):
        payloads(FileRange(whole.path, 0, whole.end - 100))
