"""All 22 queries of TPC-H are planned, and their scans decode exactly what the query mentions."""

from __future__ import annotations

import re

import pytest

import narrows
import tpch_data
from narrows.logical.walk import sources_of
from narrows.planner.query import plan_query
from narrows.sql.parser.script import parse_query
from support.invariants import check

QUERIES = tpch_data.queries()


@pytest.fixture(scope="module")
def catalog() -> narrows.Catalog:
    catalog = narrows.Catalog()
    for table, schema in tpch_data.SCHEMAS.items():
        catalog.execute(f"CREATE TABLE {table} ({schema}) WITH (connector = 'file', path = 'p')")
    return catalog


@pytest.mark.parametrize("name", QUERIES)
def test_scans_decode_the_columns_that_the_query_mentions(
    name: str, catalog: narrows.Catalog
) -> None:
    plan = plan_query(parse_query(QUERIES[name]), catalog, check=check)
    decoded: set[str] = set()
    for source in sources_of(plan.logical):
        decoded.update(column.name for column in source.outputs)
    known = {
        column.split()[0]
        for schema in tpch_data.SCHEMAS.values()
        for column in re.sub(r"\(.*?\)", "", schema).split(",")
    }
    mentioned = set(re.findall(r"\w+", QUERIES[name])) & known
    assert decoded == mentioned
