"""Readers that drop rows which will find no partner: Spark's answers, and less is shipped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import narrows
from narrows.catalog.measured import NOTHING_MEASURED, Measured
from narrows.spark.compile import key_queries
from narrows.spark.read import table as table_reads

TABLES = {
    "few": "id INT, kind STRING, day DATE, label STRING",
    "some": "id BIGINT, few_id BIGINT, label STRING",
    "many": "some_id BIGINT, label STRING, day DATE, v BIGINT",
}
QUERIES = (
    # from few to some to many; an INT meets a BIGINT
    "SELECT count(*), sum(v) FROM few, some, many"
    " WHERE few.id = few_id AND some.id = some_id AND kind = 'a'",
    # by texts and by days; NULLs among them
    "SELECT m.v FROM few f JOIN many m ON f.label = m.label WHERE f.kind = 'b'",
    "SELECT m.v, f.id FROM few f LEFT JOIN many m ON f.day = m.day WHERE f.kind = 'a'",
    "SELECT m.v, f.id FROM many m RIGHT JOIN few f ON f.day = m.day AND m.v > 3 WHERE f.kind = 'a'",
    # subqueries
    "SELECT id FROM some WHERE label = 'x1' AND EXISTS (SELECT 1 FROM many WHERE some_id = id)",
    "SELECT id FROM some WHERE label = 'x1' AND NOT EXISTS (SELECT 1 FROM many WHERE some_id = id)",
    "SELECT sum(v) FROM many WHERE some_id IN (SELECT id FROM some WHERE label = 'x2')",
    "SELECT id, (SELECT count(*) FROM many WHERE some_id = id) FROM some WHERE label = 'x3'",
    # groups that are left by HAVING
    "SELECT s.label, sum(v) FROM some s JOIN many m ON s.id = m.some_id WHERE s.id IN"
    " (SELECT some_id FROM many GROUP BY some_id HAVING sum(v) > 1200) GROUP BY s.label",
    "SELECT v FROM many WHERE label IN (SELECT label FROM few GROUP BY label HAVING count(*) > 1)",
    "SELECT v FROM many WHERE v IN (SELECT few_id FROM some GROUP BY few_id HAVING max(id) < 0)",
    # nobody is left to be joined with
    "SELECT f.id, m.v FROM few f LEFT JOIN many m ON f.id = m.some_id WHERE f.kind = 'none'",
    "SELECT count(*) FROM few f JOIN many m ON f.id = m.some_id WHERE f.kind = 'none'",
)


@pytest.fixture(scope="module")
def session(
    small_data: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[narrows.Session]:
    folder = tmp_path_factory.mktemp("join-filters")
    for table, rows in _rows().items():
        (folder / table).mkdir()
        lines = "\n".join(json.dumps(row) for row in rows)
        (folder / table / "rows.json").write_text(lines, encoding="utf-8")
        small_data.read.schema(TABLES[table]).json(str(folder / table)).createOrReplaceTempView(
            table
        )
    with narrows.connect(small_data, state=folder / "state") as made:
        made.catalog.measured = NOTHING_MEASURED  # files as small as these would not be tested
        for table, schema in TABLES.items():
            made.execute(
                f"CREATE TABLE {table} ({schema})"
                f" WITH (connector = 'file', path = '{folder / table}')"
            )
        yield made


def _rows() -> dict[str, list[dict[str, object]]]:
    def day(number: int) -> str | None:
        return None if number % 7 == 0 else str(date(1969, 12, 25) + timedelta(days=number))

    def label(number: int) -> str | None:
        return None if number % 11 == 0 else f"x{number % 5}"

    return {
        "few": [{"id": n, "kind": "ab"[n % 2], "day": day(n), "label": label(n)} for n in range(6)],
        "some": [
            {"id": 2**40 * n if n % 3 else None, "few_id": n % 9, "label": label(n)}
            for n in range(60)
        ],
        "many": [
            {"some_id": 2**40 * (n % 70), "label": label(n), "day": day(n % 30), "v": n}
            for n in range(400)
        ],
    }


@pytest.mark.parametrize("sql", QUERIES)
def test_the_rows_are_those_of_spark(session: narrows.Session, sql: str) -> None:
    assert "join_filter=" in str(session.execute(f"EXPLAIN PHYSICAL {sql}")[0])
    assert _sorted(session.query(sql)) == _sorted(session.spark.sql(sql))


MEGABYTES = {"few": 5, "some": 300, "many": 2000}
"""As large as they would have to be for all of it to be worth the while."""


@pytest.fixture
def measured(session: narrows.Session) -> Iterator[narrows.Session]:
    session.catalog.measured = Measured(size=lambda source: MEGABYTES[source.name] << 20)
    yield session
    session.catalog.measured = NOTHING_MEASURED


@pytest.mark.parametrize("most_bytes", [key_queries.MOST_BYTES, 100, 0])
def test_what_is_read_once_gives_the_rows_of_spark(
    measured: narrows.Session, monkeypatch: pytest.MonkeyPatch, most_bytes: int
) -> None:
    """Whether tasks hand on rows, or those that have few, or nothing but their keys."""
    monkeypatch.setattr(key_queries, "MOST_BYTES", most_bytes)
    read_once = 0
    for sql in QUERIES:
        read_once += "reads=once" in str(measured.execute(f"EXPLAIN PHYSICAL {sql}")[0])
        assert _sorted(measured.query(sql)) == _sorted(measured.spark.sql(sql)), sql
    assert read_once >= 9


def test_rows_that_are_handed_on_are_counted_once(measured: narrows.Session) -> None:
    measured.query(QUERIES[0]).collect()
    counts = measured.query_counts()
    assert [counts[table].rows_decoded for table in TABLES] == [6, 60, 400]
    assert counts["few"].rows_shipped == 3


def test_spark_asks_for_handed_rows_once(
    measured: narrows.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = measured.query(QUERIES[0])
    frame.collect()
    frame.explain()
    plan = capsys.readouterr().out
    run = r"Subquery subquery#(\d+),[^\n]*\n[^\n]*AdaptiveSparkPlan isFinalPlan=true"
    assert len(set(re.findall(run, plan))) == 2, plan  # the rows of `few`, and those of `some`
    assert "ReusedSubquery" in plan


def test_spark_believes_what_it_is_told_whatever_tasks_are_told(
    measured: narrows.Session, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Keys and rows that are handed on come to tasks in columns of their own, which are not part of
    a table, and must not make one look too large to be broadcast."""
    monkeypatch.setattr(table_reads, "broadcast_bytes", lambda spark: -1)  # so none is there yet
    monkeypatch.setattr(table_reads, "believed_size", lambda *told: 4 << 20)
    for sql in QUERIES[:3]:
        measured.query(sql).explain("cost")
        told = re.findall(r"MapInArrow read.*x0.*sizeInBytes=(.*)\)", capsys.readouterr().out)
        assert len(told) >= 2
        assert set(told) == {"4.0 MiB"}


