"""Runs a folder of Spark-style SQL files with Spark and with Narrows, and compares the rows.

    python tools/spark_sql_files.py FOLDER [--show different,foreign] [--only GLOB] [--pruned]

See `tests/support/sql_files.py` for what a file looks like and for the kinds of answers,
`tools/spark_sql_inputs.py` for Spark's own tests and TPC-DS as such files; `--only 'window*.sql'`
takes some of them at a time. Prints how many answers there were of each kind, and how often a
refusal had which message. A file has a Spark session of its own, and tables that it creates are
dropped after it. The command fails when a query gave other rows or a foreign error.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import narrows
from narrows.spark.run.embedded import embedded_session
from support.sql_files import Outcome, SqlFiles

# Thousands of queries over a handful of rows each: what compiles code costs more than it saves.
_SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
_WRONG = ("different", "foreign")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", default=",".join(_WRONG), help="kinds whose queries are printed")
    parser.add_argument("--only", default="*.sql", help="which files")
    parser.add_argument("--pruned", action="store_true", help="not a second time without pruning")
    options = parser.parse_args()
    shown = options.show.split(",")
    found: list[Outcome] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spark = embedded_session("local[2]", _SETTINGS, folder / "spark.log")
        for number, path in enumerate(sorted(options.folder.rglob(options.only))):
            own = spark.newSession()
            sessions = [
                narrows.connect(own, state=folder / f"{number}_{pruning}", pruning=pruning)
                for pruning in ((True,) if options.pruned else (True, False))
            ]
            files = SqlFiles(own, sessions, folder / f"views_{number}")
            outcomes: list[Outcome] = []
            try:
                outcomes.extend(files.run(path.read_text("utf-8")))
            except Exception as error:  # what Spark could not set up
                print(f"{path.name}: the rest was left out: {str(error).partition(chr(10))[0]}")
            for session in sessions:
                session.close()
            _drop_tables(own)
            print(f"{path.name}: {_counted(outcomes)}", flush=True)
            for outcome in outcomes:
                if outcome.kind in shown:
                    print(f"  {outcome.kind}: {outcome.query}\n    {outcome.message}")
            found.extend(outcomes)
        spark.stop()
    print(f"all: {_counted(found)}")
    refusals = Counter(outcome.message for outcome in found if outcome.kind == "refused")
    for message, count in refusals.most_common():
        print(f"  {count} x {message}")
    return int(any(outcome.kind in _WRONG for outcome in found))


def _drop_tables(spark: SparkSession) -> None:
    """All sessions have one catalog, and the next file may create tables of the same names."""
    for table in spark.catalog.listTables("default"):
        if not table.isTemporary:
            kind = "VIEW" if table.tableType == "VIEW" else "TABLE"
            spark.sql(f"DROP {kind} IF EXISTS `default`.`{table.name}`")


def _counted(outcomes: list[Outcome]) -> str:
    counts = Counter(outcome.kind for outcome in outcomes)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "no query"


if __name__ == "__main__":
    sys.exit(main())
