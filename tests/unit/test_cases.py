"""Every line of `tests/golden/cases.md` holds: the first cases that the planner was built for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import narrows
from narrows.logical.nodes import DataSource, Node
from narrows.logical.walk import sources_of

CASES = Path(__file__).parents[1] / "golden" / "cases.md"
OPTIONS = "connector = 'file', path = 'data', format = 'json'"


@dataclass(frozen=True)
class Line:
    """A line of the table of queries: what is asked, and what must come of it."""

    sql: str
    expected: str


def _tables() -> tuple[dict[str, str], list[Line]]:
    """The stream definitions and the queries, as the file has them."""
    streams: dict[str, str] = {}
    lines: list[Line] = []
    for text in CASES.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in text.strip().strip("|").split(" | ")]
        if len(cells) != 2 or not cells[0].startswith("`"):
            continue
        if cells[0].upper().startswith("`SELECT"):
            lines.append(Line(*cells))
        else:
            streams[cells[0].strip("`")] = cells[1]
    return streams, lines


STREAMS, LINES = _tables()
PRUNED = [line for line in LINES if line.expected.startswith("`")]
REFUSED = [line for line in LINES if line.expected.startswith("error")]


def _catalog(extra: str = "") -> narrows.Catalog:
    catalog = narrows.Catalog()
    for name, definition in STREAMS.items():
        columns, *options = re.findall(r"`(.*?)`", definition)
        given = ", ".join((OPTIONS, *options, *([extra] if extra else [])))
        catalog.execute(f"CREATE STREAM {name} ({columns}) WITH ({given})")
    return catalog


def _source(plan: Node) -> DataSource:
    (source,) = sources_of(plan)
    return source


def _info(source: DataSource, key: str) -> str:
    listing = source.info()[key]
    assert not isinstance(listing, str)
    return f"[{', '.join(listing.parts)}]"


def _sql(line: Line) -> str:
    return str(re.findall(r"`(.*?)`", line.sql)[0])


def test_the_whole_file_is_read() -> None:
    table_lines = [t for t in CASES.read_text("utf-8").splitlines() if t.startswith("| `")]
    assert len(STREAMS) + len(PRUNED) + len(REFUSED) == len(table_lines)
    assert (len(STREAMS), len(PRUNED), len(REFUSED)) == (4, 13, 2)


@pytest.mark.parametrize("line", PRUNED, ids=_sql)
def test_source_schema(line: Line) -> None:
    plan = narrows.plan(_sql(line), _catalog())
    assert f"`{_info(_source(plan.logical), 'schema')}`" == line.expected


@pytest.mark.parametrize("line", PRUNED, ids=_sql)
def test_a_shared_source_keeps_its_schema_and_carries_the_rest_as_a_view(line: Line) -> None:
    source = _source(narrows.plan(_sql(line), _catalog("shared = true")).logical)
    whole = _source(narrows.plan(_sql(line), _catalog(), pruning=False).logical)
    assert _info(source, "schema") == _info(whole, "schema")
    assert f"`{_info(source, 'shared_required_schema')}`" == line.expected


@pytest.mark.parametrize("line", REFUSED, ids=_sql)
def test_refused(line: Line) -> None:
    """The error names the field, and the caret stands under it."""
    sql = _sql(line)
    with pytest.raises(narrows.NarrowsError) as raised:
        narrows.plan(sql, _catalog())
    (problem,) = raised.value.problems
    field = "i" if "(field `i`)" in line.sql else "b"
    assert problem.message == f"field `{field}` not found in `struct{{c, d}}`"
    assert problem.span is not None
    assert sql[problem.span.start : problem.span.end] == field
    assert problem.span.start == sql.index(f"{field} FROM")


def test_the_field_that_is_there() -> None:
    """The second half of the line on LATERAL VIEW: with `x.c` it is accepted."""
    (line,) = [line for line in REFUSED if "LATERAL VIEW" in line.sql]
    (schema,) = re.findall(r"with `x\.c`: `(.*)`", line.expected)
    plan = narrows.plan(_sql(line).replace("x.i", "x.c"), _catalog())
    assert _info(_source(plan.logical), "schema") == schema


def test_shared_stream_4() -> None:
    """The paragraph below the table."""
    text = " ".join(CASES.read_text("utf-8").rpartition("|")[2].split())
    name, sql, key, schema, required = re.findall(r"`(.*?)`", text)
    assert key == "schema"
    plan = narrows.plan(f"{sql} FROM {name}", _catalog("shared = true"))
    source = _source(plan.logical)
    assert _info(source, "schema") == schema
    assert f"shared_required_schema={_info(source, 'shared_required_schema')}" == required
