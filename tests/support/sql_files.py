"""Runs files of Spark SQL with both engines, and compares the rows.

A file is statements with a `;` after each, and `--` comments. What sets up (CREATE VIEW, SET, ...)
is Spark's alone to run; each view that it makes is written to Parquet, and is a table of ours. What
asks (SELECT, WITH, ...) is asked of both:

    same        the same rows, or both refuse
    over files  other rows than Spark gives over its views, but those that it gives over our files
    open        as many other rows, where Spark gives other ones, too, when it is asked again
    different   other rows
    foreign     ours ends in an error that is not ours
    refused     ours refuses what Spark answers, with this message
    accepted    ours answers what Spark refuses

Rows are compared in no order, and floats without their last digits. `over files` tells apart where
Spark is not of one mind: the files have the rows of the views, which Spark itself has written, and
the query and the settings are the same. It answers otherwise where

* SQL leaves the answer open: LIMIT, first(), row_number() and the like without an order that tells
  all rows apart, the layout of files (`input_file_name()`); `open` are random values, and the time;
* columns of files may be NULL and those of a constant view may not, and rows of constants are
  computed while planning: its own plans disagree (`a IN (SELECT ...)` in ON, with NULLs).

Nothing of ours is in either answer, so such a query is not a wrong one of ours. But each of them is
counted by itself, to be looked at: of what stands beside a random value an `open` one says nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from narrows.errors import NarrowsError
from narrows.spark.session import Session

_PART = re.compile(
    r"""(?P<skipped>--[^\n]*|/\*.*?\*/)|(?P<end>;)|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|.""",
    re.DOTALL,
)
_QUERY = re.compile(r"\(*\s*(SELECT|WITH|VALUES|FROM|TABLE)\b", re.IGNORECASE)
_VIEW = re.compile(
    r"CREATE\s+(OR\s+REPLACE\s+)?(TEMP|TEMPORARY)\s+VIEW\s+(IF\s+NOT\s+EXISTS\s+)?`?(?P<name>\w+)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(CREATE|DROP)\s+(OR\s+REPLACE\s+)?((GLOBAL\s+)?TEMP(ORARY)?\s+)?(VIEW|TABLE)\s+"
    r"(IF\s+(NOT\s+)?EXISTS\s+)?`?(?P<name>\w+)",
    re.IGNORECASE,
)
_RUN_BY_SPARK = re.compile(
    r"(CREATE|DROP|INSERT|SET|RESET|CACHE|UNCACHE|USE|DECLARE|EXECUTE)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Outcome:
    """What became of one query."""

    kind: str
    query: str
    message: str = ""


def statements(text: str) -> Iterator[str]:
    """The statements of a text, without comments."""
    parts: list[str] = []
    for match in _PART.finditer(text):
        if match["skipped"] is not None:
            parts.append(" ")
        elif match["end"] is None:
            parts.append(match[0])
        else:
            yield "".join(parts).strip()
            parts = []
    yield "".join(parts).strip()


@dataclass
class SqlFiles:
    spark: SparkSession
    sessions: list[Session]
    """All of them must answer as Spark does: pruned, and not."""
    folder: Path
    """Where the rows of views are written."""
    _written: int = field(default=0, init=False)
    _files: dict[str, tuple[str, Path]] = field(default_factory=dict, init=False)
    """The statement that made a view, and where its rows are, by name."""

    def run(self, text: str) -> Iterator[Outcome]:
        for statement in statements(text):
            if _QUERY.match(statement):
                yield self._compare(statement)
            elif _RUN_BY_SPARK.match(statement):
                self._set_up(statement)

    def _set_up(self, statement: str) -> None:
        try:
            self.spark.sql(statement)
        except Exception:  # not all that Spark raises is pyspark's
            return  # one that must fail; what needs it will fail, too
        about = _NAMED.match(statement)
        if about is not None:  # what we knew by that name may be something else now
            self._forget(about["name"])
        view = _VIEW.match(statement)
        made = {} if view is None else {view["name"]: statement}
        if statement[:6].upper() == "INSERT":  # views over what it writes to have other rows now
            made = {name: before for name, (before, _) in self._files.items()}
        for name, creation in made.items():
            self._forget(name)
            # A view of a type that no column of ours may have is none of our tables; Spark reads it
            with suppress(NarrowsError, PySparkException):
                self._files[name.casefold()] = (creation, self._declare(name))

    def _forget(self, name: str) -> None:
        if self._files.pop(name.casefold(), None) is not None:
            for session in self.sessions:
                session.execute(f"DROP TABLE IF EXISTS `{name}`")

    def _declare(self, name: str) -> Path:
        """Makes a view of Spark's a table of ours."""
        rows = self.spark.table(name)
        path = self.folder / f"{name}_{self._written}"
        self._written += 1
        rows.coalesce(1).write.parquet(str(path))
        columns = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in rows.schema)
        for session in self.sessions:
            session.execute(
                f"CREATE OR REPLACE TABLE `{name}` ({columns})"
                f" WITH (connector = 'file', format = 'parquet', path = '{path}')"
            )
        return path

    def _over_files(self, query: str) -> list[str]:
        """What Spark answers over the files that we read, in place of the views."""
        try:
            for name, (_, path) in self._files.items():
                self.spark.read.parquet(str(path)).createOrReplaceTempView(name)
            return _rows(self.spark.sql(query))
        finally:
            for name, (statement, _) in self._files.items():
                self.spark.catalog.dropTempView(name)
                with suppress(PySparkException):  # what it was made of may be gone
                    self.spark.sql(statement)

    def _compare(self, query: str) -> Outcome:
        try:
            expected: list[str] | None = _rows(self.spark.sql(query))
        except Exception as error:  # not all that Spark raises is pyspark's
            expected, why = None, str(error).strip().partition("\n")[0]
        outcome = Outcome("same", query)
        for session in self.sessions:
            try:
                found = _rows(session.query(query))
            except NarrowsError as error:
                if expected is not None:
                    return Outcome("refused", query, error.problems[0].message)
                continue
            except Exception as error:
                if expected is not None:
                    return Outcome("foreign", query, str(error).strip().partition("\n")[0])
                continue
            if expected is None:
                return Outcome("accepted", query, why)
            if found != expected:
                kind = self._kind_of_difference(query, found, expected)
                outcome = Outcome(kind, query, _difference(found, expected))
                if kind == "different":
                    return outcome
        return outcome

    def _kind_of_difference(self, query: str, found: list[str], expected: list[str]) -> str:
        again = _rows(self.spark.sql(query))
        if again != expected and len(again) == len(expected) == len(found):
            return "open"
        return "over files" if found == self._over_files(query) else "different"


def _rows(frame: DataFrame) -> list[str]:
    """The rows, in no order; a header that tells how many columns they have."""
    rows = sorted(repr(_rounded(tuple(row))) for row in frame.collect())
    return [f"{len(frame.columns)} columns", *rows]


def _difference(found: list[str], expected: list[str]) -> str:
    """Some rows that one of them has more often."""
    ours, theirs = Counter(found), Counter(expected)
    return f"{[*(ours - theirs)][:3]} instead of {[*(theirs - ours)][:3]}"


def _rounded(value: object) -> object:
    """Without the last digits of floats, which depend on the order in which rows are folded."""
    match value:
        case float():
            return float(f"{value:.12g}")
        case dict():
            return {_rounded(key): _rounded(part) for key, part in value.items()}
        case list() | tuple():
            return [*map(_rounded, value)]
        case _:
            return value
