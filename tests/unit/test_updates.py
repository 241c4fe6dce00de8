"""What is written of aggregates without window, and which sinks can hold the last row of a key."""

from __future__ import annotations

import pytest

import narrows
from narrows.errors import Code, NarrowsError


@pytest.fixture
def catalog() -> narrows.Catalog:
    catalog = narrows.Catalog()
    catalog.execute("""
        CREATE STREAM s (a BIGINT, k STRING, j STRING) WITH (connector = 'file', path = 'p');
        CREATE TABLE t (a BIGINT, k STRING) WITH (connector = 'file', path = 'q');
        CREATE SINK any WITH (connector = 'memory');
        CREATE SINK updates WITH (connector = 'memory', mode = 'update');
        CREATE SINK files WITH (connector = 'file', path = 'o', mode = 'upsert');
        CREATE SINK topic WITH (connector = 'kafka', brokers = 'h:1', topic = 'x', key = 'K',
          mode = 'upsert');
        CREATE SINK keyless WITH (connector = 'kafka', brokers = 'h:1', topic = 'x',
          mode = 'upsert');
        CREATE SINK retained WITH (connector = 'mqtt', broker = 'mqtt://h', topic = '{k}/{j}',
          retain = true, mode = 'upsert');
        CREATE SINK forgotten WITH (connector = 'mqtt', broker = 'mqtt://h', topic = '{k}/{j}',
          mode = 'upsert');
        CREATE SINK last WITH (connector = 'mqtt', broker = 'mqtt://h', topic = 'last',
          retain = true, mode = 'upsert');
    """)
    return catalog


COUNTED = "SELECT k, count(*) AS n FROM s GROUP BY k"


@pytest.mark.parametrize(
    ("sink", "query", "shown"),
    [
        ("any", COUNTED, "updates=[k]"),
        ("updates", COUNTED, "updates=[k]"),
        ("topic", COUNTED, "mode=upsert, updates=[k]"),
        ("retained", "SELECT count(*) AS n, j, k FROM s GROUP BY k, j", "updates=[k, j]"),
        ("last", "SELECT count(*) AS n FROM s", "updates=[]"),
        ("any", "SELECT k AS `a b`, sum(a) AS n FROM s GROUP BY k", "updates=[`a b`]"),
        ("any", "SELECT sum(a) AS n FROM s GROUP BY k", "hint: select all group keys"),
        ("any", "SELECT upper(k) AS k, sum(a) AS n FROM s GROUP BY k", "hint: select all group"),
    ],
)
def test_explain_shows_of_what_rows_are_updates(
    sink: str, query: str, shown: str, catalog: narrows.Catalog
) -> None:
    catalog.execute(f"CREATE PIPELINE p INTO {sink} AS {query}")
    assert shown in catalog.plan_pipeline("p").explain("logical")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, a FROM s",
        "SELECT k, count(*) AS n FROM s GROUP BY k, countwindow(3)",
        "SELECT k, count(*) AS n FROM t GROUP BY k",
    ],
)
def test_other_rows_are_written_once(query: str, catalog: narrows.Catalog) -> None:
    catalog.execute(f"CREATE PIPELINE p INTO any AS {query}")
    assert "updates" not in catalog.plan_pipeline("p").explain("logical")
    with pytest.raises(NarrowsError, match="writes each row once and for all"):
        catalog.execute(f"CREATE PIPELINE q INTO updates AS {query}")


WRONG = [
    ("files", COUNTED, "do not replace each other: it adds rows, and changes none"),
    ("keyless", COUNTED, "do not replace each other: it has no `key`"),
    ("forgotten", "SELECT k, j, sum(a) AS n FROM s GROUP BY k, j", "the broker keeps none of them"),
    ("topic", "SELECT k, j, sum(a) AS n FROM s GROUP BY k, j", "told apart by k, j"),
    (
        "topic",
        "SELECT k, sum(a) AS n FROM s GROUP BY k, j",
        "by what is not all written",
    ),
    ("topic", f"{COUNTED} HAVING count(*) > 1", "a group that no longer passes HAVING would stay"),
]


@pytest.mark.parametrize(("sink", "query", "message"), WRONG, ids=[w[2] for w in WRONG])
def test_refused(sink: str, query: str, message: str, catalog: narrows.Catalog) -> None:
    with pytest.raises(NarrowsError) as raised:
        catalog.execute(f"CREATE PIPELINE p INTO {sink} AS {query}")
    (problem,) = raised.value.problems
    assert problem.code is Code.NOT_SUPPORTED
    assert message in problem.message
    assert problem.hint is not None
    assert problem.span is not None
