"""Golden files: SQL in, a plan or an error out, and the text that is expected.

    # what the case is about
    explain logical expect=StructFieldPruning refuse=ListElementPruning
    SELECT b->c FROM stream_4
    ----
    Logical Plan
    ...
    ----

The first line says what to do:

* `explain [default|logical|physical|verbose] [text|json|mermaid]`, then any number of `expect=Rule`
  (fails when the rule did not change the plan) and `refuse=Rule` (fails when it did);
* `error`: the SQL must be refused, and the text is what the user sees.

The SQL is a query, or a CREATE PIPELINE, or (for `error`) any statements. Statements run against
their own copy of `tests/golden/catalog.sql`. `make golden` rewrites the expected texts in place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from narrows import Catalog, NarrowsError, Plan
from narrows.catalog.objects import TableProjection
from narrows.planner.query import Check, plan_query
from narrows.sql.parser.script import parse, parse_query
from narrows.sql.parser.statements import CreatePipeline, ExplainMode
from narrows.sql.scope import Name

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
CATALOG = GOLDEN / "catalog.sql"
REWRITE = os.environ.get("NARROWS_GOLDEN") == "rewrite"

_FENCE = "----"
_MODES = frozenset(mode.value for mode in ExplainMode)
_FORMATS = frozenset(("text", "json", "mermaid"))
_QUERY_WORDS = ("SELECT", "WITH", "FROM", "VALUES", "(")


@dataclass(frozen=True)
class Block:
    """One case of a golden file."""

    path: Path
    line: int
    comment: tuple[str, ...]
    directive: str
    sql: str
    expected: str

    @property
    def id(self) -> str:
        return f"{self.path.relative_to(GOLDEN).as_posix()}:{self.line}"

    @property
    def is_error(self) -> bool:
        return self.directive.split()[0] == "error"

    @property
    def expects(self) -> list[str]:
        """Rules that must change the plan."""
        return self._rules("expect=")

    @property
    def refuses(self) -> list[str]:
        """Rules that must leave the plan as it is."""
        return self._rules("refuse=")

    def _rules(self, prefix: str) -> list[str]:
        words = self.directive.split()
        return [word.removeprefix(prefix) for word in words if word.startswith(prefix)]

    def _word(self, words: frozenset[str], default: str) -> str:
        return next((word for word in self.directive.split()[1:] if word in words), default)

    def plan(self, check: Check | None = None) -> Plan:
        """Plans the block's SQL; `check` is called after each rule that changed the plan."""
        if self.sql.split()[0].upper() != "CREATE":
            return plan_query(parse_query(self.sql), _unchanged_catalog(), check=check)
        catalog = golden_catalog()
        (statement,) = parse(self.sql)
        assert isinstance(statement, CreatePipeline), self.id
        catalog.execute_statement(statement)
        pipeline = catalog.pipeline(statement.name)
        return plan_query(pipeline.query, catalog, pipeline=pipeline, check=check)

    def explain(self, plan: Plan) -> str:
        return plan.explain(self._word(_MODES, "default"), self._word(_FORMATS, "text"))

    def refusal(self) -> NarrowsError:
        """The error that the block's SQL ends in."""
        try:
            if self.sql.upper().startswith(_QUERY_WORDS):
                plan_query(parse_query(self.sql), _unchanged_catalog())
            else:
                golden_catalog().execute(self.sql)
        except NarrowsError as error:
            return error
        raise AssertionError(f"{self.id} was accepted, but an error is expected")


def golden_catalog() -> Catalog:
    """A fresh catalog of everything that the golden files use."""
    catalog = Catalog()
    catalog.disabled_rules = frozenset()  # the golden files show what each of them does
    catalog.load(CATALOG)
    catalog.add_function("my_udf", 1, 1)
    measured = catalog.find_source(Name("measured", None))
    copies = (
        TableProjection("by_time", "measured", ("at", "value"), ("at",), "copies/by_time", "f"),
        TableProjection(
            "old", "measured", ("at", "value", "unit"), (), "copies/old", "e", stale=True
        ),
    )
    catalog.add_source(replace(measured, projections=copies))
    return catalog


@cache
def _unchanged_catalog() -> Catalog:
    """For queries, which leave a catalog as it is."""
    return golden_catalog()


def golden_files() -> list[Path]:
    return sorted(GOLDEN.glob("*/*.plan"))


def all_blocks() -> list[Block]:
    return [block for path in golden_files() for block in read_blocks(path)]


def read_blocks(path: Path) -> list[Block]:
    """The blocks of a file. A file that does not follow the format is refused, not skipped."""
    return list(_blocks(path, path.read_text("utf-8").splitlines()))


def _blocks(path: Path, lines: list[str]) -> Iterator[Block]:
    place = 0
    while place < len(lines):
        if not lines[place].strip():
            place += 1
            continue
        start = place
        while place < len(lines) and lines[place].startswith("#"):
            place += 1
        comment = tuple(lines[start:place])
        where = f"{path.name}:{start + 1}"
        assert comment, f"{where}: a block begins with a comment that says what it is about"
        directive = lines[place]
        assert directive.split()[0] in ("explain", "error"), f"{where}: unknown `{directive}`"
        line = place + 1
        sql_end = _fence(lines, place + 1, where)
        text_end = _fence(lines, sql_end + 1, where)
        yield Block(
            path=path,
            line=line,
            comment=comment,
            directive=directive,
            sql="\n".join(lines[line:sql_end]),
            expected="\n".join(lines[sql_end + 1 : text_end]),
        )
        place = text_end + 1


def _fence(lines: list[str], start: int, where: str) -> int:
    for place in range(start, len(lines)):
        if lines[place] == _FENCE:
            return place
    raise AssertionError(f"{where}: `{_FENCE}` is missing")


def rewrite(block: Block, actual: str) -> None:
    """Puts the actual text into the block's file. Blocks keep their order, lines may move."""
    parts = []
    for other in read_blocks(block.path):
        same = (other.sql, other.directive) == (block.sql, block.directive)
        text = actual if same else other.expected
        body = (*other.comment, other.directive, other.sql, _FENCE, *([text] if text else []))
        parts.append("\n".join((*body, _FENCE)))
    block.path.write_text("\n\n".join(parts) + "\n", "utf-8")
