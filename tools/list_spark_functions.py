"""Ask a Spark session which SQL functions it has, and write what it says as a table.

Each row of the table holds, separated by tabs:

* ``name``: the function as it is called in SQL, in lower case;
* ``kind``: ``scalar``, ``aggregate``, ``window`` (only with OVER), ``generator`` (several rows for
  one, in a SELECT list) or ``table`` (only in a FROM clause);
* ``min``, ``max``: how many arguments the analyser takes, ``*`` for no limit. Not every number in
  between need be taken: ``map`` wants an even one;
* ``result``: the type of the result if all calls that were tried have the same one and it has no
  parts, else ``-``.

All of it is found by analysing queries; none is run. Spark checks the number of arguments when it
looks a function up, before it looks at their types, so that NULLs will do for counting. For the
type of the result the calls are made from the examples in the description of the function and
from sample values of many types, put into one place, two places, and all places. A type is
believed if two calls with different arguments agree on it, or if the call has no arguments.

The settings are the defaults, save for features that are off and without which nothing could be
said of the functions that belong to them.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructType

OUTPUT: Final = Path(__file__).resolve().parents[1] / "src/narrows/functions/spark_functions.tsv"

MOST_ARGUMENTS: Final = 12
"""A function that takes as many as this is held to take any number."""

GRAMMAR: Final = frozenset({"and", "or", "not", "in", "between", "case", "when"})
"""Names in the function registry that are not written as calls, though most of them could be."""

WRONG_NUMBER: Final = re.compile(r"(^|\.)WRONG_NUM_ARGS(\.|$)|^REQUIRED_PARAMETER_NOT_FOUND$")
"""Error conditions that complain of the number of arguments."""

SAMPLES: Final = (
    "'1'",
    "1",
    "1L",
    "1.5D",
    "CAST(1.5 AS DECIMAL(10, 2))",
    "true",
    "DATE'2024-01-02'",
    "TIMESTAMP'2024-01-02 03:04:05'",
    "X'31'",
    "array(1L)",
    "array('1')",
    "map('1', 1L)",
    "named_struct('x', 1L)",
    "1Y",
    "1.5F",
    "CAST(1.5 AS DECIMAL(20, 4))",
    "TIMESTAMP_NTZ'2024-01-02 03:04:05'",
    "CAST('03:04:05' AS TIME(0))",
    "INTERVAL '1 02:03:04' DAY TO SECOND",
    "INTERVAL '1-2' YEAR TO MONTH",
    "parse_json('1')",
    "array(1.5F)",
    "array(array(1))",
    "array(named_struct('x', 1L))",
)

SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.pyspark.worker.logging.enabled": "true",
}

MOST_SAMPLES: Final = 3
"""Calls are made up of samples alone up to this number of arguments."""

THREADS: Final = 16
"""An analysis that fails is mostly spent waiting for answers from the JVM."""


@dataclass(frozen=True)
class Analysis:
    """What the analyser made of a query: a schema, or the condition of its error."""

    schema: StructType | None
    condition: str = ""


@dataclass(frozen=True)
class Call:
    """A call of a function, and what follows it in the query (OVER, FROM, ...)."""

    arguments: tuple[str, ...]
    rest: str = ""

    def query(self, name: str) -> str:
        return f"SELECT {name}({', '.join(self.arguments)}) {self.rest}"

    def with_sample(self, sample: str, places: tuple[int, ...]) -> Call:
        arguments = [sample if i in places else old for i, old in enumerate(self.arguments)]
        return Call(tuple(arguments), self.rest)


@dataclass(frozen=True)
class Function:
    """A row of the table."""

    name: str
    kind: str
    counts: tuple[int, ...]
    result: str | None

    def row(self) -> str:
        most = "*" if self.counts[-1] >= MOST_ARGUMENTS else str(self.counts[-1])
        return "\t".join((self.name, self.kind, str(self.counts[0]), most, self.result or "-"))


class Prober:
    """Finds out about functions by having a Spark session analyse calls of them."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def names(self) -> list[str]:
        """The names that are identifiers; operators are in the registry too."""
        rows = self._spark.sql("SHOW SYSTEM FUNCTIONS").collect()
        names = {str(row[0]).lower() for row in rows}
        return sorted(name for name in names - GRAMMAR if re.fullmatch(r"[a-z_]\w*", name))

    def function(self, name: str) -> Function | None:
        """The row for a function; None if no call of it is possible."""
        counts = self._counts(name)
        if not counts:
            return None
        rows = self._spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect()
        description = "\n".join(str(row[0]) for row in rows)
        kind = self._kind(name, counts[0], description)
        result = None
        if kind not in ("generator", "table"):
            result = self._result(name, calls(name, kind, counts, description))
        return Function(name, kind, counts, result)

    def _analyse(self, query: str) -> Analysis:
        try:
            return Analysis(self._spark.sql(query).schema)
        except PySparkException as error:
            return Analysis(None, error.getCondition() or "UNKNOWN")
        except Exception as error:
            # PySpark lets py4j's own error through where it does not know the Java exception.
            if type(error).__name__ != "Py4JJavaError":
                raise
            condition = re.search(r"\[([A-Z][A-Z0-9_.]+)\]", str(error))
            return Analysis(None, condition[1] if condition else "UNKNOWN")

    def _counts(self, name: str) -> tuple[int, ...]:
        """The numbers of arguments that are accepted, be their types right or wrong."""
        in_from = self._call(name, 0).condition == "NOT_A_SCALAR_FUNCTION"
        return tuple(
            count
            for count in range(MOST_ARGUMENTS + 1)
            if not WRONG_NUMBER.search(self._call(name, count, in_from=in_from).condition)
        )

    def _call(
        self, name: str, count: int, *, value: str = "NULL", rest: str = "", in_from: bool = False
    ) -> Analysis:
        # The quotes keep the grammar from reading more than a call into DATE_ADD(...) and others.
        call = f"`{name}`({', '.join([value] * count)})"
        return self._analyse(f"SELECT * FROM {call}" if in_from else f"SELECT {call} {rest}")

    def _kind(self, name: str, count: int, description: str) -> str:
        if self._call(name, count, in_from=True).condition != "NOT_A_TABLE_FUNCTION":
            in_select = self._call(name, count).condition != "NOT_A_SCALAR_FUNCTION"
            return "generator" if in_select else "table"
        for value in ("NULL", "1"):
            if self._call(name, count, value=value).condition == (
                "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE"
            ):
                return "window"
        # FILTER is for aggregates, and is refused to others before types are looked at. Some
        # functions do not get as far as that with arguments that mean nothing to them.
        filtered = self._call(name, count, rest="FILTER (WHERE true)")
        if filtered.condition == "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX":
            return "scalar"
        if filtered.schema is not None or filtered.condition.startswith("DATATYPE_MISMATCH."):
            return "aggregate"
        in_package = re.search(r"^Class: .*\.aggregate\.\w+$", description, re.MULTILINE)
        return "aggregate" if in_package else "scalar"

    def _result(self, name: str, tries: Iterator[Call]) -> str | None:
        """The type that all calls have that can be analysed, None if there is no such type."""
        found = None
        accepted = set()
        for call in tries:
            schema = self._analyse(call.query(name)).schema
            if schema is None:
                continue
            result = scalar_type(schema.fields[0].dataType)
            if result is None or found not in (None, result):
                return None
            found = result
            accepted.add(call.arguments)
        return found if len(accepted) > 1 or () in accepted else None


