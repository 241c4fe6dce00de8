"""Two streams that tasks join give the rows that a query over the files gives: for every kind of
join and type of key, over several runs, whatever an entry has."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.connectors.entry_log import Entry
from narrows.errors import NarrowsError
from narrows.physical.execution import ExecutionMode
from narrows.spark.keeping.memory_steps import MemorySteps
from narrows.worker.keeping import fewer_files
from narrows.worker.keeping.steps import StepLog
from support.kept_calls import COLUMNS, random_columns
from support.two_tasks import two_tasks

SECOND = 1_000_000
ROWS, FILES = 160, 4
"""Of each stream: a row a second, in four files."""
RUNS = (("l0", "r0"), ("r1",), ("l1", "l2", "r2"), ("l3", "r3"), ("l4", "r4"))
"""Files that are read together: of both streams, of one, by one task, by two, and by one again. The
last ones are of long afterwards: then no row waits any more."""
SOON = "r.at BETWEEN l.at - INTERVAL '5' SECOND AND l.at + INTERVAL '20' SECOND"
KINDS = {"i": "JOIN", "l": "LEFT JOIN", "r": "RIGHT JOIN", "f": "FULL JOIN"}
QUERIES = {
    **{
        f"by_{one}_{other}": "SELECT l.n, r.n AS other, r.s FROM l JOIN r"
        f" ON l.{one} = r.{one} AND r.{other} = l.{other} AND {SOON}"
        for one, other in ("bt", "io", "ly", "fw", "dm", "sp")
    },
    **{
        f"kind_{name}": f"SELECT l.n, r.n AS other, l.s, r.d FROM l {kind} r"
        f" ON l.s = r.s AND l.b = r.b AND {SOON}"
        for name, kind in KINDS.items()
    },
    "once": f"SELECT l.n, l.s FROM l LEFT SEMI JOIN r ON l.s = r.s AND {SOON}",
    "asked": "SELECT l.n, r.n AS other FROM l LEFT JOIN r"
    f" ON l.s = r.s AND l.i > 3 AND r.b AND {SOON}",
    "before": "SELECT l.n, r.n AS other FROM l FULL JOIN r ON l.s = r.s AND r.at < l.at"
    " AND r.at >= l.at - INTERVAL '1' MINUTE",
    "at_once": "SELECT l.n, r.n AS other FROM l LEFT JOIN r ON l.at = r.at",
    "for_ever": "SELECT l.n, r.n AS other FROM l JOIN r"
    " ON l.s = r.s AND l.n < r.n + 5 AND l.w = r.w",
    "days": "SELECT l.n, r.n AS other FROM l JOIN r ON l.s = r.s AND l.b"
    " AND r.at BETWEEN l.at AND l.at + INTERVAL '1' DAY",
    "types": f"SELECT l.n, r.n AS other FROM l JOIN r ON l.n = r.i AND {SOON}",
    "made": "SELECT x.n, y.n AS other, x.u"
    " FROM (SELECT n, at, upper(s) AS u FROM l WHERE n % 3 > 0) x"
    " JOIN (SELECT n, upper(s) AS u FROM r WHERE n % 2 = 0) y ON x.u = y.u",
    "named": f"SELECT l.n, r.n AS other, t.name FROM l JOIN r ON l.s = r.s AND {SOON}"
    " JOIN t ON t.id = l.n % 5",
    "nested": "SELECT x.n, y.n AS other, to_json(x.p) AS p, to_json(y.q) AS q"
    " FROM (SELECT n, s, struct(n AS a, array(s, 'b') AS b) AS p FROM l WHERE n % 4 = 0) x"
    " JOIN (SELECT n, s, array(struct(w, d)) AS q FROM r WHERE n % 3 = 0) y ON x.s = y.s",
    "itself": "SELECT a.n, b.n AS other FROM l a JOIN l b ON a.n = b.n + 1 AND a.s = b.s",
    "split": "WITH x AS (SELECT n, s FROM l) SELECT a.n, b.n AS other FROM x a JOIN x b"
    " ON a.n = b.n + 1 WHERE a.s = 'a'",
    "shared": "SELECT a.n, b.n AS other FROM both a JOIN both b ON a.n = b.n + 1",
}
OFF, ON = (f"SET narrows.rule.stream_join_into_tasks = {setting}" for setting in ("off", "on"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(tmp_path_factory.mktemp("joined"))
    random = Random(29)
    for side in "lr":
        for part in range(FILES + 1):
            first, count = part * ROWS // FILES, ROWS // FILES
            if part == FILES:
                first, count = 1_000_000, 1
            numbers = list(range(first, first + count))
            seconds = numbers if part == FILES else [n + random.randrange(-3, 4) for n in numbers]
            times = pa.array([1_700_000_000 * SECOND + SECOND * second for second in seconds])
            table = pa.table(
                [
                    times.cast(pa.timestamp("us", "UTC")),
                    pa.array(numbers, pa.int64()),
                    *random_columns(random, count),
                ],
                names=["at", "n", *COLUMNS],
            )
            pq.write_table(table, folder / f"{side}{part}.parquet")
    return folder


@pytest.fixture
def session(small_data: SparkSession, tmp_path: Path) -> Iterator[narrows.Session]:
    schema = ", ".join(f"{name} {dtype}" for name, (dtype, _, _) in COLUMNS.items())
    for side in "lr":
        (tmp_path / side).mkdir()
    (tmp_path / "t.json").write_text('{"id": 1, "name": "one"}\n{"id": 3, "name": "three"}\n')
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        for name, place, options in (
            ("l", "l", ", eventtime = 'at', watermark = '10 seconds'"),
            ("r", "r", ", eventtime = 'at', watermark = '8 seconds'"),
            ("both", "l", ", shared = true"),
        ):
            session.execute(
                f"CREATE STREAM {name} (at TIMESTAMP, n BIGINT, {schema}) WITH (connector = 'file',"
                f" format = 'parquet', path = '{tmp_path / place}'{options})"
            )
        session.execute(
            "CREATE TABLE t (id BIGINT, name STRING)"
            f" WITH (connector = 'file', path = '{tmp_path / 't.json'}')"
        )
        yield session


def _declare(session: narrows.Session, *names: str, suffix: str = "") -> list[str]:
    for name in names:
        session.execute(f"CREATE SINK out_{name}{suffix} WITH (connector = 'memory')")
        into = f"CREATE PIPELINE {name}{suffix} INTO out_{name}{suffix}"
        session.execute(f"{into} AS {QUERIES[name]}")
    return [f"{name}{suffix}" for name in names]


def _run(session: narrows.Session, *names: str) -> set[ExecutionMode]:
    run = session.start(*names, once=True)
    run.await_done(timeout=300)
    plans = [pipeline.plan.execution for pipeline in run.pipelines]
    return {how.mode for how in plans if how is not None}


def _put(folder: Path, tmp_path: Path, parts: Sequence[str]) -> None:
    for part in parts:
        shutil.copy(folder / f"{part}.parquet", tmp_path / part[0])


def _rows(rows: Sequence[dict[str, object]]) -> list[str]:
    """Without those of long afterwards, which may wait still."""
    return sorted(repr(row) for row in rows if 1_000_000 not in (row["n"], row.get("other")))


def _expected(session: narrows.Session, name: str) -> list[str]:
    return _rows([row.asDict() for row in session.query(QUERIES[name]).collect()])


def test_tasks_join_as_a_query_does(
    session: narrows.Session, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, tasks = _declare(session, *QUERIES), list[int]()
    run = MemorySteps.run

    def counted(self: MemorySteps, number: int, entry: Entry, count: int, *, ends: bool) -> int:
        tasks.append(count)
        return run(self, number, entry, count, ends=ends)

    monkeypatch.setattr(MemorySteps, "run", counted)
    monkeypatch.setattr(fewer_files, "_MANY_FILES", 3)
    for parts in RUNS:
        _put(folder, tmp_path, parts)
        with two_tasks(session.spark) if len(parts) == 3 else nullcontext():
            assert _run(session, *names) == {ExecutionMode.KEYED}
        assert tasks[-1] == (2 if len(parts) == 3 else 1)
    for name in names:
        expected = _expected(session, name)
        assert expected, name
        assert _rows(session.rows(f"out_{name}")) == expected, name


def test_rows_are_given_up_in_time(session: narrows.Session, folder: Path, tmp_path: Path) -> None:
    """Nothing is kept in the end of what no row can match any more, and what comes too late is
    counted, and not joined."""
    (name,) = _declare(session, "kind_f")
    for parts in RUNS:
        _put(folder, tmp_path, parts)
        _run(session, name)
    for place in range(2):
        last = StepLog(tmp_path / "state" / "remembered" / name / str(place)).last()
        assert last is not None
        assert sum(file.rows for file in last.files) <= 1
    given = _rows(session.rows(f"out_{name}"))
    shutil.copy(folder / "r1.parquet", tmp_path / "r" / "again.parquet")
    run = session.start(name, once=True)
    run.await_done(timeout=300)
    assert _rows(session.rows(f"out_{name}")) == given
    assert run.progress[name]["late"] == ROWS // FILES


def test_what_spark_has_kept_goes_on(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    """A pipeline that was begun before tasks could join, until it is reset."""
    (name,) = _declare(session, "kind_i")
    session.execute(OFF)
    _put(folder, tmp_path, RUNS[0])
    assert _run(session, name) == {ExecutionMode.STREAM}
    session.execute(ON)
    for parts in RUNS[1:]:
        _put(folder, tmp_path, parts)
        assert _run(session, name) == {ExecutionMode.STREAM}
    assert _rows(session.rows(f"out_{name}")) == _expected(session, name)
    session.state.reset(name)
    assert _run(session, name) == {ExecutionMode.KEYED}


def test_another_select_list_is_refused(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    """Rows are kept with the columns that the query had."""
    (name,) = _declare(session, "by_s_p")
    _put(folder, tmp_path, RUNS[0])
    _run(session, name)
    session.execute(f"DROP PIPELINE {name}")
    changed = QUERIES["by_s_p"].replace("r.s", "r.d")
    session.execute(f"CREATE PIPELINE {name} INTO out_{name} AS {changed}")
    with pytest.raises(NarrowsError, match="does not fit"):
        session.start(name, once=True)


@pytest.mark.parametrize("rule", [ON, OFF])
def test_rows_that_are_kept_encoded_are_not_taken_for_others(
    session: narrows.Session, folder: Path, tmp_path: Path, rule: str
) -> None:
    """Columns that nobody computes with are kept as readers have encoded them, in one column."""
    session.execute(rule)
    session.execute(f"CREATE SINK files WITH (connector = 'file', path = '{tmp_path / 'out'}')")
    query = "CREATE PIPELINE p INTO files AS SELECT l.i, r.s FROM l JOIN r ON l.n = r.n"
    session.execute(query)
    _put(folder, tmp_path, ("l0",))
    _run(session, "p")
    session.execute(f"DROP PIPELINE p; {query.replace('l.i', 'l.t')}")
    _put(folder, tmp_path, ("r0",))
    with pytest.raises(NarrowsError, match="does not fit"):
        session.start("p", once=True)
