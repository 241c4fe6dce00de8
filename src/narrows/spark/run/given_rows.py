"""A query on rows that somebody brings, in place of those that its sources have.

The rows are written to files as JSON, and each source becomes a table of such files: so they are
decoded, pruned and computed with like any others, and neither sources nor sinks are touched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from narrows.catalog.objects import Source
from narrows.catalog.options import EVENT_TIME_OPTIONS
from narrows.catalog.store import ObjectStore
from narrows.errors import Code, did_you_mean, fail
from narrows.files.names import file_name
from narrows.logical.walk import sources_of
from narrows.planner.catalog import Catalog
from narrows.planner.query import plan_query
from narrows.plugins.options import OptionValue
from narrows.spark.compile.context import Context
from narrows.sql.parser.script import parse_query

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
_KEPT = tuple(option.name for option in EVENT_TIME_OPTIONS)


def query_given_rows(
    context: Context, catalog: ObjectStore, sql: str, rows: Rows, folder: Path
) -> DataFrame:
    """The rows of a query over the given ones; `folder` must be there as long as it runs.

    A source of which no rows are given has none.
    """
    query = parse_query(sql)
    scratch = Catalog()
    scratch.functions = catalog.functions
    scratch.restore(catalog.snapshot())
    read = {n.source.name: n.source for n in sources_of(plan_query(query, scratch).bound)}
    given = {name.casefold(): each for name, each in rows.items()}
    for name in rows:
        if name.casefold() not in {known.casefold() for known in read}:
            hint = did_you_mean(name, read)
            raise fail(Code.UNKNOWN_SOURCE, f"the query does not read `{name}`", None, hint)
    for name, source in read.items():
        path = folder / f"{file_name(name)}.json"
        lines = (json.dumps(row, ensure_ascii=False) for row in given.get(name.casefold(), ()))
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8", "surrogatepass")
        scratch.add_source(_table(source, path))
    return context.query(plan_query(query, scratch, pruning=context.pruning))


def _table(source: Source, path: Path) -> Source:
    kept: dict[str, OptionValue] = {k: v for k, v in source.options.items() if k in _KEPT}
    return Source(
        name=source.name,
        schema=source.schema,
        bounded=True,
        connector="file",
        format="json",
        options={"connector": "file", "path": str(path), "on_error": "fail", **kept},
    )