def test_less_is_shipped_and_everything_counted(session: narrows.Session) -> None:
    counts = {}
    for setting in ("off", "on"):
        session.execute(f"SET narrows.rule.join_filter_into_reader = {setting}")
        session.query(QUERIES[0]).collect()
        counts[setting] = session.query_counts()
    for table in TABLES:
        assert counts["on"][table].rows_decoded == counts["off"][table].rows_decoded
    assert counts["on"]["many"].rows_shipped < counts["off"]["many"].rows_shipped == 400


def test_groups_that_give_keys_are_made_once(
    session: narrows.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where they stand, and where their keys are asked for, there is one shuffle above them."""
    frame = session.query(next(sql for sql in QUERIES if "HAVING" in sql))
    frame.collect()
    frame.explain()
    assert re.search(r"ReusedExchange .*REBALANCE_PARTITIONS_BY_NONE", capsys.readouterr().out)


def test_what_comes_between_two_queries_is_joined(session: narrows.Session, tmp_path: Path) -> None:
    for table in ("left_side", "right_side"):
        (tmp_path / table).mkdir()
        session.execute(
            f"CREATE TABLE {table} (k BIGINT, kind STRING)"
            f" WITH (connector = 'file', path = '{tmp_path / table}')"
        )
    sql = "SELECT r.k FROM left_side l JOIN right_side r ON l.k = r.k WHERE l.kind = 'a'"
    for number in range(2):
        for table in ("left_side", "right_side"):
            row = json.dumps({"k": number, "kind": "a"})
            (tmp_path / table / f"{number}.json").write_text(row, encoding="utf-8")
        assert sorted(row.k for row in session.query(sql).collect()) == list(range(number + 1))


PIPELINES = {
    "joined": "SELECT e.v, f.label FROM events e JOIN few f ON e.few_id = f.id WHERE f.kind = 'a'",
    "by_text": "SELECT e.v FROM events e LEFT SEMI JOIN few f ON e.label = f.label AND f.id = 3",
    "asked": "SELECT v FROM events WHERE few_id IN (SELECT few_id FROM some WHERE id IN"
    " (SELECT 1099511627776 * id FROM few WHERE kind = 'b') AND label = 'x1')",
    "nobody": "SELECT e.v FROM events e JOIN few f ON e.few_id = f.id WHERE f.kind = 'none'",
    "grouped": "SELECT f.label, count(*) AS n FROM events e JOIN few f ON e.few_id = f.id"
    " WHERE f.kind = 'b' GROUP BY f.label",
}


@pytest.mark.parametrize("shared", [False, True])
def test_streams_drop_what_finds_no_partner_in_tables(
    small_data: SparkSession, tmp_path: Path, shared: bool
) -> None:
    """With the rule and without it, the same rows; the table is written anew between two runs."""
    tables = _rows()
    for table in ("few", "some", "events"):
        (tmp_path / table).mkdir()
    events = [
        {"few_id": n % 9, "label": None if n % 4 == 0 else f"x{n % 5}", "v": n} for n in range(200)
    ]
    found, counts = {}, {}
    with (
        narrows.connect(small_data, state=tmp_path / "on") as on,
        narrows.connect(small_data, state=tmp_path / "off") as off,
    ):
        off.execute("SET narrows.rule.join_filter_into_reader = off")
        for run in range(2):
            for table in ("few", "some"):
                rows = tables[table][run:]  # with another first row
                lines = "\n".join(json.dumps(row) for row in rows)
                (tmp_path / table / "rows.json").write_text(lines, "utf-8")
            lines = "\n".join(json.dumps(event) for event in events[run::2])
            (tmp_path / "events" / f"{run}.json").write_text(lines, "utf-8")
            for way, session in (("on", on), ("off", off)):
                if not run:
                    _declare(session, tmp_path, shared=shared)
                started = session.start(*PIPELINES, once=True)
                started.await_done(timeout=300)
                found[way] = {name: _written(session, name) for name in PIPELINES}
                if not shared:
                    counts[way] = started.progress["joined"]["read"]["events"]["rows_shipped"]
            assert found["on"] == found["off"]
        assert found["on"]["joined"]
        assert not found["on"]["nobody"]
        assert shared or counts["on"] < counts["off"] == len(events)
        plan = on.execute("EXPLAIN PHYSICAL PIPELINE joined")[0]
        assert "join_filter=[e.few_id in f.id]" in str(plan)


def _declare(session: narrows.Session, folder: Path, *, shared: bool) -> None:
    for table in ("few", "some"):
        session.execute(
            f"CREATE TABLE {table} ({TABLES[table]})"
            f" WITH (connector = 'file', path = '{folder / table}')"
        )
    more = ", shared = true" if shared else ""
    session.execute(
        "CREATE STREAM events (few_id BIGINT, label STRING, v BIGINT)"
        f" WITH (connector = 'file', path = '{folder / 'events'}'{more})"
    )
    for name, query in PIPELINES.items():
        session.execute(
            f"CREATE SINK out_{name} WITH (connector = 'memory');"
            f"CREATE PIPELINE {name} INTO out_{name} AS {query}"
        )


def _written(session: narrows.Session, name: str) -> list[str]:
    return sorted(json.dumps(row) for row in session.rows(f"out_{name}"))


def _sorted(frame: DataFrame) -> list[str]:
    return sorted(repr(tuple(row)) for row in frame.collect())
