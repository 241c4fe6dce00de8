"""The state folder: places by name, and nothing outside of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from narrows import Catalog
from narrows.cli.main import app
from narrows.connectors.entry_log import EntryLog
from narrows.demand import NOTHING
from narrows.errors import Code, NarrowsError
from narrows.logical.nodes import Node
from narrows.shared.log import SharedEntry, SharedLog
from narrows.shared.registry import (
    CONSUMER_LOGS,
    TASKS,
    TASKS_SUFFIX,
    ConsumerRegistry,
    consumers_of,
)
from narrows.state.folder import StateFolder

PLACES: list[Callable[[StateFolder, str], Path]] = [
    StateFolder.checkpoint,
    StateFolder.entry_logs,
    lambda state, name: state.entry_log(name, name, 3),
    StateFolder.clock,
    StateFolder.record,
    StateFolder.closed_mark,
    StateFolder.dead_letters,
    StateFolder.all_statistics,
    lambda state, name: state.statistics(name, name),
    StateFolder.table_statistics,
    StateFolder.projection,
    StateFolder.projection_record,
    StateFolder.rows,
    StateFolder.shared,
]
NAMES = ("../../precious", "/etc", "..", ".", "a/b", "*", "\0", "x\ny", "..\\..", "x" * 4000)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NAMES)
def test_no_name_leaves_the_folder(
    tmp_path: Path, place: Callable[[StateFolder, str], Path], name: str
) -> None:
    path = place(StateFolder(tmp_path / "state"), name)
    path.mkdir(parents=True)
    assert path.resolve() == path
    inside = path.relative_to(tmp_path / "state").parts
    assert len(inside) == len(place(StateFolder("s"), "plain").parts) - 1


@pytest.mark.parametrize("place", PLACES)
def test_an_empty_name_is_the_folder_of_nobody(place: Callable[[StateFolder, str], Path]) -> None:
    with pytest.raises(NarrowsError) as caught:
        place(StateFolder("state"), "")
    assert caught.value.code == Code.INVALID_NAME


@pytest.mark.parametrize("name", ["../../precious", "", "checkpoints/../..", "*", "p*"])
@pytest.mark.parametrize("command", ["reset", "dead-letters"])
def test_commands_touch_nothing_outside(tmp_path: Path, command: str, name: str) -> None:
    state = tmp_path / "deep" / "state"
    for folder in (
        "checkpoints",
        "files",
        "clocks",
        "newest",
        "statistics",
        "pipelines",
        "dead_letters",
    ):
        (state / folder / "p").mkdir(parents=True)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious.json").write_text("{}")
    (tmp_path / "deep" / "precious").mkdir()
    (tmp_path / "deep" / "precious.json").write_text("{}")
    letter = {"file": "f", "offset": 0, "reason": "secret", "payload": "secret"}
    (tmp_path / "deep" / "precious" / "x.ndjson").write_text(json.dumps(letter))
    before = sorted(tmp_path.rglob("*"))
    result = CliRunner().invoke(app, [command, name, "--state", str(state)])
    assert sorted(tmp_path.rglob("*")) == before
    assert "secret" not in result.output
    assert "Traceback" not in result.output
    assert len(result.output.splitlines()) == 1
    assert result.exit_code == (1 if command == "reset" or not name else 0)


# --- names have no case ---------------------------------------------------------------------------


def plan(
    stream: str = "s",
    alias: str = "",
    path: str = "in",
    more: str = "",
    sql: str = "SELECT b, max(a) FROM {} GROUP BY b",
    settings: str = "",
) -> Node:
    catalog = Catalog()
    catalog.execute(
        f"{settings} CREATE STREAM {stream} (a BIGINT, b STRING)"
        f" WITH (connector = 'file', path = '{path}'{more});"
        "CREATE SINK o WITH (connector = 'memory');"
        f"CREATE PIPELINE p INTO o AS {sql.format(f'{stream} {alias}')}"
    )
    return catalog.plan_pipeline("p").physical


def claimed(tmp_path: Path, name: str, node: Node) -> StateFolder:
    state = StateFolder(tmp_path / "state")
    state.claim(name, node)
    state.checkpoint(name).mkdir(parents=True, exist_ok=True)
    return state


def test_a_pipeline_and_a_stream_in_another_case_are_the_same(tmp_path: Path) -> None:
    claimed(tmp_path, "Orders", plan("Events"))
    state = claimed(tmp_path, "orders", plan("events"))
    assert state.checkpoint("Orders") == state.checkpoint("orders")
    assert state.knows("ORDERS")
    state.reset("ORDERS")
    assert not state.knows("orders")
    assert not state.checkpoint("Orders").exists()


def test_an_alias_has_no_case_either(tmp_path: Path) -> None:
    claimed(tmp_path, "p", plan(alias="X"))
    claimed(tmp_path, "p", plan(alias="x"))


@pytest.mark.parametrize("path", ["s.json", "S (old)", "S by turns"])
def test_paths_have_a_case(tmp_path: Path, path: str) -> None:
    claimed(tmp_path, "p", plan(path=path))
    with pytest.raises(NarrowsError, match="what it reads changed"):
        claimed(tmp_path, "p", plan(path=path.swapcase()))


@pytest.mark.parametrize("kind", ["pipelines", "files", "checkpoints"])
def test_what_another_version_kept_is_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / "state" / kind).mkdir(parents=True)
    with pytest.raises(NarrowsError, match="is of version 1, and this Narrows keeps version 2"):
        StateFolder(tmp_path / "state").lock()
    (tmp_path / "state" / "version").write_text("3\n")
    with pytest.raises(NarrowsError, match="is of version 3"):
        StateFolder(tmp_path / "state").lock()


def test_a_new_folder_says_its_version(tmp_path: Path) -> None:
    (tmp_path / "spark.log").touch()  # Spark has begun to write there
    state = StateFolder(tmp_path)
    state.lock()
    state.unlock()
    state.lock()
    state.unlock()
    assert (tmp_path / "version").read_text() == "2"


def test_several_threads_of_a_process_may_take_the_lock(tmp_path: Path) -> None:
    for number in range(20):
        state, together = StateFolder(tmp_path / str(number)), threading.Barrier(4)

        def take(state: StateFolder = state, together: threading.Barrier = together) -> None:
            together.wait(60)
            state.lock()

        with ThreadPoolExecutor(4) as threads:
            for taken in [threads.submit(take) for _ in range(4)]:
                taken.result()
        with pytest.raises(NarrowsError, match="is running pipelines"):
            StateFolder(state.path).lock()
        state.unlock()


# --- what a checkpoint depends on -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT b, max(a) FROM {} GROUP BY b", "SELECT b, min(a) FROM {} GROUP BY b"),
        ("SELECT DISTINCT b FROM {}", "SELECT b FROM {}"),
        ("SELECT DISTINCT a FROM {}", "SELECT DISTINCT a, b FROM {}"),
        ("SELECT DISTINCT abs(a) FROM {}", "SELECT DISTINCT hash(a) FROM {}"),
        ("SELECT DISTINCT abs(a) FROM {}", "SELECT DISTINCT a FROM {}"),
        ("SELECT lag(a) FROM {}", "SELECT lag(a, 2) FROM {}"),
        ("SELECT a FROM {} GROUP BY countwindow(2)", "SELECT a FROM {} GROUP BY countwindow(3)"),
        ("SELECT a FROM {}", "SELECT a FROM {} LIMIT 5"),
    ],
)
def test_what_keeps_state_must_stay_as_it_is(tmp_path: Path, before: str, after: str) -> None:
    claimed(tmp_path, "p", plan(sql=before))
    claimed(tmp_path, "p", plan(sql=before))
    with pytest.raises(NarrowsError, match="what it remembers between rows changed"):
        claimed(tmp_path, "p", plan(sql=after))


@pytest.mark.parametrize(
    ("sql", "fits"),
    [
        ("SELECT lag(a) FROM {}", False),
        ("SELECT a FROM {} GROUP BY countwindow(2)", False),
        ("SELECT max(a) FROM {} GROUP BY countwindow(2)", False),
        ("SELECT DISTINCT abs(a) FROM {}", False),
        ("SELECT b, max(a) FROM {} GROUP BY b", True),
        ("SELECT max(a) FROM {} GROUP BY tumblingwindow('ss', 2)", True),
    ],
)
def test_rows_that_another_version_remembers_are_refused(
    tmp_path: Path, sql: str, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What we keep has a form, which may change. What Spark keeps has its own."""
    with monkeypatch.context() as other:
        other.setattr("narrows.state.plan_shape.FORM", "another form")
        claimed(tmp_path, "p", plan(sql=sql))
    if fits:
        claimed(tmp_path, "p", plan(sql=sql))
        return
    with pytest.raises(NarrowsError, match="what it remembers between rows") as raised:
        claimed(tmp_path, "p", plan(sql=sql))
    assert raised.value.code == Code.CHECKPOINT_MISMATCH
    assert "narrows reset p" in str(raised.value)


