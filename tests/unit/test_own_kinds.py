"""A window and a function of one's own are planned, checked and explained like any other."""

from __future__ import annotations

import pytest

import narrows
from narrows.errors import Code, NarrowsError
from narrows.functions.stateful import remembering, stream_window
from narrows.schema import BIGINT
from support.own_kinds import ShiftedWindow, Streak, UntilWindow


@pytest.fixture
def catalog() -> narrows.Catalog:
    made = narrows.Catalog()
    made.execute(
        "CREATE STREAM s (k BIGINT, a BIGINT, unused STRING, ts BIGINT)"
        " WITH (connector = 'file', path = 'p', eventtime = 'ts')"
    )
    made.functions.add(stream_window(UntilWindow))
    made.functions.add(stream_window(ShiftedWindow))
    made.functions.add(remembering(Streak))
    return made


def explained(sql: str, catalog: narrows.Catalog) -> list[str]:
    text = narrows.plan(sql, catalog).explain("physical")
    return [line.strip(" └─").replace("   ", "") for line in text.splitlines()[2:]]


def test_a_window_that_rows_cut(catalog: narrows.Catalog) -> None:
    sql = "SELECT k, count(*) AS n FROM s GROUP BY k, untilwindow(a > 3, 10)"
    _, window, decoder, _ = explained(sql, catalog)
    assert "window=untilwindow(s.a > 3, 10), keys=[s.k; window_start; window_end;" in window
    assert window.endswith("calls=[count(*)], state=aggregates")
    assert decoder.endswith("schema=[k, a, ts], decodes=3 of 4 leaves, eventtime=ts, order=source")


def test_a_window_that_spark_cuts(catalog: narrows.Catalog) -> None:
    sql = "SELECT k, count(*) AS n FROM s GROUP BY k, shiftedwindow('hh', 24, 6) HAVING k = 1"
    operators = [line.partition("_")[0] for line in explained(sql, catalog)]
    assert operators[1:3] == ["PhysicalStreamingAggregation", "PhysicalFilter"], (
        "a row's time decides, so the filter moves below the window"
    )


def test_a_function(catalog: narrows.Catalog) -> None:
    planned = narrows.plan("SELECT streak(a > 3) OVER (PARTITION BY k) AS n FROM s", catalog)
    assert [column.dtype for column in planned.logical.outputs] == [BIGINT]
    assert "calls=[streak(s.a > 3) OVER (PARTITION BY s.k)]" in planned.explain("physical")


def test_notices_of_whole_streams(catalog: narrows.Catalog) -> None:
    planned = narrows.plan("SELECT streak(a > 3) FROM s", catalog)
    assert [notice.code for notice in planned.notices] == ["one_task"]


@pytest.mark.parametrize(
    ("sql", "code", "message"),
    [
        (
            "SELECT count(*) FROM s GROUP BY untilwindow(a)",
            Code.INVALID_WINDOW,
            "`untilwindow` takes a condition, not `s.a`",
        ),
        (
            "SELECT count(*) FROM s GROUP BY untilwindow(a > 1, 1)",
            Code.INVALID_WINDOW,
            "`untilwindow` of one row at most is every row by itself",
        ),
        (
            "SELECT streak(a) FROM s",
            Code.WRONG_TYPE,
            "`streak` takes a condition, not `s.a`",
        ),
        (
            "SELECT streak() FROM s",
            Code.WRONG_ARITY,
            "function `streak` takes 1 argument, 0 were given",
        ),
    ],
)
def test_what_they_refuse(catalog: narrows.Catalog, sql: str, code: Code, message: str) -> None:
    with pytest.raises(NarrowsError) as raised:
        narrows.plan(sql, catalog)
    (problem,) = raised.value.problems
    assert (problem.code, problem.message) == (code, message)
