"""A task under a LIMIT reads no further than it must, and says of what it has seen what it saw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import narrows
from narrows.connectors.opening import open_source
from narrows.logical.walk import topological
from narrows.physical.nodes import PhysicalPartialAggregation, PhysicalReader
from narrows.planner.query import plan_query
from narrows.spark.read.reader import partial_spec, read_spec
from narrows.sql.parser.script import parse_query
from narrows.worker.counts import ReadCounts
from narrows.worker.dead_letters import read_dead_letters
from narrows.worker.read import read_share
from narrows.worker.read_spec import ReadSpec

LINES = 40_000
BLOCK = 8_192
"""Lines that are decoded together."""


@pytest.fixture
def source(tmp_path: Path) -> narrows.Catalog:
    """Two files with a bad line each, at the beginning."""
    for name in ("a", "b"):
        lines = "".join(f'{{"n": {n}, "k": "{n % 5}"}}\n' for n in range(LINES))
        (tmp_path / f"{name}.json").write_text("{ bad\n" + lines, encoding="utf-8")
    catalog = narrows.Catalog()
    catalog.execute(
        "CREATE TABLE s (n BIGINT, k STRING)"
        f" WITH (connector = 'file', format = 'json', path = '{tmp_path}')"
    )
    return catalog


def _spec(catalog: narrows.Catalog, sql: str, letters: Path) -> ReadSpec:
    plan = topological(plan_query(parse_query(sql), catalog).physical)
    partial = next((n for n in plan if isinstance(n, PhysicalPartialAggregation)), None)
    reader = next(node for node in plan if isinstance(node, PhysicalReader))
    spec = read_spec(reader) if partial is None else partial_spec(partial)
    return replace(spec, dead_letters=str(letters))


def _read(spec: ReadSpec) -> tuple[int, ReadCounts]:
    """How many rows one task ships of everything, and what it counts."""
    source = open_source(spec.connector, spec.declared)
    total, rows = ReadCounts(), 0
    for share in source.split(source.whole(source.available()), 1):
        rows += sum(batch.num_rows for batch in read_share(spec, share, total=total))
    assert total.rows_shipped == rows
    return rows, total


def _letters(folder: Path) -> int:
    return len(list(read_dead_letters(folder)))


def test_a_task_stops_when_it_has_its_rows(source: narrows.Catalog, tmp_path: Path) -> None:
    letters = tmp_path / "letters"
    rows, counts = _read(_spec(source, "SELECT n FROM s LIMIT 3", letters))
    assert rows == 3
    assert counts.payloads <= BLOCK  # of the first file alone
    assert counts.bad == 1
    assert _letters(letters) == 0  # nobody has seen all of a file


def test_rows_do_not_wait_for_others(source: narrows.Catalog, tmp_path: Path) -> None:
    rows, counts = _read(_spec(source, "SELECT k FROM s WHERE n = 9999 LIMIT 1", tmp_path / "l"))
    assert rows == 1
    assert BLOCK < counts.payloads <= 2 * BLOCK


def test_a_file_that_was_read_to_its_end_has_its_letters(
    source: narrows.Catalog, tmp_path: Path
) -> None:
    letters = tmp_path / "letters"
    rows, counts = _read(_spec(source, f"SELECT n FROM s LIMIT {LINES + 3}", letters))
    assert rows == LINES + 3
    assert counts.payloads <= LINES + 1 + BLOCK
    assert counts.bad == 2
    assert _letters(letters) == 1


def test_an_order_is_of_everything(source: narrows.Catalog, tmp_path: Path) -> None:
    letters = tmp_path / "letters"
    rows, counts = _read(_spec(source, "SELECT n FROM s ORDER BY n DESC LIMIT 3", letters))
    assert rows == 3
    assert counts.payloads == 2 * (LINES + 1)
    assert _letters(letters) == 2


def test_a_task_stops_when_it_has_its_groups(source: narrows.Catalog, tmp_path: Path) -> None:
    rows, counts = _read(_spec(source, "SELECT DISTINCT k FROM s LIMIT 4", tmp_path / "l"))
    assert 4 <= rows <= 5
    assert counts.payloads < LINES
    rows, counts = _read(_spec(source, "SELECT DISTINCT k FROM s LIMIT 6", tmp_path / "l"))
    assert rows == 5
    assert counts.payloads == 2 * (LINES + 1)
