"""Which readers test by the keys of which others, by the sizes of what they read."""

from __future__ import annotations

from dataclasses import replace

import pytest

import narrows
from narrows.catalog.measured import Measured
from narrows.catalog.objects import Source
from narrows.demand import ALL as WHOLE
from narrows.demand import fields
from narrows.logical.walk import topological
from narrows.optimizer.estimates import Estimates
from narrows.physical.join_filters import kept_share
from narrows.physical.nodes import PhysicalDecoder, PhysicalReader
from narrows.planner.query import plan
from narrows.projection.columns import DecodeProjection
from narrows.spark.read.believed import believed_size
from narrows.spark.read.reader import read_spec
from narrows.sql.parser.types import read_schema

_MB = 1 << 20
TABLES = {
    "region": ("r_key BIGINT, r_name STRING", 0.1),
    "nation": ("n_key BIGINT, n_region BIGINT, n_name STRING", 0.1),
    "supplier": ("s_key BIGINT, s_nation BIGINT, s_name STRING", 2),
    "orders": ("o_key BIGINT, o_date DATE, o_priority STRING", 400),
    "lines": ("l_order BIGINT, l_supplier BIGINT, l_flag STRING", 2000),
}


def readers(sql: str, **sizes: float | None) -> list[PhysicalDecoder]:
    """The readers of a query over tables of these sizes."""
    catalog = narrows.Catalog()
    for name, (schema, _) in TABLES.items():
        catalog.execute(f"CREATE TABLE {name} ({schema}) WITH (connector = 'file', path = 'data')")
    known: dict[str, float | None] = {name: size for name, (_, size) in TABLES.items()}
    known.update(sizes)

    def size_of(source: Source) -> int | None:
        size = known[source.name]
        return None if size is None else int(size * _MB)

    catalog.measured = Measured(size=size_of)
    nodes = topological(plan(sql, catalog).physical)
    return [node for node in nodes if isinstance(node, PhysicalDecoder)]


def join_filters(sql: str, **sizes: float | None) -> dict[str, list[str]]:
    """What each of them tests by."""
    made = readers(sql, **sizes)
    return {n.source_text: [str(f) for f in n.join_filters] for n in made if n.join_filters}


ALL = (
    "SELECT count(*) FROM region, nation, supplier, orders, lines WHERE r_key = n_region"
    " AND n_key = s_nation AND s_key = l_supplier AND o_key = l_order"
)


def read_once(sql: str, **sizes: float | None) -> set[str]:
    """Those that hand on their rows when they are asked for keys."""
    return {n.source_text for n in readers(sql, **sizes) if n.info().get("reads") == "once"}


def test_small_tables_tell_what_the_large_one_drops() -> None:
    asian = f"{ALL} AND r_name = 'ASIA'"
    tested = {
        "lines": [
            "lines.l_supplier in supplier.s_key where supplier.s_nation in nation.n_key"
            " where nation.n_region in region.r_key"
        ],
    }
    assert join_filters(asian) == tested
    assert join_filters(asian, nation=5, supplier=20) == {
        "nation": ["nation.n_region in region.r_key"],
        "supplier": ["supplier.s_nation in nation.n_key where nation.n_region in region.r_key"],
        **tested,
    }


def test_a_large_one_drops_rows_itself() -> None:
    found = join_filters(f"{ALL} AND r_name = 'ASIA'", supplier=200)
    assert found == {
        "supplier": ["supplier.s_nation in nation.n_key where nation.n_region in region.r_key"],
        "lines": [
            "lines.l_supplier in supplier.s_key where supplier.s_nation in nation.n_key"
            " where nation.n_region in region.r_key"
        ],
    }


def test_filters_of_several_tables_come_together() -> None:
    found = join_filters(f"{ALL} AND n_name = 'JAPAN' AND o_date = DATE '1994-01-01'")
    assert found["lines"] == [
        "lines.l_order in orders.o_key",
        "lines.l_supplier in supplier.s_key where supplier.s_nation in nation.n_key",
    ]


def test_what_is_as_large_as_what_it_would_filter_is_not_read_twice() -> None:
    sql = "SELECT l_flag FROM orders JOIN lines ON o_key = l_order WHERE o_priority = 'HIGH'"
    assert join_filters(sql) == {"lines": ["lines.l_order in orders.o_key"]}
    assert join_filters(sql, orders=1500) == {}


