"""ANALYZE TABLE: counts what the planner estimates by, with a query over the table itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame

from narrows.catalog.objects import Source
from narrows.catalog.statistics import ColumnStatistics, TableStatistics
from narrows.errors import NarrowsError
from narrows.files.small import read_small, write_small
from narrows.optimizer.estimates import type_width
from narrows.schema import BINARY, STRING, Field, is_nested, quoted
from narrows.spark.compile.context import connected

_MAGIC = "narrows-table-1"
_LOG = logging.getLogger("narrows.state")


def count_table(source: Source, query: Callable[[str], DataFrame]) -> TableStatistics:
    """Rows, and of each column the average width, the distinct values (about) and the NULLs."""
    before = fingerprint(source)
    selected = ["count(*)"]
    for field in source.schema:
        selected.extend(_figures(field))
    sql = f"SELECT {', '.join(selected)} FROM {quoted(source.name)}"
    (row,) = query(sql).collect()
    rows, figures = int(row[0]), list(row)[1:]
    columns = {}
    for place, field in enumerate(source.schema):
        present, distinct, width = figures[3 * place : 3 * place + 3]
        columns[field.name] = ColumnStatistics(
            width=float(width if width is not None else 0.0),
            distinct=None if distinct is None else int(distinct),
            null_fraction=1 - present / rows if rows else 0.0,
        )
    return TableStatistics(rows, columns, before)


def _figures(field: Field) -> Sequence[str]:
    name = quoted(field.name)
    if is_nested(field.type):
        return (f"count({name})", "NULL", f"avg(octet_length(to_json({name})))")
    text = field.type in (STRING, BINARY)
    width = f"avg(octet_length({name}))" if text else str(type_width(field.type))
    return (f"count({name})", f"approx_count_distinct({name})", width)


def fingerprint(source: Source) -> str:
    """Changes whenever what is in the table does."""
    table = connected(source)
    try:
        return table.version(table.available())
    except NarrowsError:
        return ""  # it is not there (any more), which is said when somebody reads it


def save_statistics(path: Path, counted: TableStatistics) -> None:
    write_small(path, _MAGIC, counted.to_json())


def load_statistics(path: Path, source: Source) -> TableStatistics | None:
    """What was counted, if the table still has the same files and columns."""
    try:
        kept = read_small(path, _MAGIC, "what was counted of a table", "ANALYZE TABLE")
    except NarrowsError as error:
        _LOG.warning("%s; count again: `ANALYZE TABLE %s`", error.problems[0].message, source.name)
        return None
    if kept is None:
        return None
    counted = TableStatistics.from_json(kept)
    if counted.files != fingerprint(source) or list(counted.columns) != source.schema.names:
        return None
    return counted
