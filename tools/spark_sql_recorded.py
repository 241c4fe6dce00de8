"""Plans the queries of Spark's recorded results without Spark: minutes instead of hours.

    python tools/spark_sql_recorded.py FOLDER [--only REGEX] [--show refused,named] [--tables FILE]

A file `*.sql.out` is what Spark's own tests record: `-- !query`, the query, `-- !query schema`, its
columns, `-- !query output`, rows or an error. A query that Spark answered must be planned; its
columns should have the recorded names. `CREATE VIEW`, `CREATE TABLE`, functions, settings and
variables make what queries read; tables that Spark's tests have from elsewhere are declared in a
file of our SQL. Rows are for `tools/spark_sql_files.py`, which needs Spark.
`tools/spark_sql_inputs.py` takes both out of Spark's tests jar.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import narrows
from narrows.errors import NarrowsError
from narrows.schema import UNKNOWN, DataType

_BLOCK = re.compile(r"(.*?)\n-- !query schema\n(.*?)\n-- !query output\n(.*)", re.DOTALL)
_LEADING_COMMENT = re.compile(r"\s*(--[^\n]*(\n|$)|/\*.*?\*/)", re.DOTALL)
_QUERY = re.compile(r"\(*\s*(SELECT|WITH|VALUES|FROM|TABLE)\b", re.IGNORECASE)
_ERROR = re.compile(r"\s*(org\.apache\.spark|java\.|\{)")
_VIEW = re.compile(
    r"CREATE\s+(OR\s+REPLACE\s+)?((TEMP|TEMPORARY)\s+)?VIEW\s+(?P<rest>(?P<name>\w+).*)",
    re.IGNORECASE | re.DOTALL,
)
_TABLE = re.compile(
    r"CREATE\s+TABLE\s+(IF\s+NOT\s+EXISTS\s+)?(?P<name>\w+)\s*(?P<columns>\(.*\))\s*(USING\s+\w+)?$",
    re.IGNORECASE | re.DOTALL,
)
_TABLE_OF_QUERY = re.compile(
    r"CREATE\s+TABLE\s+(?P<name>\w+)(\s+USING\s+\w+)?\s+AS\s+(?P<query>\(?\s*(SELECT|VALUES|WITH)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_SETTING = re.compile(r"SET\s+(?P<key>spark[\w.]+)\s*=\s*(?P<value>\S+)", re.IGNORECASE)
_VARIABLE = re.compile(r"DECLARE\s+(OR\s+REPLACE\s+)?(VARIABLE\s+)?(?P<name>\w+)", re.IGNORECASE)
_FUNCTION = re.compile(r"CREATE\s+(OR\s+REPLACE\s+)?(TEMPORARY\s+)?FUNCTION\b", re.IGNORECASE)


class Recorded(NamedTuple):
    query: str
    columns: str
    failed: bool


class Outcome(NamedTuple):
    kind: str
    query: str
    message: str = ""


def recorded(text: str) -> Iterator[Recorded]:
    for part in re.split(r"^-- !query\n", text, flags=re.MULTILINE)[1:]:
        block = _BLOCK.match(part)
        if block is not None:
            query = block[1]
            while (comment := _LEADING_COMMENT.match(query)) is not None:
                query = query[comment.end() :]
            yield Recorded(query.strip(), block[2], _ERROR.match(block[3]) is not None)


def outcomes(text: str, tables: str) -> Iterator[Outcome]:
    catalog, settings = narrows.Catalog(), dict[str, str]()
    variables: dict[str, DataType] = {}
    catalog.setting = settings.get
    catalog.functions.variables = lambda name: variables.get(name.lower())
    catalog.execute(tables)
    for query, columns, failed in recorded(text):
        if failed:
            continue
        if _QUERY.match(query):
            yield _planned(catalog, query, columns)
            continue
        if (setting := _SETTING.match(query)) is not None:
            settings[setting["key"]] = setting["value"]
        if (variable := _VARIABLE.match(query)) is not None:
            variables[variable["name"].lower()] = UNKNOWN
        try:
            _set_up(catalog, query)
        except NarrowsError as error:
            yield Outcome("not set up", query, error.problems[0].message)


def _planned(catalog: narrows.Catalog, query: str, columns: str) -> Outcome:
    try:
        plan = narrows.plan(query, catalog)
    except NarrowsError as error:
        return Outcome("refused", query, error.problems[0].message)
    except Exception as error:
        return Outcome("foreign", query, repr(error))
    place = len("struct<")
    for column in plan.bound.outputs:
        found = columns.find(f"{column.name}:", place)
        if found < 0:
            return Outcome("named", query, f"`{column.name}` is not in {columns}")
        place = found + len(column.name)
    return Outcome("planned", query)


def _set_up(catalog: narrows.Catalog, statement: str) -> None:
    view, table = _VIEW.match(statement), _TABLE.match(statement)
    of_query = _TABLE_OF_QUERY.match(statement)
    made = view or table or of_query
    if made is not None:
        for kind in ("VIEW", "TABLE"):  # what had this name is another now
            with suppress(NarrowsError):
                catalog.execute(f"DROP {kind} IF EXISTS {made['name']}")
    if view is not None:
        catalog.execute(f"CREATE OR REPLACE VIEW {view['rest']}")
    elif of_query is not None:
        catalog.execute(f"CREATE OR REPLACE VIEW {of_query['name']} AS {of_query['query']}")
    elif table is not None:
        # What else Spark knows of a column does not matter to those who plan.
        columns = re.sub(
            r"\b(COLLATE\s+\w+|NOT\s+NULL)\b", "", table["columns"], flags=re.IGNORECASE
        )
        of_file = "WITH (connector = 'file', path = 'nowhere')"
        catalog.execute(f"CREATE OR REPLACE TABLE {table['name']} {columns} {of_file}")
    elif _FUNCTION.match(statement):
        catalog.execute(statement)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="which files")
    parser.add_argument("--show", default="foreign", help="kinds whose queries are printed")
    parser.add_argument("--tables", type=Path, help="statements that declare tables")
    options = parser.parse_args()
    tables = options.tables.read_text("utf-8") if options.tables else ""
    counts: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    for path in sorted(options.folder.rglob("*.sql.out")):
        if not re.search(options.only, str(path)):
            continue
        for outcome in outcomes(path.read_text("utf-8"), tables):
            counts[outcome.kind] += 1
            if outcome.kind == "refused":
                refusals[outcome.message] += 1
            if outcome.kind in options.show.split(","):
                print(f"{path.name}: {outcome.kind}: {outcome.query}\n    {outcome.message}")
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    for message, count in refusals.most_common(50):
        print(f"  {count} x {message}")
    return int(counts["foreign"] > 0)


if __name__ == "__main__":
    sys.exit(main())
