"""Spark's own SQL tests, taken out of its tests jar, as files that both engines can run.

    python tools/spark_sql_inputs.py spark-sql_2.13-4.2.0-tests.jar FOLDER
    python tools/spark_sql_files.py FOLDER/queries --pruned
    python tools/spark_sql_files.py FOLDER/tpcds --pruned
    python tools/spark_sql_recorded.py FOLDER/recorded --tables FOLDER/tables.sql

The jar is on Maven Central (org.apache.spark:spark-sql_2.13, classifier `tests`). What it has in
comments - settings (`--SET`), files that others begin with (`--IMPORT`) - becomes statements, and
the tables that Spark's tests make in Scala become views. Files about commands (DESCRIBE, EXPLAIN,
SHOW, scripts, ...) and about functions in Scala are left out. TPC-DS gets small random tables
(`tools/tpcds_tables.py`), for what is compared are rows, not times.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from zipfile import ZipFile

from tpcds_tables import write_tables

_NO_QUERIES = (
    *("describe", "explain", "show", "change-column", "keywords", "scripting", "sql-session"),
    *("session-variable", "execute-immediate", "view-", "transform", "udtf", "udaf", "udf"),
    *("sql-path", "sql-on-files", "ignored", "current_database", "cte-command", "sql-udf"),
    *("identifier-clause", "to_from_avro", "parameterless"),
)
_WIDE = (
    "unique1 INT, unique2 INT, two INT, four INT, ten INT, twenty INT, hundred INT, thousand INT,"
    " twothousand INT, fivethous INT, tenthous INT, odd INT, even INT, stringu1 STRING,"
    " stringu2 STRING, string4 STRING"
)
_OF_FILES = {
    "aggtest": ("a INT, b FLOAT", "agg"),
    "onek": (_WIDE, "onek"),
    "tenk1": (_WIDE, "tenk"),
}
_COLUMNS = {
    "testdata": "key INT, value STRING",
    "arraydata": "arraycol ARRAY<INT>, nestedarraycol ARRAY<ARRAY<INT>>",
    "mapdata": "mapcol MAP<INT, STRING>",
    **{name: columns for name, (columns, _) in _OF_FILES.items()},
}
_MAPS = ", ".join(
    f"(map({', '.join(f'{k}, {chr(96 + k)!r} || {row}' for k in range(1, 7 - row))}))"
    for row in range(1, 6)
)
_VIEWS = {
    "testdata": "SELECT CAST(id AS INT) AS key, CAST(id AS STRING) AS value FROM range(1, 101)",
    "arraydata": "SELECT * FROM VALUES (array(1, 2, 3), array(array(1, 2, 3))),"
    " (array(2, 3, 4), array(array(2, 3, 4))) AS t(arraycol, nestedarraycol)",
    "mapdata": f"SELECT * FROM VALUES {_MAPS} AS t(mapcol)",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jar", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    unpacked = options.folder / "jar"
    with ZipFile(options.jar) as jar:
        wanted = re.compile(r"(sql-tests|test-data/postgresql|tpcds(-v2\.7\.0)?)/|.*/TPCDSSchema\.")
        jar.extractall(unpacked, [name for name in jar.namelist() if wanted.match(name)])
    inputs = unpacked / "sql-tests" / "inputs"
    for path in sorted(inputs.rglob("*.sql")):
        name = str(path.relative_to(inputs))
        if not name.startswith(_NO_QUERIES):
            _write(options.folder / "queries" / name, _query_file(path, inputs, unpacked))
    results = unpacked / "sql-tests" / "results"
    for path in sorted(results.rglob("*.sql.out")):
        name = str(path.relative_to(results))
        if not name.startswith(_NO_QUERIES):
            _write(options.folder / "recorded" / name, path.read_text("utf-8"))
    declared = [
        f"CREATE TABLE {name} ({columns}) WITH (connector = 'file', path = 'nowhere');\n"
        for name, columns in _COLUMNS.items()
    ]
    _write(options.folder / "tables.sql", "".join(declared))
    views = write_tables(unpacked, options.folder / "tpcds" / "rows")
    for version in ("tpcds", "tpcds-v2.7.0"):
        queries = [p.read_text("utf-8") for p in sorted((unpacked / version).glob("q*.sql"))]
        text = ";\n".join(query.strip().rstrip(";") for query in queries)
        _write(options.folder / "tpcds" / f"{version}.sql", f"{views}{text};\n")
    return 0


def _query_file(path: Path, inputs: Path, unpacked: Path) -> str:
    """The file with its settings, and before them the tables that it reads and does not make."""
    text = _spelled_out(path, inputs, frozenset())
    made = [f"SET spark.sql.ansi.enabled = {str('nonansi' not in str(path)).lower()};\n"]
    if "timestampNTZ" in str(path):
        made.append("SET spark.sql.timestampType = TIMESTAMP_NTZ;\n")
    for name in _COLUMNS:
        own = re.search(
            rf"CREATE\s+(OR\s+REPLACE\s+)?TEMP\w*\s+VIEW\s+{name}\b", text, re.IGNORECASE
        )
        if own is None and re.search(rf"\b{name}\b", text, re.IGNORECASE):
            made.append(_view(name, unpacked / "test-data" / "postgresql"))
    return "".join(made) + text


def _view(name: str, data: Path) -> str:
    if name in _VIEWS:
        return f"CREATE OR REPLACE TEMP VIEW {name} AS {_VIEWS[name]};\n"
    columns, file = _OF_FILES[name]
    options = f"path '{data.resolve()}/{file}.data', sep '\\t'"
    return f"CREATE OR REPLACE TEMP VIEW {name} ({columns}) USING csv OPTIONS ({options});\n"


def _spelled_out(path: Path, inputs: Path, around: frozenset[str]) -> str:
    lines: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        imported, settings = re.match(r"--IMPORT (\S+)", line), re.match(r"--SET (.*)", line)
        if imported is not None and imported[1] not in around:
            lines.append(_spelled_out(inputs / imported[1], inputs, around | {imported[1]}))
        elif settings is not None:
            lines.extend(f"SET {each.strip()};" for each in re.split(r",(?=spark)", settings[1]))
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
