"""When all windows are over, and how often somebody has to look."""

from __future__ import annotations

import pytest

from narrows import Catalog, plan
from narrows.logical.nodes import Window
from narrows.logical.walk import topological
from narrows.physical.window_spec import WindowSpec, window_spec

CATALOG = Catalog()
CATALOG.execute(
    "CREATE STREAM s (a BIGINT, ts BIGINT) WITH (connector = 'file', path = 'p', eventtime = 'ts')"
)


def spec(window: str) -> WindowSpec:
    planned = plan(f"SELECT count(*) FROM s GROUP BY {window}", CATALOG)
    (found,) = [node for node in topological(planned.logical) if isinstance(node, Window)]
    return window_spec(found.window)


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
    assert spec(window).closing_time(newest) == over


@pytest.mark.parametrize(
    ("window", "period"),
    [
        ("tumblingwindow('ss', 10)", 10_000),
        ("hoppingwindow('ss', 10, 4)", 4_000),
        ("tumblingwindow('ms', 5)", 100),
    ],
)
def test_period(window: str, period: int) -> None:
    assert spec(window).period == period


def test_units() -> None:
    lengths = [spec(f"tumblingwindow('{unit}', 2)").lengths for unit in ("ms", "ss", "mi", "hh")]
    assert lengths == [(2,), (2_000,), (120_000,), (7_200_000,)]
    assert spec("tumblingwindow('dd', 1)").lengths == (86_400_000,)
