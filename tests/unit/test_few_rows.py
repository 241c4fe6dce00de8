"""Where few rows come into one task, by the sizes of what is read."""

from __future__ import annotations

import pytest

import narrows
from narrows.catalog.measured import Measured
from narrows.catalog.objects import Source
from narrows.logical.walk import topological
from narrows.physical.nodes import PhysicalGather
from narrows.planner.query import plan

_MB = 1 << 20
DISTINCT = "SELECT k, count(DISTINCT a) FROM small GROUP BY k"
SORTED = "SELECT k, max(a) AS most FROM small GROUP BY k ORDER BY most"
JOINED = "SELECT s.k, count(DISTINCT b) FROM small s JOIN large l ON s.k = l.k {} GROUP BY s.k"


def gathers(sql: str, small: float | None = 8, large: float = 400, form: str = "json") -> int:
    """In how many places, if the tables have so many megabytes."""
    catalog = narrows.Catalog()
    catalog.execute(
        "CREATE TABLE small (k STRING, a BIGINT)"
        f" WITH (connector = 'file', path = 'data', format = '{form}');"
        "CREATE TABLE large (k STRING, b BIGINT, c STRING, d STRING, e STRING)"
        " WITH (connector = 'file', path = 'data')"
    )

    def size_of(source: Source) -> int | None:
        size = {"small": small, "large": large}[source.name]
        return None if size is None else int(size * _MB)

    catalog.measured = Measured(size=size_of)
    nodes = topological(plan(sql, catalog).physical)
    return sum(isinstance(node, PhysicalGather) for node in nodes)


@pytest.mark.parametrize("sql", [DISTINCT, SORTED])
def test_few_rows_come_into_one_task(sql: str) -> None:
    assert gathers(sql) == 1


@pytest.mark.parametrize("sql", [DISTINCT, SORTED])
def test_many_rows_do_not(sql: str) -> None:
    assert gathers(sql, small=2000) == 0


@pytest.mark.parametrize("sql", [DISTINCT, SORTED])
def test_nobody_knows_how_many_there_are(sql: str) -> None:
    assert gathers(sql, small=None) == 0


@pytest.mark.parametrize("sql", [DISTINCT, SORTED])
def test_packed_files_do_not_say_how_many_there_are(sql: str) -> None:
    assert gathers(sql, form="parquet") == 0


def test_groups_that_are_in_one_task_are_sorted_there() -> None:
    assert gathers(f"{DISTINCT} ORDER BY 2") == 1


def test_what_is_left_of_a_join_counts() -> None:
    assert gathers(JOINED.format(""), large=400) == 0
    assert gathers(JOINED.format("AND c = 'x'"), large=100) == 1


def test_what_is_guessed_about_tests_may_be_wrong() -> None:
    tests = "AND c = 'x' AND d = 'x' AND e = 'x'"
    assert gathers(JOINED.format(tests), large=400) == 1
    assert gathers(JOINED.format(tests), large=4000) == 0
