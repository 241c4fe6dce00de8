"""Spark's log of markers: kept short, and moved with the state folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from narrows.spark.streaming.source_log import move, shorten, uri_of


def _line(number: int, folder: str = "/s/entries/p/s/markers") -> str:
    path = f"file://{folder}/{number:012d}.marker"
    return json.dumps({"path": path, "timestamp": number, "batchId": number})


def _log(source: Path, newest: int) -> None:
    source.mkdir()
    for number in range(newest + 1):
        compact = (number + 1) % 10 == 0
        name = f"{number}.compact" if compact else str(number)
        lines = [_line(n) for n in range(number + 1)] if compact else [_line(number)]
        (source / name).write_text("\n".join(["v1", *lines]))
        (source / f".{name}.crc").write_bytes(b"crc\0")


def _numbers(path: Path) -> list[int]:
    version, *lines = path.read_text().split("\n")
    assert version == "v1"
    return [json.loads(line)["batchId"] for line in lines]


def test_of_what_is_published_the_last_lines_are_kept(tmp_path: Path) -> None:
    _log(tmp_path / "0", 1_005)
    shorten(tmp_path / "0", 1_003)
    assert _numbers(tmp_path / "0" / "999.compact") == list(range(980, 1_000))
    assert not (tmp_path / "0" / ".999.compact.crc").exists(), "it is of another file"
    assert _numbers(tmp_path / "0" / "1005") == [1_005]
    assert (tmp_path / "0" / ".1005.crc").exists()
    size = sum(path.stat().st_size for path in (tmp_path / "0").glob("*.compact"))
    shorten(tmp_path / "0", 1_003)
    assert sum(path.stat().st_size for path in (tmp_path / "0").glob("*.compact")) == size


def test_what_is_not_published_is_left_alone(tmp_path: Path) -> None:
    _log(tmp_path / "0", 999)
    shorten(tmp_path / "0", 998)
    assert len(_numbers(tmp_path / "0" / "999.compact")) == 1_000
    assert (tmp_path / "0" / ".999.compact.crc").exists()


def test_lines_are_moved(tmp_path: Path) -> None:
    _log(tmp_path / "0", 12)
    (tmp_path / "0" / "3").write_text("v1\nnonsense")
    (tmp_path / "0" / ".11.5bb0.tmp").write_text("left by a crash")
    folder = Path("/elsewhere/é [1]/entries/p/s/markers")
    move(tmp_path / "0", folder)
    for name in ("9.compact", "10", "12"):
        for line in (tmp_path / "0" / name).read_text().split("\n")[1:]:
            value = json.loads(line)
            assert value["path"] == uri_of(folder / f"{value['batchId']:012d}.marker")
    assert (tmp_path / "0" / "3").read_text() == "v1\nnonsense"
    assert list((tmp_path / "0").glob(".*.tmp")) == []


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/a b/c", "file:///a%20b/c"),
        ("/a [of] {all}", "file:///a%20%5Bof%5D%20%7Ball%7D"),
        ("/é/日本/100%", "file:///é/日本/100%25"),
        ("/x~y_z-1.2!$&'()*+,;=:@", "file:///x~y_z-1.2!$&'()*+,;=:@"),
        ('/a#b?c^d|e\\f"g<h>`', "file:///a%23b%3Fc%5Ed%7Ce%5Cf%22g%3Ch%3E%60"),
    ],
)
def test_paths_are_written_like_java_does(path: str, uri: str) -> None:
    assert uri_of(Path(path)) == uri
