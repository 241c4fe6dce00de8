"""What Spark reads of a checkpoint when a query starts is looked at before: it does not say which
file was wrong."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from narrows.errors import Code, NarrowsError
from narrows.spark.streaming import checkpoint as module
from narrows.spark.streaming.checkpoint import check_checkpoint, marker_position

FILES = ("offsets/7", "offsets/8", "sources/0/9.compact", "sources/0/10", "metadata")
"""Those that are read: the batch that was begun last and the one before it, and of the log of a
source what was put together last, and since."""


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    times = {"batchWatermarkMs": 0, "batchTimestampMs": 1_700_000_000_000}
    settings = json.dumps({**times, "conf": {"a": "b\u2028"}}, ensure_ascii=False)
    taken = [
        json.dumps({"path": f"file:///m/{n}", "timestamp": n, "batchId": n}) for n in range(11)
    ]
    files = {f"offsets/{n}": ["v1", settings, json.dumps({"logOffset": n + 2})] for n in range(9)}
    files |= {f"sources/0/{n}": ["v1", taken[n]] for n in (7, 8, 10)}
    files["sources/0/9.compact"] = ["v1", *taken[:10]]
    files["commits/7"] = ["v1", json.dumps({"nextBatchWatermarkMs": 0})]
    files["metadata"] = [json.dumps({"id": str(uuid.uuid4())})]
    for name, lines in files.items():
        _write(tmp_path / name, *lines)
    return tmp_path


def _write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines), "utf-8")


def test_what_spark_wrote_is_right(checkpoint: Path) -> None:
    check_checkpoint(checkpoint)
    for unread in ("offsets/6", "sources/0/7"):
        (checkpoint / unread).write_text("v1\n{")
    check_checkpoint(checkpoint)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("junk", [b"", b"\xff", b"\x18"], ids=["cut", "no text", "control"])
def test_the_file_that_is_damaged_is_named(checkpoint: Path, file: str, junk: bytes) -> None:
    path = checkpoint / file
    data = path.read_bytes()
    start = data.rindex(b"{") + 1
    for place in range(start, len(data)):
        path.write_bytes(data[:place] + junk + (data[place + 1 :] if junk else b""))
        with pytest.raises(NarrowsError) as told:
            check_checkpoint(checkpoint)
        assert told.value.problems[0].code is Code.UNREADABLE_FILE
        assert f"`{path}`" in str(told.value)


@pytest.mark.parametrize("file", ["offsets/7", "offsets/8", "sources/0/9.compact", "sources/0/10"])
def test_what_spark_would_miss_is_told(checkpoint: Path, file: str) -> None:
    path = checkpoint / file
    text = path.read_text("utf-8")
    for name in ("batchTimestampMs", "conf", "timestamp", "path"):
        if f'"{name}"' in text:
            path.write_text(text.replace(f'"{name}"', f'"{name}_"', 1), "utf-8")
            with pytest.raises(NarrowsError, match=f"does not say `{name}`"):
                check_checkpoint(checkpoint)


def test_a_batch_that_is_gone_is_told(checkpoint: Path) -> None:
    (checkpoint / "offsets" / "7").unlink()
    with pytest.raises(NarrowsError, match="offsets/7"):
        check_checkpoint(checkpoint)


def test_spark_may_take_a_marker_while_one_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not there at the first look, and is told of by offsets at the second, is there."""
    (tmp_path / "sources" / "0").mkdir(parents=True)
    look = module._newest_line

    def then_written(source: Path) -> Any:
        found = look(source)
        line = {
            "path": f"file://{tmp_path}/s/markers/{0:020d}.marker",
            "timestamp": 5,
            "batchId": 0,
        }
        _write(tmp_path / "sources/0/0", "v1", json.dumps(line))
        _write(tmp_path / "offsets/0", "v1", "{}", json.dumps({"logOffset": 0}))
        return found

    monkeypatch.setattr(module, "_newest_line", then_written)
    assert marker_position(tmp_path, tmp_path / "s" / "markers").taken == 0
