"""The end of the input as readers say it: late enough for all windows, and no later."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from narrows.stateful.windows import (
    CountWindow,
    HoppingWindow,
    SessionWindow,
    SlidingWindow,
    TumblingWindow,
)
from narrows.stateful.windows.window import StreamWindow
from narrows.worker.event_time import EventTime
from narrows.worker.input_end import InputEnd

SCHEMA = pa.schema([("k", pa.string()), ("at", pa.int64())])


def _batches(*times: Sequence[int]) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pydict({"k": ["x"] * len(t), "at": t}, SCHEMA) for t in times]


def _committed(checkpoint: Path, watermark: int) -> Path:
    (checkpoint / "commits").mkdir(parents=True)
    (checkpoint / "commits" / "9").write_text('v1\n{"nextBatchWatermarkMs": 1}')
    newest = json.dumps({"nextBatchWatermarkMs": watermark})
    (checkpoint / "commits" / "10").write_text(f"v1\n{newest}")
    return checkpoint


def _said(
    end: InputEnd, batches: list[pa.RecordBatch], unit: str, *, is_last: bool = True
) -> list[int | None]:
    event_time = EventTime("at", 1, unit)
    rows = list(end.with_end(iter(batches), event_time, SCHEMA, is_last=is_last))
    assert [row.schema.names for row in rows] == [["k", "at", "end0"]] * len(rows)
    return [value for row in rows for value in row.column("end0").to_pylist()]


@pytest.mark.parametrize(
    ("window", "closes"),
    [
        (TumblingWindow(10_000), 30_000),
        (HoppingWindow(10_000, 5_000), 30_000),
        (SessionWindow(4_000), 27_001),
        (SlidingWindow(9_000, 2_000), 25_001),
        (SlidingWindow(9_000), 23_001),
    ],
)
def test_windows_that_go_by_time(window: StreamWindow, closes: int, tmp_path: Path) -> None:
    end = InputEnd("end0", window, 5_000, str(tmp_path))
    assert _said(end, _batches([1, 23], [7]), "s") == [None, None, None, closes + 5_000]


def test_an_earlier_batch_had_the_newest_row(tmp_path: Path) -> None:
    checkpoint = _committed(tmp_path, 70_000)
    end = InputEnd("end0", TumblingWindow(10_000), 5_000, str(checkpoint))
    assert _said(end, _batches([23_000]), "ms") == [None, 80_000 + 5_000]
    assert _said(end, _batches([91_000_000]), "us") == [None, 100_000 + 5_000]


def test_windows_that_rows_cut_only_need_the_next_moment(tmp_path: Path) -> None:
    checkpoint = _committed(tmp_path, 7)
    end = InputEnd("end0", CountWindow(3), 1, str(checkpoint))
    assert _said(end, _batches([23_000]), "ms") == [None, 8 + 1]


def test_a_task_without_rows_says_it_too_and_other_turns_say_nothing(tmp_path: Path) -> None:
    end = InputEnd("end0", TumblingWindow(10), 0, str(tmp_path))
    assert _said(end, [], "ms") == [10]
    assert _said(end, _batches([1, 2]), "ms", is_last=False) == [None, None]
    assert _said(end, [], "ms", is_last=False) == []