@pytest.mark.parametrize("after", ["SELECT b", "SELECT a, b"])
def test_rows_that_tasks_keep_have_the_columns_that_they_had(tmp_path: Path, after: str) -> None:
    timed = ", eventtime = 'a'"
    window = "FROM {} WHERE a > 1 GROUP BY tumblingwindow('ss', 2)"
    claimed(tmp_path, "p", plan(sql=f"SELECT a {window}", more=timed))
    claimed(tmp_path, "p", plan(sql=f"SELECT a + 1 AS c {window}", more=timed))
    with pytest.raises(NarrowsError, match="what it remembers between rows changed"):
        claimed(tmp_path, "p", plan(sql=f"{after} {window}", more=timed))


def test_rows_of_a_window_are_not_taken_for_its_aggregates(tmp_path: Path) -> None:
    """What an earlier version began goes on with rows, if it is told to."""
    sql = "SELECT max(a) FROM {} GROUP BY countwindow(2)"
    rows = plan(sql=sql, settings="SET narrows.rule.streaming_aggregation_rewrite = off;")
    claimed(tmp_path, "p", rows)
    with pytest.raises(NarrowsError, match="what it remembers between rows changed"):
        claimed(tmp_path, "p", plan(sql=sql))
    claimed(tmp_path, "p", rows)


