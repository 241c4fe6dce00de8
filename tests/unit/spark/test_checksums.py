"""Checksums as Hadoop writes them."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest

from narrows.spark.streaming.checksums import agrees

OF_SPARK = b'v1\n{"nextBatchWatermarkMs":0}', bytes.fromhex("6372630000000200f32abfdd")
"""A file of a checkpoint that Spark wrote, and its checksums."""
HEAD = OF_SPARK[1][:8]
LONG = bytes(range(256)) * 5
LONG_SUMS = HEAD + b"".join(
    crc32(LONG[start : start + 512]).to_bytes(4, "big") for start in (0, 512, 1024)
)


def _changed(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


@pytest.mark.parametrize(
    ("data", "sums", "expected"),
    [
        (*OF_SPARK, True),
        (LONG, LONG_SUMS, True),
        (b"", HEAD, True),
        (LONG, None, True),
        (LONG, b"", True),
        (LONG, _changed(LONG_SUMS, 1), True),  # Hadoop takes it for something else
        (_changed(OF_SPARK[0], 3), OF_SPARK[1], False),
        (OF_SPARK[0], _changed(OF_SPARK[1], 9), False),
        (_changed(LONG, 1279), LONG_SUMS, False),
        (LONG[:-1], LONG_SUMS, False),
        (LONG + b"x", LONG_SUMS, False),
        (LONG, LONG_SUMS[:-1], False),
        (LONG, HEAD[:4] + bytes(4), False),
    ],
)
def test_a_file_and_its_checksums(
    tmp_path: Path, data: bytes, sums: bytes | None, expected: bool
) -> None:
    path = tmp_path / "7"
    path.write_bytes(data)
    if sums is not None:
        (tmp_path / ".7.crc").write_bytes(sums)
    assert agrees(path) is expected
