"""Who reads which part of which file."""

from __future__ import annotations

import pickle
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narrows.files.listing import FileEntry
from narrows.files.ranges import FileRange, pack, split


def entry(path: str, size: int) -> FileEntry:
    return FileEntry(path, size, mtime_ms=0)


def test_large_files_are_cut_into_equal_parts() -> None:
    assert split([entry("a", 10), entry("b", 25), entry("c", 0)], target=10) == [
        FileRange("a", 0, 10),
        FileRange("b", 0, 8),
        FileRange("b", 8, 16),
        FileRange("b", 16, 25),
    ]


@pytest.mark.parametrize("name", ["a.json.gz", "a.ZST", "a.zst"])
def test_compressed_files_are_not_cut(name: str) -> None:
    assert split([entry(name, 1000)], target=10) == [FileRange(name, 0, 1000)]


@given(st.lists(st.integers(0, 10_000), max_size=5), st.integers(1, 3_000))
def test_ranges_cover_each_file_once(sizes: list[int], target: int) -> None:
    files = [entry(f"f{number}", size) for number, size in enumerate(sizes)]
    ranges = split(files, target)
    for file in files:
        mine = [r for r in ranges if r.path == file.path]
        assert sum(r.end - r.start for r in mine) == file.size
        assert all(a.end == b.start for a, b in pairwise(mine))
        assert all(0 < r.end - r.start <= target for r in mine)


def test_work_is_shared_out_evenly_and_in_order() -> None:
    mega = 1 << 20
    ranges = split([entry("a", 100 * mega), entry("b", 30 * mega), entry("c", 10 * mega)])
    packed = pack(ranges, 3)
    loads = [sum(r.end - r.start for r in part) for part in packed]
    assert max(loads) <= 55 * mega
    for part in packed:
        assert part == sorted(part, key=lambda r: (r.path, r.start))
    assert sorted((r for part in packed for r in part), key=ranges.index) == ranges


def test_a_compressed_file_is_more_work_than_its_size_says() -> None:
    mega = 1 << 20
    ranges = [FileRange("a.gz", 0, 10 * mega), *(FileRange(n, 0, 10 * mega) for n in "bcdef")]
    assert [len(part) for part in pack(ranges, 2)] == [1, 5]


def test_there_are_no_empty_partitions() -> None:
    assert pack([], 4) == []
    one = FileRange("a", 0, 1)
    assert pack([one], 4) == [[one]]


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 8))
def test_packing_keeps_every_range_and_order(sizes: list[int], partitions: int) -> None:
    ranges = [FileRange(f"f{n:02}", 0, size << 20) for n, size in enumerate(sizes)]
    packed = pack(ranges, partitions)
    assert packed == pack(list(ranges), partitions)
    assert sorted((r for part in packed for r in part), key=ranges.index) == ranges
    assert all(part == sorted(part, key=ranges.index) for part in packed)
    assert len(packed) == min(partitions, len(ranges))
    if ranges:
        loads = [sum(r.end - r.start for r in part) for part in packed]
        ideal = max(sum(loads) / partitions, max(sizes) << 20)
        assert max(loads) <= 4 / 3 * ideal + len(ranges) * (64 << 10) + ideal / 3


def test_ranges_travel_to_workers() -> None:
    one = FileRange("a", 0, 1)
    assert pickle.loads(pickle.dumps(one)) == one