def scalar_type(data_type: DataType) -> str | None:
    """A type as it is written in DDL, None if it has parts, or if it is that of NULL."""
    if isinstance(data_type, ArrayType | MapType | StructType | NullType):
        return None
    return data_type.simpleString().upper()


def calls(name: str, kind: str, counts: tuple[int, ...], description: str) -> Iterator[Call]:
    """Calls to try in order to see what type the result has, each of them once."""
    seen: set[Call] = set()
    for call in _calls(kind, counts, list(examples(name, description))):
        if call not in seen:
            seen.add(call)
            yield call


def _calls(kind: str, counts: tuple[int, ...], shown: list[Call]) -> Iterator[Call]:
    yield from shown
    over = "OVER (ORDER BY 1)" if kind == "window" else ""
    tried = [count for count in counts if count <= MOST_SAMPLES] or [counts[0]]
    for count in tried:
        yield from (Call((sample,) * count, over) for sample in SAMPLES)
    # Of the examples with the same number of arguments the first is varied.
    first = {len(call.arguments): call for call in reversed(shown)}
    for count, call in sorted(first.items())[:2]:
        places = [(place,) for place in range(count)]
        pairs = itertools.combinations(range(count), 2) if count == MOST_SAMPLES else ()
        for chosen in (*places, *pairs):
            yield from (call.with_sample(sample, chosen) for sample in SAMPLES)
        if count + 1 in tried and count + 1 not in first:
            yield from (Call((*call.arguments, sample), call.rest) for sample in SAMPLES)
    for count in tried:
        for start in range(len(SAMPLES)):
            mixed = (SAMPLES[(start + 5 * place) % len(SAMPLES)] for place in range(count))
            yield Call(tuple(mixed), over)


