"""What is kept of a plan to tell whether a pipeline's state fits: it must not change by itself."""

from __future__ import annotations

import pytest

import narrows
from narrows.state.plan_shape import fits, shape_of


def test_a_join_is_kept_as_ever() -> None:
    """Checkpoints of earlier versions have just this."""
    catalog = narrows.Catalog()
    catalog.execute(
        "CREATE STREAM s (a INT) WITH (connector = 'file', path = 'x');"
        "CREATE TABLE t (a INT) WITH (connector = 'file', path = 'y')"
    )
    plan = narrows.plan("SELECT s.a FROM s JOIN t ON s.a = t.a", catalog)
    (kept,) = shape_of(plan.physical)["state"]
    columns = [["column", 0, "a"], ["column", 1, "a"]]
    condition = ["Call", "=", columns, False, False, None, [], [], [], None]
    assert kept["what"] == ["Join", {"kind": "INNER", "condition": condition}]


def _groups(query: str, dtype: str = "INT") -> object:
    catalog = narrows.Catalog()
    catalog.execute(
        f"CREATE STREAM s (a STRUCT<x: INT>, b STRUCT<x: INT>, c {dtype})"
        " WITH (connector = 'file', path = 'x'); CREATE SINK o WITH (connector = 'memory');"
        f"CREATE PIPELINE p INTO o AS {query}"
    )
    plan = catalog.plan_pipeline("p").physical
    (kept,) = shape_of(plan)["state"]
    assert kept["text"].startswith("PhysicalEndlessAggregation")
    return kept["what"]


COUNTED = "SELECT a->x, count(*), max(c) FROM s GROUP BY a->x"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT S.A.x AS k, count(*) + 1 AS n, max(c) FROM S GROUP BY s.a.x",
        "SELECT t.a->x, count(*), max(t.c) FROM s AS t WHERE t.c > 1 GROUP BY t.a->x",
        "SELECT a->x, count(*), max(c) FROM s GROUP BY a->x HAVING count(*) > 1",
    ],
)
def test_groups_that_tasks_keep_are_the_same_by_another_name(query: str) -> None:
    assert _groups(query) == _groups(COUNTED)


@pytest.mark.parametrize(
    ("query", "dtype"),
    [
        ("SELECT b->x, count(*), max(c) FROM s GROUP BY b->x", "INT"),
        ("SELECT a->x, count(*), min(c) FROM s GROUP BY a->x", "INT"),
        ("SELECT a->x, count(c), max(c) FROM s GROUP BY a->x", "INT"),
        ("SELECT a->x, max(c), count(*) FROM s GROUP BY a->x", "INT"),
        (COUNTED, "BIGINT"),
    ],
)
def test_other_groups_are_others(query: str, dtype: str) -> None:
    """Files of groups have their columns by places and types."""
    assert _groups(query, dtype) != _groups(COUNTED)


def _kept(query: str, dtype: str = "INT") -> dict[str, object]:
    catalog = narrows.Catalog()
    catalog.execute(
        f"CREATE STREAM s (a STRUCT<x: INT>, b STRUCT<x: INT>, c {dtype}, ts TIMESTAMP) WITH"
        " (connector = 'file', path = 'x', eventtime = 'ts');"
        "CREATE SINK o WITH (connector = 'memory');"
        f"CREATE PIPELINE p INTO o AS {query}"
    )
    return shape_of(catalog.plan_pipeline("p").physical)["state"][-1]


WINDOW = "SELECT {0}->x, count(*), max(c) FROM s GROUP BY {0}->x, tumblingwindow('ss', 1)"


def test_windows_of_other_columns_are_others() -> None:
    of_a, of_b = _kept(WINDOW.format("a")), _kept(WINDOW.format("b"))
    assert fits([of_a], [of_a])
    assert not fits([of_a], [of_b]), "both are called x"
    assert not fits([of_a], [_kept(WINDOW.format("a"), "BIGINT")])


def test_what_an_earlier_version_said_of_windows_fits() -> None:
    kept = _kept(WINDOW.format("a"))
    assert fits([{"what": kept["was"]}], [kept])
    assert not fits([], [kept])


COUNT = "SELECT {} FROM s GROUP BY countwindow(3)"


@pytest.mark.parametrize(
    ("query", "dtype"),
    [
        ("SELECT lag(c) AS x FROM s", "BIGINT"),
        ("SELECT lag(c) OVER (PARTITION BY a->x) AS x FROM s", "INT"),
        (COUNT.format("max(c) AS x"), "INT"),
        (COUNT.format("collect_list(c) AS x"), "INT"),
        (COUNT.format("collect_list(c) AS x"), "BIGINT"),
        (COUNT.format("collect_list(c) AS x, max(a->x) AS y"), "INT"),
    ],
)
def test_what_tasks_remember_of_other_rows_is_another(query: str, dtype: str) -> None:
    kept = _kept(query, dtype)
    assert "by tasks" in str(kept["text"])
    assert fits([kept], [kept])
    for other in ("SELECT lag(c) AS x FROM s", COUNT.format("collect_list(b->x) AS x")):
        assert not fits([kept], [_kept(other)])
