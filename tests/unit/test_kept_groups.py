"""Which groups without window tasks keep; that they give what Spark gives is shown in
`tests/spark/test_group_tasks.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

import narrows
from narrows.physical.execution import ExecutionMode
from narrows.state.fitting import fitting_plan
from narrows.state.folder import StateFolder

SCHEMA = "i INT, n BIGINT, f FLOAT, x DOUBLE, d DECIMAL(6,2), large DECIMAL(30,2), s STRING"
OFF, ON = (
    f"SET narrows.rule.endless_aggregation_into_reader = {setting}" for setting in ("off", "on")
)


@pytest.fixture
def catalog() -> narrows.Catalog:
    made = narrows.Catalog()
    made.execute(
        f"CREATE STREAM t ({SCHEMA}) WITH (connector = 'file', path = 'data');"
        "CREATE SINK out WITH (connector = 'file', path = 'out');"
        "CREATE SINK pairs WITH (connector = 'file', path = 'pairs', mode = 'retract')"
    )
    return made


def _mode(catalog: narrows.Catalog, query: str, sink: str = "out") -> ExecutionMode:
    catalog.execute(f"CREATE OR REPLACE PIPELINE p INTO {sink} AS {query}")
    how = catalog.plan_pipeline("p").execution
    assert how is not None
    return how.mode


SUMS = ["sum(i)", "sum(n)", "sum(d)", "avg(d)"]


@pytest.mark.parametrize(
    "call", ["count(*)", "sum(x)", "avg(i)", "max_by(s, n)", "stddev(f)", "any_value(s)", *SUMS]
)
def test_what_tasks_keep(catalog: narrows.Catalog, call: str) -> None:
    assert _mode(catalog, f"SELECT s, {call} AS v FROM t GROUP BY s") is ExecutionMode.GROUPS
    assert _mode(catalog, f"SELECT {call} AS v FROM t") is ExecutionMode.GROUPS


@pytest.mark.parametrize("call", SUMS)
def test_what_may_be_an_error_in_ansi_mode_is_left_to_spark(
    catalog: narrows.Catalog, call: str
) -> None:
    catalog.is_ansi = lambda: True
    assert _mode(catalog, f"SELECT s, {call} AS v FROM t GROUP BY s") is ExecutionMode.STREAM
    assert _mode(catalog, "SELECT s, count(*) AS v FROM t GROUP BY s") is ExecutionMode.GROUPS


@pytest.mark.parametrize(
    "query",
    [
        "SELECT s, sum(large) AS v FROM t GROUP BY s",
        "SELECT s, first(i) AS v FROM t GROUP BY s",
        "SELECT s, collect_list(i) AS v FROM t GROUP BY s",
        "SELECT f, count(*) AS v FROM t GROUP BY f",
        "SELECT x, count(*) AS v FROM t GROUP BY x",
        "SELECT s, sum(reverse(s)) AS v FROM t GROUP BY s",
        "SELECT s, count(*) FILTER (WHERE reverse(s) = 'a') AS v FROM t GROUP BY s",
        "SELECT s, i, count(*) AS v FROM t GROUP BY CUBE (s, i)",
    ],
)
def test_what_is_left_to_spark(catalog: narrows.Catalog, query: str) -> None:
    assert _mode(catalog, query) is ExecutionMode.STREAM


def test_what_is_taken_back_is_not_kept_in_parts(catalog: narrows.Catalog) -> None:
    query = "SELECT s, count(*) AS v FROM t GROUP BY s"
    assert _mode(catalog, query, "pairs") is ExecutionMode.KEYED


def test_what_spark_has_begun_to_keep_it_goes_on_with(
    catalog: narrows.Catalog, tmp_path: Path
) -> None:
    state = StateFolder(tmp_path / "state")
    catalog.execute(OFF)
    assert _mode(catalog, "SELECT s, max(i) AS v FROM t GROUP BY s") is ExecutionMode.STREAM
    state.claim("p", catalog.plan_pipeline("p").physical)
    catalog.execute(ON)

    def mode() -> ExecutionMode | None:
        how = fitting_plan(state, catalog, "p", pruning=True).execution
        return None if how is None else how.mode

    assert mode() is ExecutionMode.STREAM
    state.reset("p")
    assert mode() is ExecutionMode.GROUPS
    state.claim("p", catalog.plan_pipeline("p").physical)
    assert mode() is ExecutionMode.GROUPS
