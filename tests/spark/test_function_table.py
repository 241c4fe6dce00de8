"""Examples of docs/functions.md give on Spark what the page says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

import narrows
from support.function_table import AGGREGATES, REMEMBER, Line, lines, rows, schema


@pytest.fixture(scope="module")
def session(
    small_data: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[narrows.Session]:
    folder = Path(tmp_path_factory.mktemp("readings"))
    (folder / "rows.json").write_text("\n".join(rows()), encoding="utf-8")
    with narrows.connect(small_data, state=tmp_path_factory.mktemp("state")) as session:
        session.execute(
            f"CREATE STREAM readings ({schema()}) WITH (connector = 'file', path = '{folder}')"
        )
        yield session


def _answers(session: narrows.Session, chosen: list[Line], where: str = "") -> list[Row]:
    values = ", ".join(f"CAST({line.example} AS STRING)" for line in chosen)
    return session.query(f"SELECT {values} FROM readings {where}").collect()


def _of(chosen: Callable[[Line], bool]) -> list[Line]:
    return [line for line in lines() if chosen(line) and line.gives != "..."]


def test_values(session: narrows.Session) -> None:
    chosen = _of(lambda line: line.section not in (AGGREGATES, REMEMBER))
    (answer,) = _answers(session, chosen, "WHERE v = 2")
    assert dict(zip([line.name for line in chosen], answer, strict=True)) == {
        line.name: line.gives for line in chosen
    }


def test_aggregates(session: narrows.Session) -> None:
    chosen = _of(lambda line: line.section == AGGREGATES)
    (answer,) = _answers(session, chosen)
    assert dict(zip([line.name for line in chosen], answer, strict=True)) == {
        line.name: line.gives for line in chosen
    }


def test_functions_that_remember(session: narrows.Session) -> None:
    chosen = _of(lambda line: line.section == REMEMBER)
    found = zip(*_answers(session, chosen), strict=True)
    texts = [", ".join("NULL" if text is None else text for text in column) for column in found]
    assert dict(zip([line.name for line in chosen], texts, strict=True)) == {
        line.name: line.gives for line in chosen
    }


NULLS = """
    SELECT keys(b), items(b), object_size(b), object_pick(b, 'x'), erase(b, 'x'), keys(m),
           object_size(m), object_concat(b, named_struct('x', 9L)),
           object_concat(m, map('k', 1L), m, map('k', 2L, 'l', 3L)), array_concat(NULL, nums),
           array_last_position(nums, 5), array_contains_any(if(v > 9, nums, NULL), nums),
           split_value('a,b', ',', -1), split_value('a,b', ',', 7), trunc(-1.15D, 1),
           trunc(-0.009D, 2), delay(NULL, v), format(NULL, 1), format(1234.5D, 1, 'en_US')
    FROM readings WHERE v = 4
"""


def test_what_is_not_there(session: narrows.Session) -> None:
    (answer,) = session.query(NULLS).collect()
    assert list(answer) == [
        *(None, None, 0, None, None, None),
        *(0, Row(x=9, y=None), {"k": 2, "l": 3}, [1, 2, 1]),
        *(-1, False, "b", "", -1.1, 0.0, None, None, "1,234.5"),
    ]


ALONE = (
    *("keys(b)", "object_size(b)", "object_pick(b, 'y').y", "erase(b, 'x')", "items(b)[1].value"),
    *(
        "`values`(b)[0]",
        "object_concat(b, named_struct('x', v)).x",
        "keys(m)",
        "object_pick(m, 'k')",
    ),
)


def test_what_is_left_out_makes_no_difference(
    session: narrows.Session, small_data: SparkSession, tmp_path: Path
) -> None:
    """Each by itself: beside others, what one of them leaves out another may need."""
    (tmp_path / "rows.json").write_text("\n".join(rows()), encoding="utf-8")
    with narrows.connect(small_data, state=tmp_path / "state", pruning=False) as whole:
        whole.execute(
            f"CREATE STREAM readings ({schema()})"
            f" WITH (connector = 'file', path = '{tmp_path}/*.json')"
        )
        for call in ALONE:
            query = f"SELECT v, {call} AS found FROM readings ORDER BY v"
            assert session.query(query).collect() == whole.query(query).collect(), call


def test_functions_that_are_declared(session: narrows.Session) -> None:
    session.execute("""
        CREATE FUNCTION share(part BIGINT, whole BIGINT) RETURNS STRING
          RETURN format(part / whole, 2);
        CREATE FUNCTION x_share(b STRUCT<x: BIGINT, y: BIGINT>) RETURN share(b.x, b.x + b.y);
    """)
    rows = session.query(
        "SELECT x_share(b) AS s, share(sum(v), 4) FROM readings GROUP BY b"
    ).collect()
    assert sorted(tuple(row) for row in rows if row.s) == [("0.33", "0.50"), ("0.43", "0.75")]


def test_a_function_gets_what_it_looks_at(session: narrows.Session) -> None:
    def told(b: Row | None) -> str:
        return "none" if b is None else f"{b['x']} {b['y']}"

    session.register_function("told", told, looks=["STRUCT<x: BIGINT>"])
    rows = session.query("SELECT told(b) AS t FROM readings ORDER BY v").collect()
    assert [row.t for row in rows] == ["1 None", "3 None", "none"]
    assert "schema=[b?{x}]" in str(session.execute("EXPLAIN SELECT told(b) FROM readings")[0])