# --- shared streams -------------------------------------------------------------------------------


def test_a_reset_forgets_no_other_consumer(tmp_path: Path) -> None:
    """Neither `p#1`, which is another pipeline, nor what begins with the same letters."""
    state = StateFolder(tmp_path)
    registry = ConsumerRegistry(state.shared("S"))
    others = [*consumers_of("p#1", 1), *consumers_of("pp", 2), *consumers_of("../p", 1)]
    mine = [*consumers_of("P", 2), *consumers_of("p", 1)]
    assert not set(others) & set(mine)
    registry.register(dict.fromkeys([*others, *mine], NOTHING))
    logs = state.shared("S") / CONSUMER_LOGS
    for consumer in (*others, *mine):
        EntryLog(logs / consumer).append({"after": -1, "upto": 0})
    state.reset("p")
    assert sorted(registry.snapshot().positions) == sorted(others)
    assert sorted(log.name for log in logs.iterdir()) == sorted(others)


def _offsets(state: StateFolder, *numbers: int) -> None:
    folder = state.checkpoint("p") / "offsets"
    folder.mkdir(parents=True)
    for number in numbers:
        (folder / str(number)).write_text("")
        (folder / f".{number}.crc").write_text("")


def test_batches_of_a_new_life_have_new_numbers(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    state.reset("p")
    assert state.first_batch("p") == 0, "it had no life yet"
    for first in (10, 20):
        _offsets(state, 8, 9)
        state.reset("p")
        assert state.first_batch("P") == first
    registry = ConsumerRegistry(state.shared("s"))
    registry.register(dict.fromkeys(consumers_of("p", 1), NOTHING))
    SharedLog(state.shared("s")).publish(SharedEntry(0, 1, NOTHING, ()))
    registry.advance({consumers_of("p", 1)[0]: 0})
    state.reset("p")
    assert state.first_batch("p") == 22, "the entry after its position may have been published"
    tasks = state.shared("s") / TASKS / f"p{TASKS_SUFFIX}"
    tasks.parent.mkdir()
    tasks.write_text("")
    state.reset_stream("s")
    assert state.first_batch("p") == 24
    assert not state.shared("s").exists()
