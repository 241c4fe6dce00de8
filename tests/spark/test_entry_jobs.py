"""Pipelines without a streaming query that Spark has a part in: a job for each entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.physical.execution import ExecutionMode
from narrows.spark.compile import plan
from narrows.spark.entries.entry_plan import EntryPlan
from support.waiting import await_that

FILES = 3


class Folder:
    def __init__(self, spark: SparkSession, path: Path) -> None:
        self._spark, self._path = spark, path
        (path / "in").mkdir()

    def written(
        self, select: str, rows_of_a_file: int = 1, *, shared: bool = False
    ) -> list[dict[str, Any]]:
        """What a pipeline writes of some files that come one after the other, in their order."""
        options = f"shared = {str(shared).lower()}"
        with narrows.connect(self._spark, state=self._path / "state") as session:
            session.execute(
                f"""
                CREATE STREAM s (a BIGINT, items ARRAY<BIGINT>)
                  WITH (connector = 'file', path = '{self._path}/in', {options});
                CREATE SINK out WITH (connector = 'file', path = '{self._path}/out');
                CREATE PIPELINE p INTO out AS {select};
                """
            )
            how = session.catalog.plan_pipeline("p").execution
            assert how is not None
            assert how.mode is (ExecutionMode.GROUPED if shared else ExecutionMode.JOBS)
            run = session.start("p", trigger="0 seconds")
            for number in range(FILES):
                self._put(number)
                wanted = rows_of_a_file * (number + 1)
                await_that(lambda: len(self._found()) == wanted, "the file is read")  # noqa: B023
            run.stop()
        return self._found()

    def _put(self, number: int) -> None:
        row = {"a": number, "items": [number, number + 10, number + 1]}
        hidden = self._path / "in" / f".{number}"
        hidden.write_text(json.dumps(row) + "\n")
        hidden.rename(hidden.with_name(f"{number}.json"))

    def _found(self) -> list[dict[str, Any]]:
        files = sorted((self._path / "out").glob("[!.]*.json"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Folder:
    return Folder(spark, tmp_path)


def test_rows_are_computed_and_multiplied(folder: Folder) -> None:
    found = folder.written(
        "SELECT CAST(round(a * 1.0) AS BIGINT) AS a, i FROM s LATERAL VIEW explode(items) t AS i"
        " WHERE abs(i - a) <> 1",
        rows_of_a_file=2,
    )
    assert found == [{"a": a, "i": i} for a in range(FILES) for i in (a, a + 10)]


@pytest.mark.parametrize("shared", [False, True], ids=["alone", "shared"])
def test_times_and_lots_are_those_of_each_entry(folder: Folder, shared: bool) -> None:
    """Spark fixes them when it makes a job, so such a job is made anew."""
    select = "SELECT newuuid() AS u, rand() AS r, now() AS n FROM s"
    found = folder.written(select, shared=shared)
    for column in ("u", "r", "n"):
        assert len({row[column] for row in found}) == FILES


def test_settings_and_functions_are_those_of_the_session(
    folder: Folder, spark: SparkSession
) -> None:
    """The jobs have a session of their own, and it is like the user's."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION doubled(x BIGINT) RETURNS BIGINT RETURN x * 2")
    try:
        found = folder.written(
            "SELECT doubled(a) AS d, date_format(timestamp_seconds(a), 'HH') AS h FROM s"
        )
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
        spark.sql("DROP TEMPORARY FUNCTION doubled")
    assert found == [{"d": 2 * a, "h": "09"} for a in range(FILES)]


JOINS = {
    "inner": "SELECT s.a, t.name FROM s JOIN t ON s.k = t.k",
    "outer": "SELECT s.a, t.name FROM s LEFT JOIN t ON s.k = t.k AND t.name <> 'y'",
    "right": "SELECT s.a, t.name FROM t RIGHT JOIN s ON s.k = t.k",
    "semi": "SELECT a FROM s LEFT SEMI JOIN t ON s.k = t.k",
    "anti": "SELECT a FROM s LEFT ANTI JOIN t ON s.k = t.k",
    "unequal": "SELECT s.a, t.name FROM s JOIN t ON s.k < t.k",
    "crossed": "SELECT s.a, t.name FROM s CROSS JOIN t",
    "twice": "SELECT s.a, u.name FROM s JOIN t ON s.k = t.k JOIN t u ON t.k + 1 = u.k",
    "grouped": "SELECT s.a, g.n FROM s JOIN (SELECT k, count(*) AS n FROM t GROUP BY k) g"
    " ON s.k = g.k",
    "asked": "SELECT a FROM s WHERE k IN (SELECT k FROM t WHERE name <> 'y')",
    "sorted": "SELECT s.a, t.name FROM s JOIN t ON s.k = t.k ORDER BY t.name DESC, s.a PER BATCH",
}


