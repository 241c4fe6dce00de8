"""Which plans leave everything to a reader."""

from __future__ import annotations

from typing import Any

import pytest

import narrows
from narrows.physical import execution
from narrows.projection.columns import DecodeProjection
from narrows.spark.read.plain_read import NamedRead, named_read
from narrows.spark.write.sink_frame import copied_from

SOURCES = """
    CREATE STREAM s (a INT, b STRUCT<c: INT, d: ARRAY<INT>>, e STRING)
        WITH (connector = 'file', path = '/data');
    CREATE TABLE t (a INT, f STRING) WITH (connector = 'file', path = '/data');
"""


def plain(sql: str, *, pruning: bool = True) -> NamedRead | None:
    catalog = narrows.Catalog()
    catalog.execute(SOURCES)
    rows = narrows.plan(sql, catalog, pruning=pruning).physical
    return named_read(rows, [column.name for column in rows.outputs])


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT * FROM s", ("a", "b", "e")),
        ("SELECT a AS x, b->c, e AS z FROM s", ("x", "c", "z")),
        ("SELECT e FROM s WHERE a > 3", ("e",)),
        ("SELECT b->d[1] AS second, b->d[0] AS first FROM s", ("first", "second")),
        ("SELECT x FROM (SELECT a AS x, e FROM s)", ("x",)),
    ],
)
def test_columns_get_their_names_from_the_reader(sql: str, names: tuple[str, ...]) -> None:
    found = plain(sql)
    assert found is not None
    assert found.spec.names == names
    assert found.in_order == (names[0] != "first")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT upper(e) FROM s",
        "SELECT a, a AS again FROM s",
        "SELECT a AS x, e AS x FROM s",
        "SELECT b, b->c FROM s",  # the reader ships `b`, from which `b->c` is taken
        "SELECT a FROM s WHERE upper(e) = 'X'",
        "SELECT DISTINCT a FROM s",
        "SELECT a FROM s LIMIT 3",
        "SELECT s.a FROM s JOIN t ON s.a = t.a",
        "SELECT 1 FROM s",
        "SELECT count(*) FROM s",
    ],
)
def test_what_is_left_to_spark(sql: str) -> None:
    assert plain(sql) is None


def test_what_is_shipped_without_being_selected_keeps_its_name() -> None:
    found = plain("SELECT e AS x FROM s", pruning=False)
    assert found is not None
    assert found.spec.names == ("c0_0", "c0_1", "x")
    assert not found.in_order


def test_an_event_time_that_nobody_selects() -> None:
    catalog = narrows.Catalog()
    catalog.execute(
        """
        CREATE STREAM s (a INT, ts BIGINT, e STRING)
            WITH (connector = 'file', path = '/data', eventtime = 'ts', eventtime_unit = 's');
        CREATE SINK lines WITH (connector = 'file', path = '/lines');
        CREATE SINK columns WITH (connector = 'file', path = '/columns', format = 'parquet');
        CREATE PIPELINE p INTO lines AS SELECT a, e FROM s WHERE a > 3;
        CREATE PIPELINE q INTO columns AS SELECT e, a FROM s;
        """
    )
    for pipeline in ("p", "q"):
        assert copied_from(catalog.plan_pipeline(pipeline)) is not None, pipeline


def test_what_a_reader_ships_is_made_once_for_all_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was made for each of them: a select of 2 000 columns took half a minute to plan."""
    made = 0

    def counted(*given: Any, **named: Any) -> DecodeProjection:
        nonlocal made
        made += 1
        return DecodeProjection(*given, **named)

    monkeypatch.setattr(execution, "DecodeProjection", counted)
    columns = ", ".join(f"c{number} BIGINT" for number in range(50))
    catalog = narrows.Catalog()
    catalog.execute(
        f"CREATE STREAM wide ({columns}) WITH (connector = 'file', path = 'in');"
        "CREATE SINK out WITH (connector = 'file', path = 'out', format = 'parquet');"
        "CREATE PIPELINE p INTO out AS SELECT *, c0 + 1 AS more FROM wide"
    )
    assert "in=reader" in catalog.plan_pipeline("p").explain("physical")
    assert made < 10
