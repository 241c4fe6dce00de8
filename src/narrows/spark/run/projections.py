"""Covering projections: narrow, sorted Parquet copies of tables, made and kept in the state folder.

projections/<name>.json             what the copy is of, and of which files
projections/<name>/<files>/         the copy itself; another one for other files
"""

from __future__ import annotations

import logging
import shutil
from dataclasses import asdict, replace
from pathlib import Path

from pyspark.sql import DataFrame

from narrows.catalog.objects import Source, TableProjection
from narrows.errors import Code, NarrowsError, did_you_mean, fail
from narrows.files.names import check_name
from narrows.files.small import read_small, write_small
from narrows.planner.catalog import Catalog
from narrows.planner.query import plan_query
from narrows.schema import quoted
from narrows.spark.compile.context import Context
from narrows.spark.run.table_statistics import fingerprint
from narrows.sql.parser.script import parse_query
from narrows.sql.parser.statements import CreateProjection
from narrows.sql.scope import Name

_MAGIC = "narrows-projection-1"
_LOG = logging.getLogger("narrows.state")
_ROW_GROUP = 4 << 20
"""Bytes of a row group: small, so that a filter on the sort key can skip most of them."""


class Projections:
    """The copies that a session knows of."""

    def __init__(self, context: Context, catalog: Catalog) -> None:
        self._context = context
        self._catalog = catalog
        self._state = context.state
        self._warned: set[Path] = set()

    def create(self, statement: CreateProjection) -> None:
        check_name(statement.name, statement.name_span)
        source = self._catalog.find_source(Name(statement.table, statement.table_span))
        if not source.bounded or source.comes_as_frame:
            raise fail(
                Code.NOT_SUPPORTED,
                f"`{source.name}` is no table that we read, and only those can have projections",
                statement.table_span,
            )
        exists = self._state.projection_record(statement.name).exists()
        if exists and not statement.or_replace:
            raise fail(
                Code.DUPLICATE_OBJECT,
                f"a projection called `{statement.name}` exists already",
                statement.name_span,
                "use another name, or `CREATE OR REPLACE`",
            )
        columns = tuple(_column(source, name) for name in statement.columns)
        order_by = tuple(_column(source, name) for name in statement.order_by)
        missing = [name for name in order_by if name not in columns]
        if missing:
            raise fail(
                Code.UNKNOWN_COLUMN,
                f"the projection is ordered by `{missing[0]}`, which it does not have",
                statement.name_span,
                "add the column to its list",
            )
        self._make(source, TableProjection(statement.name, source.name, columns, order_by, "", ""))

    def refresh(self, name: Name) -> None:
        """Makes a copy anew, of the files that there are now."""
        known = self._read(name)
        self._make(self._catalog.find_source(Name(known.table, name.span)), known)

    def drop(self, name: Name) -> None:
        self._read(name)
        self._state.projection_record(name.text).unlink()
        shutil.rmtree(self._state.projection(name.text), ignore_errors=True)
        self.check()

    def check(self) -> None:
        """Tells the catalog which copies there are, and which of them are of other files."""
        kept = self._known()
        by_table: dict[str, list[TableProjection]] = {}
        for copy in kept:
            by_table.setdefault(copy.table.casefold(), []).append(copy)
        for source in self._catalog.sources:
            copies = by_table.get(source.name.casefold(), [])
            if not copies and not source.projections:
                continue
            now = fingerprint(source) if source.bounded and not source.comes_as_frame else ""
            found = tuple(replace(copy, stale=copy.files != now) for copy in copies)
            if found != source.projections:
                self._catalog.add_source(replace(source, projections=found))

    def _make(self, source: Source, copy: TableProjection) -> None:
        files = fingerprint(source)
        folder = self._state.projection(copy.name)
        target = folder / files[:16]
        columns = ", ".join(map(quoted, copy.columns))
        order = f" ORDER BY {', '.join(map(quoted, copy.order_by))}" if copy.order_by else ""
        plain = self._rows_of(replace(source, projections=()), columns, order)
        rows = plain.write.option("parquet.block.size", str(_ROW_GROUP)).mode("overwrite")
        rows.parquet(str(target.absolute()))
        made = replace(copy, path=str(target.absolute()), files=files, stale=False)
        record = self._state.projection_record(copy.name)
        write_small(record, _MAGIC, {**asdict(made), "path": target.name})
        for old in folder.iterdir():
            if old != target:
                shutil.rmtree(old, ignore_errors=True)
        self.check()

    def _rows_of(self, source: Source, columns: str, more: str) -> DataFrame:
        """Columns of a source as it is, without its copies."""
        other = Catalog()
        other.add_source(source)
        query = parse_query(f"SELECT {columns} FROM {quoted(source.name)}{more}")
        plan = plan_query(query, other, pruning=self._context.pruning)
        return self._context.query(plan)

    def _read(self, name: Name) -> TableProjection:
        check_name(name.text, name.span)
        path = self._state.projection_record(name.text)
        if not path.exists():
            hint = did_you_mean(name.text, [known.name for known in self._known()])
            raise fail(
                Code.UNKNOWN_OBJECT, f"no projection is called `{name.text}`", name.span, hint
            )
        return _kept(path)

    def _known(self) -> list[TableProjection]:
        """The copies that can be used; a damaged record makes nothing slower than no copy does."""
        known = []
        for path in sorted(self._state.projections.glob("[!.]*.json")):
            try:
                known.append(_kept(path))
            except NarrowsError as error:
                if path not in self._warned:
                    self._warned.add(path)
                    _LOG.warning("%s", error)
        return known


def _kept(path: Path) -> TableProjection:
    what, name = "the record of a projection", path.stem
    hint = f"make it anew: `CREATE OR REPLACE PROJECTION {name} ...`"
    data = read_small(path, _MAGIC, what, hint)
    lists = {"columns": tuple(data["columns"]), "order_by": tuple(data["order_by"])}
    copy = path.with_suffix("") / data["path"]  # wherever the state folder is now
    return TableProjection(**{**data, **lists, "path": str(copy.absolute())})


def _column(source: Source, name: Name) -> str:
    found = source.schema.find(name.text)
    if len(found) != 1:
        raise fail(
            Code.UNKNOWN_COLUMN,
            f"column `{name.text}` not found in `{source.name}`",
            name.span,
            did_you_mean(name.text, source.schema.names),
        )
    return source.schema.fields[found[0]].name
