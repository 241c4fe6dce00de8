"""A pipeline whose sink, or whose state folder, has no room left or cannot be written: it says so,
in one line, and goes on when that is mended. No row is lost, none is there twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows
from support.small_disk import SmallDisk, small_disk

ROWS = 3_000


def _session(spark: SparkSession, folder: Path, disk: Path, on: str) -> narrows.Session:
    state = disk / "state" if on == "state" else folder / "state"
    sink = disk / "out" if on == "sink" else folder / "out"
    session = narrows.connect(spark, state=state)
    session.execute(
        f"""
        CREATE STREAM s (a BIGINT, t STRING) WITH (connector = 'file', path = '{folder}/in');
        CREATE SINK out WITH (connector = 'file', path = '{sink}');
        CREATE PIPELINE p INTO out AS SELECT a, t FROM s;
        """
    )
    return session


def _put(folder: Path, first: int, rows: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    lines = (json.dumps({"a": n, "t": "x" * 100}) for n in range(first, first + rows))
    (folder / "in" / f"{first}.json").write_text("\n".join(lines))


def _numbers(out: Path) -> list[int]:
    lines = [line for path in out.glob("[!.]*.json") for line in path.read_text().splitlines()]
    return sorted(json.loads(line)["a"] for line in lines)


def _fill(disk: SmallDisk) -> None:
    """Leaves no room at all."""
    with (disk.path / "ballast").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)


@pytest.mark.parametrize(
    ("on", "harm", "reason"),
    [
        ("sink", _fill, "No space left on device"),
        ("sink", SmallDisk.read_only, "Read-only file system"),
        ("state", _fill, "No space left on device"),
    ],
)
def test_it_says_so_and_goes_on(
    small_data: SparkSession,
    tmp_path: Path,
    on: str,
    harm: Callable[[SmallDisk], None],
    reason: str,
) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        _put(tmp_path, 0, 10)
        with _session(small_data, tmp_path, disk.path, on) as session:
            session.start("p", once=True).await_done(timeout=120)
        harm(disk)
        _put(tmp_path, 10, ROWS)
        with (
            _session(small_data, tmp_path, disk.path, on) as session,
            pytest.raises(narrows.NarrowsError, match=reason) as raised,
        ):
            session.start("p", once=True, restart="never").await_done(timeout=120)
        first, *_ = str(raised.value).splitlines()
        assert reason in first
        assert str(disk.path) in first
        disk.resize("64m")
        with _session(small_data, tmp_path, disk.path, on) as session:
            session.start("p", once=True).await_done(timeout=120)
        out = disk.path / "out" if on == "sink" else tmp_path / "out"
        assert _numbers(out) == list(range(10 + ROWS))
