"""A state folder with all that runs leave, to be damaged file by file."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession

import narrows
from narrows.worker.dead_letters import read_dead_letters

BASE, QUERIED, WINDOWS, GROUPS, KEYED, SHARED, QUICK = "p", "c", "w", "g", "k", "q", "l"
PIPELINES = (BASE, QUERIED, WINDOWS, GROUPS, KEYED, SHARED, QUICK)
_NUMBERS = re.compile(r"\d+")
_LEFT_OUT = re.compile(
    r"spark\.log|state/|segments/|\.lock$|registry\.lock|/rows/|parquet|_SUCCESS"
)
"""What is Spark's own in the state of windows, and what has no contents."""


class StateUnderTest:
    """Runs in `work`, of which `kept` is a copy: paths must not change between the two."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._kept = folder / "kept"
        self.work = folder / "work"
        self.state = self.work / "state"
        for name in ("in", "table"):
            (self.work / name).mkdir(parents=True)
        (self.work / "table" / "0.json").write_text('{"a": 1}\n{"a": 2}\n')
        for number in range(2):
            self._put(number)
            with self.session() as session:
                session.execute("ANALYZE TABLE t; CREATE OR REPLACE PROJECTION c ON t (a)")
                for name in PIPELINES:
                    session.start(name, once=True).await_done(timeout=600)
        shutil.copytree(self.work, self._kept)

    def kinds(self) -> list[str]:
        """One file of each kind that there is, the newest, as a path in the state folder."""
        return sorted({self.kind(name): name for name in self.files()}.values())

    def kind(self, name: str) -> str:
        return _NUMBERS.sub("#", name)

    def files(self) -> list[str]:
        """All of them, in order."""
        folder = self._kept / "state"
        names = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        return sorted(name for name in names if not _LEFT_OUT.search(name))

    def restore(self) -> None:
        shutil.rmtree(self.work)
        shutil.copytree(self._kept, self.work)

    def go_on(self, pipelines: tuple[str, ...] = PIPELINES) -> None:
        """What a user does next; fails if anything that was written is not as it should be."""
        self._put(2)
        list(read_dead_letters(self.state / "dead_letters" / "s"))
        with self.session() as session:
            assert [row[0] for row in session.query("SELECT a FROM t ORDER BY a").collect()] == [
                1,
                2,
            ]
            for name in pipelines:
                session.start(name, once=True).await_done(timeout=600)
        for name in pipelines:
            wanted = [0, 1, 2]
            found = sorted(self._rows(name))
            assert found == wanted, f"{name}: {found}"

    def session(self) -> narrows.Session:
        session = narrows.connect(self._spark, state=self.state)
        files = "connector = 'file', path"
        session.execute(
            f"""
            CREATE TABLE t (a BIGINT) WITH ({files} = '{self.work}/table');
            CREATE STREAM s (a BIGINT) WITH ({files} = '{self.work}/in');
            CREATE STREAM e (a BIGINT) WITH ({files} = '{self.work}/in',
              eventtime = 'a', eventtime_unit = 's');
            CREATE STREAM h (a BIGINT) WITH ({files} = '{self.work}/in', shared = true,
              start_at = 'earliest');
            """
        )
        selects = {
            BASE: "SELECT a FROM s",
            QUERIED: "SELECT last(a) AS a FROM s GROUP BY a",
            WINDOWS: "SELECT max(a) AS a FROM e GROUP BY tumblingwindow('ss', 1)",
            GROUPS: "SELECT a, count(*) AS n FROM s GROUP BY a",
            KEYED: "SELECT a, lag(a) AS before FROM s",
            SHARED: "SELECT a FROM h",
            QUICK: "SELECT a FROM s",
        }
        for name, select in selects.items():
            session.execute(
                f"CREATE SINK {name}_out WITH ({files} = '{self.work}/out/{name}');"
                f"CREATE PIPELINE {name} INTO {name}_out"
                f" WITH (latency = '{'low' if name == QUICK else 'normal'}') AS {select}"
            )
        return session

    def _put(self, number: int) -> None:
        path = self.work / "in" / f"{number}.json"
        path.write_text(f"{json.dumps({'a': number})}\nbroken\n")

    def _rows(self, pipeline: str) -> Iterator[int]:
        for path in (self.work / "out" / pipeline).glob("[!.]*.json"):
            for line in path.read_text().splitlines():
                yield json.loads(line)["a"]


def is_told(error: narrows.NarrowsError, name: str) -> bool:
    """Does an error say which file is wrong? Of an entry, or a step, that is missing, its log is
    named."""
    in_log = name.endswith(".entries") or "/steps/" in name
    named = str(Path(name).parent) if in_log else name
    return "Traceback" not in str(error) and named in str(error)


def check_case(under_test: StateUnderTest, name: str, damage: Callable[[Path], None]) -> str:
    """Damages a file and goes on; how it was taken, or what is wrong with that."""
    under_test.restore()
    damage(under_test.state / name)
    pipelines = (name.split("/")[1].partition(".")[0],) if "/" in name else (BASE,)
    try:
        under_test.go_on(pipelines if pipelines[0] in PIPELINES else PIPELINES)
    except narrows.NarrowsError as error:
        return f"told: {error.problems[0].message}" if is_told(error, name) else f"WRONG: {error}"
    except AssertionError as error:
        return f"WRONG: {error}"
    except BaseException as error:
        return f"WRONG: {type(error).__name__}: {error}"
    return "healed"
