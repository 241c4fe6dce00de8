"""What the driver tells readers of the end of the input, which they say (`worker/input_end.py`)."""

from __future__ import annotations

from narrows.catalog.objects import Source
from narrows.plugins.options import parse_duration
from narrows.stateful.windows.window import StreamWindow
from narrows.worker.input_end import InputEnd


def input_end(
    source: Source, relation: int, window: StreamWindow | None, checkpoint: str
) -> InputEnd | None:
    """How readers of a source say the end; None where nobody waits for it."""
    if window is None or not checkpoint or not source.is_fed:
        return None
    return InputEnd(f"end{relation}", window, watermark_delay(source, window), checkpoint)


def watermark_delay(source: Source, window: StreamWindow) -> int:
    """How far the watermark of rows that go into a window stays behind them, in milliseconds."""
    if not window.goes_by_time:
        return 1
    return 0 if source.eventtime is None else parse_duration(source.watermark) or 0