def test_too_many_keys_are_not_collected() -> None:
    sql = "SELECT l_flag FROM orders JOIN lines ON o_key = l_order WHERE o_priority = 'HIGH'"
    assert join_filters(sql, orders=4_000, lines=20_000) == {}


def test_without_sizes_tests_decide() -> None:
    sql = "SELECT l_flag FROM orders JOIN lines ON o_key = l_order WHERE o_priority = 'HIGH'"
    assert join_filters(sql, orders=None, lines=None) == {
        "lines": ["lines.l_order in orders.o_key"]
    }
    both = f"{sql} AND l_flag = 'R'"
    assert join_filters(both, orders=None, lines=None) == {}


def test_a_reader_whose_rows_two_parts_of_a_query_share_drops_nothing() -> None:
    sql = (
        "WITH late AS (SELECT l_order, l_flag FROM lines)"
        " SELECT l_flag FROM orders JOIN late ON o_key = l_order WHERE o_priority = 'HIGH'"
    )
    assert join_filters(sql) == {"lines": ["lines.l_order in orders.o_key"]}
    assert join_filters(f"{sql} UNION ALL SELECT l_flag FROM late") == {}


# --- pipelines ------------------------------------------------------------------------------------


def in_pipeline(sql: str, *, options: str = "", supplier: float = 2) -> dict[str, list[str]]:
    """What the streams of a pipeline test by."""
    found = pipeline_readers(sql, options, supplier)
    return {n.source.name: [str(made) for made in n.join_filters] for n in found if n.join_filters}


def pipeline_readers(sql: str, options: str = "", supplier: float = 2) -> list[PhysicalReader]:
    catalog = narrows.Catalog()
    for name in ("nation", "supplier"):
        schema = TABLES[name][0]
        catalog.execute(f"CREATE TABLE {name} ({schema}) WITH (connector = 'file', path = 'data')")
    for name in ("s", "r"):
        catalog.execute(
            f"CREATE STREAM {name} (k BIGINT, v BIGINT, at TIMESTAMP)"
            f" WITH (connector = 'file', path = 'data'{options})"
        )
    sizes = {"nation": 0.1, "supplier": supplier, "s": 0, "r": 0}
    catalog.measured = Measured(size=lambda source: int(sizes[source.name] * _MB))
    catalog.execute(f"CREATE SINK o WITH (connector = 'memory'); CREATE PIPELINE p INTO o AS {sql}")
    nodes = topological(catalog.plan_pipeline("p").physical)
    return [node for node in nodes if isinstance(node, PhysicalReader)]


JOINED = "SELECT s.v FROM s JOIN supplier ON s.k = s_key WHERE s_name = 'x'"
TIMED = ", eventtime = 'at', watermark = '1 hour'"


def test_streams_test_by_the_keys_of_small_tables() -> None:
    tested = {"s": ["s.k in supplier.s_key"]}
    assert in_pipeline(JOINED) == in_pipeline(JOINED, options=", shared = true") == tested
    assert in_pipeline(JOINED, supplier=5) == {}
    assert in_pipeline("SELECT s.v FROM s JOIN supplier ON s.k = s_key") == {}
    chained = f"{JOINED[: JOINED.index(' WHERE')]} JOIN nation ON s_nation = n_key"
    assert in_pipeline(f"{chained} WHERE n_name = 'JAPAN'") == {
        "s": ["s.k in supplier.s_key where supplier.s_nation in nation.n_key"]
    }


def test_a_table_keeps_what_a_stream_has_no_partner_for_yet() -> None:
    found = in_pipeline("SELECT s.v FROM s JOIN supplier ON s.k = s_key WHERE s.v = 1")
    assert found == {}


def test_where_a_watermark_is_waited_for_it_sees_every_row() -> None:
    window = f"SELECT count(*) AS n FROM ({JOINED}) x GROUP BY tumblingwindow('ss', 10)"
    assert in_pipeline(JOINED, options=TIMED) == {"s": ["s.k in supplier.s_key"]}
    assert in_pipeline(window, options=TIMED) == {}
    assert in_pipeline(window) == {"s": ["s.k in supplier.s_key"]}


def test_rows_that_wait_for_another_stream_are_not_dropped() -> None:
    assert in_pipeline(JOINED.replace(" WHERE", " JOIN r ON s.k = r.k WHERE")) == {}


# --- what is read once ----------------------------------------------------------------------------