def examples(name: str, description: str) -> Iterator[Call]:
    """The calls of a function in the examples of its description."""
    for statement in re.findall(r"^ *> (SELECT .*?);? *$", description, re.MULTILINE):
        depths = list(nesting(statement))
        source = next(
            (
                statement[found.start() :]
                for found in re.finditer(r"\bFROM\b", statement, re.IGNORECASE)
                if depths[found.start()] == 0
            ),
            "",
        )
        for found in re.finditer(rf"\b{name}\(", statement, re.IGNORECASE):
            inside = depths[found.end() - 1]
            if inside < 0:
                continue
            end = depths.index(inside - 1, found.end())
            clause = re.match(
                r"\s*(?:OVER|WITHIN GROUP)\s*\([^()]*\)", statement[end + 1 :], re.IGNORECASE
            )
            cuts = [found.end() - 1]
            cuts += [i for i in range(cuts[0], end) if statement[i] == "," and depths[i] == inside]
            arguments = [
                statement[start + 1 : stop].strip()
                for start, stop in zip(cuts, [*cuts[1:], end], strict=True)
            ]
            rest = f"{clause[0] if clause else ''} {source}".strip()
            yield Call(tuple(arguments) if arguments != [""] else (), rest)


def nesting(statement: str) -> Iterator[int]:
    """How deep in brackets each character is: an opening one is inside, a closing one outside.

    Characters of string literals are at -1.
    """
    depth = 0
    quote = ""
    escaped = False
    for character in statement:
        if quote:
            yield -1
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
            yield -1
        else:
            depth += (character in "([") - (character in ")]")
            yield depth


def session(directory: str) -> SparkSession:
    """A quiet local session that leaves nothing behind but in the directory."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Each error is logged otherwise, and errors are what most of the answers are.
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    builder = SparkSession.builder.master("local[1]").appName("list_spark_functions")
    builder = builder.config("spark.sql.warehouse.dir", directory)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the table of the functions of Spark SQL.")
    parser.add_argument("output", nargs="?", type=Path, default=OUTPUT)
    output: Path = parser.parse_args().output
    with tempfile.TemporaryDirectory() as directory:
        spark = session(directory)
        prober = Prober(spark)
        names = prober.names()
        with ThreadPoolExecutor(THREADS) as threads:
            functions = dict(zip(names, threads.map(prober.function, names), strict=True))
        version = spark.version
        spark.stop()
    found = [function for function in functions.values() if function is not None]
    lines = [f"# name\tkind\tmin\tmax\tresult\t(Spark {version})"]
    lines += [function.row() for function in found]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for kind, number in sorted(Counter(function.kind for function in found).items()):
        print(f"{kind}: {number}")
    print("no call possible:", ", ".join(name for name in names if functions[name] is None))


if __name__ == "__main__":
    main()
