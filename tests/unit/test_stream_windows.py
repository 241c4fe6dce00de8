"""When all windows are over, and how often somebody has to look."""

from __future__ import annotations

import pytest

from narrows import Catalog, plan
from narrows.logical.nodes import Window
from narrows.logical.walk import topological
from narrows.physical.stateful_calls import window_call
from narrows.stateful.windows import TumblingWindow
from narrows.stateful.windows.window import StreamWindow

CATALOG = Catalog()
CATALOG.execute(
    "CREATE STREAM s (a BIGINT, ts BIGINT) WITH (connector = 'file', path = 'p', eventtime = 'ts')"
)


def called(window: str) -> StreamWindow:
    planned = plan(f"SELECT count(*) FROM s GROUP BY {window}", CATALOG)
    (found,) = [node for node in topological(planned.logical) if isinstance(node, Window)]
    return window_call(found.window).evaluator


@pytest.mark.parametrize(
    ("window", "newest", "over"),
    [
        ("tumblingwindow('ss', 10)", 19_999, 20_000),
        ("tumblingwindow('ss', 10)", 20_000, 30_000),
        ("hoppingwindow('ss', 10, 4)", 19_999, 26_000),
        ("sessionwindow('mi', 1)", 5, 60_006),
        ("slidingwindow('ms', 10)", 5, 6),
        ("slidingwindow('ms', 10, 7)", 5, 13),
        ("countwindow(3)", 7, 8),
        ("statewindow(a = 1, a = 2)", 7, 8),
    ],
)
def test_closing_time(window: str, newest: int, over: int) -> None:
    assert called(window).closing_time(newest) == over


@pytest.mark.parametrize(
    ("window", "period"),
    [
        ("tumblingwindow('ss', 10)", 10_000),
        ("hoppingwindow('ss', 10, 4)", 4_000),
        ("tumblingwindow('ms', 5)", 100),
    ],
)
def test_period(window: str, period: int) -> None:
    assert called(window).period == period


@pytest.mark.parametrize(
    ("unit", "length"),
    [("ms", 1), ("ss", 1_000), ("mi", 60_000), ("hh", 3_600_000), ("dd", 86_400_000)],
)
def test_units(unit: str, length: int) -> None:
    assert called(f"tumblingwindow('{unit}', 2)") == TumblingWindow(2 * length)