@pytest.mark.parametrize(
    ("broadcast", "believed", "told"),
    [("10MB", None, True), ("-1", None, True), ("-1", True, True), ("-1", True, False)],
    ids=["small", "large", "told to broadcast", "does not listen"],
)
def test_each_entry_meets_the_tables_of_its_time(
    spark: SparkSession,
    tmp_path: Path,
    broadcast: str,
    believed: bool | None,
    told: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A job that is run again must read its entry again, and not what Spark has of the last one.
    Spark may broadcast tables by itself, because it is told to, or not at all."""
    if believed is not None:
        monkeypatch.setattr(EntryPlan, "_is_small", lambda entries, table: believed)
    if not told:
        monkeypatch.setattr(plan, "_broadcast", lambda frame: frame)
    threshold = "spark.sql.autoBroadcastJoinThreshold"
    before = spark.conf.get(threshold)
    spark.conf.set(threshold, broadcast)
    tables = [[(0, "x"), (1, "y")]] * 3 + [[(0, "z"), (2, "y"), (2, "w")]] * 2
    (tmp_path / "in").mkdir()
    (tmp_path / "t").mkdir()
    expected: dict[str, list[Any]] = {name: [] for name in JOINS}
    try:
        with narrows.connect(spark, state=tmp_path / "state") as session:
            _declare_joins(session, tmp_path)
            _put_table(tmp_path, tables[0])
            run = session.start(*JOINS, trigger="0 seconds")
            for number, table in enumerate(tables):
                if table != tables[max(number - 1, 0)]:
                    _put_table(tmp_path, table)
                rows = [(10 * number + k, k) for k in (2, 1, 0)]
                _put_rows(tmp_path, number, rows)
                await_that(
                    lambda: all(len(each.query.batches) > number for each in run.pipelines),  # noqa: B023
                    "the file is read",
                )
                for name, made in _joined(rows, table).items():
                    expected[name] += made
            run.stop()
            run.raise_if_failed()
            for name in JOINS:
                found = [tuple(row.values()) for row in session.rows(f"out_{name}")]
                if name != "sorted":
                    found, expected[name] = sorted(found, key=str), sorted(expected[name], key=str)
                assert found == expected[name], name
    finally:
        spark.conf.set(threshold, str(before))


def _declare_joins(session: narrows.Session, folder: Path) -> None:
    session.execute(
        f"CREATE STREAM s (a BIGINT, k BIGINT) WITH (connector = 'file', path = '{folder}/in');"
        f"CREATE TABLE t (k BIGINT, name STRING) WITH (connector = 'file', path = '{folder}/t')"
    )
    for name, select in JOINS.items():
        session.execute(
            f"CREATE SINK out_{name} WITH (connector = 'memory');"
            f"CREATE PIPELINE {name} INTO out_{name} AS {select}"
        )
        how = session.catalog.plan_pipeline(name).execution
        assert how is not None
        assert how.mode is ExecutionMode.JOBS, name


def _put_table(folder: Path, rows: list[tuple[int, str]]) -> None:
    lines = [json.dumps({"k": k, "name": name}) for k, name in rows]
    hidden = folder / "t" / ".rows"
    hidden.write_text("\n".join(lines))
    hidden.rename(folder / "t" / "rows.json")


def _put_rows(folder: Path, number: int, rows: list[tuple[int, int]]) -> None:
    hidden = folder / "in" / f".{number}"
    hidden.write_text("\n".join(json.dumps({"a": a, "k": k}) for a, k in rows))
    hidden.rename(folder / "in" / f"{number}.json")


def _joined(rows: list[tuple[int, int]], table: list[tuple[int, str]]) -> dict[str, list[Any]]:
    """What each of the pipelines makes of an entry."""
    met: dict[int, list[str | None]]
    met = {k: [name for other, name in table if other == k] for _, k in rows}
    inner = [(a, name) for a, k in rows for name in met[k]]
    return {
        "inner": inner,
        "outer": [(a, n) for a, k in rows for n in [x for x in met[k] if x != "y"] or [None]],
        "right": [(a, name) for a, k in rows for name in met[k] or [None]],
        "semi": [(a,) for a, k in rows if met[k]],
        "anti": [(a,) for a, k in rows if not met[k]],
        "unequal": [(a, name) for a, k in rows for other, name in table if k < other],
        "crossed": [(a, name) for a, _ in rows for _, name in table],
        "twice": [(a, n) for a, k in rows for _ in met[k] for o, n in table if o == k + 1],
        "grouped": [(a, len(met[k])) for a, k in rows if met[k]],
        "asked": [(a,) for a, k in rows if any(name != "y" for name in met[k])],
        "sorted": sorted(sorted(inner), key=lambda row: row[1], reverse=True),
    }


SEVERAL_TASKS = {
    "sorted": "SELECT a FROM s ORDER BY a PER BATCH",
    "joined": "SELECT a FROM s JOIN t ON s.a % 2 = t.k",
}


@pytest.mark.parametrize("name", SEVERAL_TASKS)
def test_rows_of_several_tasks_are_shuffled_for_each_entry(
    spark: SparkSession, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a job that is run again, Spark would give the rows of the last entry. It neither
    broadcasts the table nor knows that it should: all that is left is to look at its plan."""
    monkeypatch.setattr(EntryPlan, "_is_small", lambda entries, table: True)
    monkeypatch.setattr(plan, "_broadcast", lambda frame: frame)
    tasks: list[int] = []
    planned_for = EntryPlan.planned_for

    def noted(entries: EntryPlan, count: int) -> object:
        tasks.append(count)
        return planned_for(entries, count)

    monkeypatch.setattr(EntryPlan, "planned_for", noted)
    threshold = "spark.sql.autoBroadcastJoinThreshold"
    before = spark.conf.get(threshold)
    spark.conf.set(threshold, "-1")
    for folder in ("in", "t"):
        (tmp_path / folder).mkdir()
    _put_table(tmp_path, [(0, "x"), (1, "y")])
    expected = []
    try:
        with narrows.connect(spark, state=tmp_path / "state") as session:
            session.execute(
                "CREATE STREAM s (a BIGINT, filler STRING)"
                f" WITH (connector = 'file', path = '{tmp_path}/in', max_files_per_trigger = 2);"
                f"CREATE TABLE t (k BIGINT) WITH (connector = 'file', path = '{tmp_path}/t');"
                "CREATE SINK out WITH (connector = 'memory');"
                f"CREATE PIPELINE p INTO out AS {SEVERAL_TASKS[name]}"
            )
            for number in range(6):
                values = [1_000 * number + (7 * n) % 1_000 for n in range(1_000)]
                lines = [json.dumps({"a": a, "filler": "x" * 5_000}) for a in values]
                (tmp_path / "in" / f"{number}.json").write_text("\n".join(lines))
                expected += sorted(values)
            run = session.start("p", once=True).await_done(timeout=600)
            run.raise_if_failed()
            assert tasks[-3:] == [2, 2, 2], "the files are large enough"
            found = [row["a"] for row in session.rows("out")]
            assert (found if name == "sorted" else sorted(found)) == expected
    finally:
        spark.conf.set(threshold, str(before))


def test_a_table_that_is_away_for_a_moment_is_waited_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    for name in ("in", "t"):
        (tmp_path / name).mkdir()
    _put_table(tmp_path, [(0, "x")])
    with narrows.connect(spark, state=tmp_path / "state") as session:
        _declare_joins(session, tmp_path)
        run = session.start("outer", trigger="0 seconds")
        (pipeline,) = run.pipelines
        _put_rows(tmp_path, 0, [(0, 0)])
        await_that(lambda: len(pipeline.query.batches) == 1, "it is read")
        (tmp_path / "t").rename(tmp_path / "away")
        _put_rows(tmp_path, 1, [(1, 0)])
        await_that(lambda: "no file or folder" in str(run.progress["outer"]), "it is told")
        assert run.status == {"outer": "running"}
        (tmp_path / "away").rename(tmp_path / "t")
        await_that(lambda: len(pipeline.query.batches) == 2, "it goes on")
        run.stop()
        assert session.rows("out_outer") == [{"a": a, "name": "x"} for a in (0, 1)]
