"""What is written of aggregates without window, and which sinks can hold the last row of a key."""

from __future__ import annotations

import pytest

import narrows
from narrows.errors import Code, NarrowsError
from narrows.state.plan_shape import shape_of
from support.invariants import check_plan


@pytest.fixture
def catalog() -> narrows.Catalog:
    catalog = narrows.Catalog()
    catalog.execute("""
        CREATE STREAM s (a BIGINT, k STRING, j STRING) WITH (connector = 'file', path = 'p');
        CREATE TABLE t (a BIGINT, k STRING) WITH (connector = 'file', path = 'q');
        CREATE SINK any WITH (connector = 'memory');
        CREATE SINK updates WITH (connector = 'memory', mode = 'update');
        CREATE SINK pairs WITH (connector = 'memory', mode = 'retract');
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


@pytest.mark.parametrize(
    "query",
    [
        COUNTED,
        "SELECT count(*) AS n FROM s",
        "SELECT upper(k) AS k, sum(a) / count(*) AS n FROM s WHERE a > 1 GROUP BY k"
        " HAVING max(j) > 'a' AND k > 'b'",
    ],
)
def test_retractions(query: str, catalog: narrows.Catalog) -> None:
    catalog.execute(f"CREATE PIPELINE p INTO pairs AS {query}")
    plan = catalog.plan_pipeline("p")
    check_plan(plan.physical, "in the end")
    shown = plan.explain("physical")
    assert "mode=retract" in shown
    assert "updates=" not in shown
    assert "PhysicalRetractingAggregation" in shown
    assert "order=source" in shown
    catalog.execute(f"CREATE PIPELINE q INTO any AS {query}")
    before, after = (catalog.plan_pipeline(name).physical for name in "pq")
    assert shape_of(before)["state"] != shape_of(after)["state"], "their states do not fit"


WRONG = [
    ("pairs", "SELECT k, a FROM s", "writes each row once and for all"),
    ("pairs", "SELECT k, collect_list(a) AS l FROM s GROUP BY k", "needs all rows of a group"),
    ("pairs", "SELECT k, count(DISTINCT a) AS n FROM s GROUP BY k", "keep all values for ever"),
    ("pairs", "SELECT k, rand() AS r, sum(a) AS n FROM s GROUP BY k", "could not be taken back"),
    ("pairs", "SELECT k AS Op, sum(a) AS n FROM s GROUP BY k", "the query has a column `op`"),
    ("pairs, any", COUNTED, "and other sinks of the pipeline do not"),
    (
        "pairs",
        "SELECT g.k, n FROM (SELECT k, sum(a) AS n FROM s GROUP BY k) g JOIN t ON g.k = t.k",
        "by more than a select list and HAVING",
    ),
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
    assert problem.code in (Code.NOT_SUPPORTED, Code.DUPLICATE_COLUMN)
    assert message in problem.message
    assert problem.hint is not None
    assert problem.span is not None