def test_who_is_asked_for_keys_hands_on_few_rows() -> None:
    asian = f"{ALL} AND r_name = 'ASIA'"
    assert read_once(asian, region=5, nation=5, supplier=20) == {"region", "nation", "supplier"}
    assert read_once(asian, region=5, nation=5, supplier=None) == {"region", "nation"}
    assert read_once(ALL, region=5, nation=5, supplier=20) == set()


def test_what_is_soon_read_again_is() -> None:
    assert "lines" in join_filters(f"{ALL} AND r_name = 'ASIA'")
    assert read_once(f"{ALL} AND r_name = 'ASIA'") == set()
    assert read_once(f"{ALL} AND r_name = 'ASIA'", supplier=5) == {"supplier"}


def test_many_rows_are_read_once_more() -> None:
    joined = "FROM orders, lines WHERE o_key = l_order AND o_priority = 'x'"
    assert read_once(f"SELECT l_flag {joined}", orders=500) == {"orders"}
    wide = f"SELECT o_date, upper(o_priority), l_flag {joined}"
    assert "lines" in join_filters(wide, orders=500)
    assert read_once(wide, orders=500) == set()


def test_few_rows_give_their_keys_to_whoever_is_no_larger() -> None:
    """They are read anyhow: what would be twice the work for keys alone is none."""
    late = "SELECT l.l_flag FROM lines l WHERE l_flag = 'x' AND l_supplier = 7 AND EXISTS"
    other = "(SELECT 1 FROM lines o WHERE o.l_order = l.l_order)"
    assert read_once(f"{late} {other}", lines=400) == {"lines AS l"}


def test_groups_and_the_first_rows_are_not_handed_on() -> None:
    few = "(SELECT s_key FROM supplier WHERE s_name = 'x' GROUP BY s_key)"
    asked = f"SELECT l_flag FROM lines WHERE l_supplier IN {few}"
    assert "lines" in join_filters(asked)
    assert read_once(asked) == set()


def test_pipelines_read_their_tables_themselves() -> None:
    assert in_pipeline(JOINED) != {}
    assert not any(node.hands_on for node in pipeline_readers(JOINED))


# --- what Spark is told ---------------------------------------------------------------------------


def _kept(sql: str, **sizes: float | None) -> dict[str, float]:
    """The share of its rows that each reader is thought to ship."""
    return {
        node.source.name: kept_share(node.filter, node.join_filters, Estimates(node))
        for node in readers(sql, **sizes)
    }


def test_what_is_left_by_tests_and_by_the_keys_of_others() -> None:
    sql = f"{ALL} AND r_name = 'ASIA' AND o_date > DATE '2020-01-01' AND o_priority <> 'x'"
    kept = _kept(sql, nation=5, supplier=20)
    assert kept["region"] == pytest.approx(0.1)
    assert kept["nation"] == kept["supplier"] == pytest.approx(0.1)  # they are asked for keys
    assert kept["orders"] == pytest.approx(0.3 * 0.9)
    assert kept["lines"] == pytest.approx(0.1)  # orders have too many keys


@pytest.mark.parametrize(
    ("payload", "believed"),
    [
        (100 * _MB, 5 * _MB),  # half of it is shipped, and a tenth of that
        (192 * _MB, 9.6 * _MB),
        (200 * _MB, 100 * _MB),  # too much to be broadcast by mistake
        (2000 * _MB, 200 * _MB),  # twice of what Spark broadcasts, which is enough
    ],
)
def test_what_tests_leave_counts_where_a_mistake_does_no_harm(
    payload: int, believed: float
) -> None:
    (node,) = readers("SELECT n_key, n_region FROM nation")
    half = DecodeProjection(read_schema("a BIGINT, b BIGINT"), fields({"a": WHOLE}))
    spec = replace(read_spec(node), kept=0.1, projection=half, names=("a",))
    assert believed_size(spec, payload, 100 * _MB) == pytest.approx(believed, abs=1)


def test_no_column_of_a_large_table_alone_is_small_enough_to_be_broadcast() -> None:
    (node,) = readers("SELECT l_order, l_supplier, l_flag FROM lines")
    spec = replace(read_spec(node), projection=DecodeProjection(node.source.schema, WHOLE))
    believed = believed_size(spec, 2000 * _MB, 10 * _MB)
    width = 8 + 8 + 8 + 20  # Spark's, with 8 for the row
    assert believed * (8 + 8) / width > 10 * _MB
    assert believed < 256 * _MB
    assert believed_size(spec, 2000 * _MB, 0) == 0
