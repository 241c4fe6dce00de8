"""The state folder: places by name, and nothing outside of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from narrows import Catalog
from narrows.cli.main import app
from narrows.demand import NOTHING
from narrows.errors import Code, NarrowsError
from narrows.logical.nodes import Node
from narrows.shared.registry import Registry, consumers_of
from narrows.state.folder import StateFolder

PLACES: list[Callable[[StateFolder, str], Path]] = [
    StateFolder.checkpoint,
    StateFolder.file_logs,
    lambda state, name: state.file_log(name, 3),
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
    for folder in ("checkpoints", "files", "clocks", "statistics", "pipelines", "dead_letters"):
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
) -> Node:
    catalog = Catalog()
    catalog.execute(
        f"CREATE STREAM {stream} (a BIGINT, b STRING)"
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


def test_what_an_older_version_kept_is_not_passed_over(tmp_path: Path) -> None:
    older = tmp_path / "state" / "pipelines" / "My Orders.json"
    older.parent.mkdir(parents=True)
    older.write_text("{}")
    for name in ("My Orders", "my orders"):
        with pytest.raises(NarrowsError, match="under the name `My Orders`"):
            claimed(tmp_path, name, plan())
    claimed(tmp_path, "orders", plan())
    older.unlink()
    claimed(tmp_path, "My Orders", plan())
    claimed(tmp_path, "my orders", plan())
    (tmp_path / "state" / "shared" / "S").mkdir(parents=True)
    with pytest.raises(NarrowsError, match="has kept what `s` has done"):
        claimed(tmp_path, "q", plan(more=", shared = true"))


# --- what a checkpoint depends on -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT b, max(a) FROM {} GROUP BY b", "SELECT b, min(a) FROM {} GROUP BY b"),
        ("SELECT DISTINCT b FROM {}", "SELECT b FROM {}"),
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
        ("SELECT b, max(a) FROM {} GROUP BY b", True),
        ("SELECT max(a) FROM {} GROUP BY tumblingwindow('ss', 2)", True),
    ],
)
def test_rows_that_an_older_version_remembers_are_refused(
    tmp_path: Path, sql: str, fits: bool
) -> None:
    """It kept them as a pickle, and a pickle is code. What Spark keeps has not changed."""
    record = claimed(tmp_path, "p", plan(sql=sql)).record("p")
    older = json.loads(record.read_text("utf-8"))
    del older["form"]
    record.write_text(json.dumps(older), "utf-8")
    if fits:
        claimed(tmp_path, "p", plan(sql=sql))
        return
    with pytest.raises(NarrowsError, match="the form in which it keeps") as raised:
        claimed(tmp_path, "p", plan(sql=sql))
    assert raised.value.code == Code.CHECKPOINT_MISMATCH
    assert "narrows reset p" in str(raised.value)


# --- shared streams -------------------------------------------------------------------------------


def test_a_reset_forgets_no_other_consumer(tmp_path: Path) -> None:
    """Neither `p#1`, which is another pipeline, nor what begins with the same letters."""
    state = StateFolder(tmp_path)
    registry = Registry(state.shared("S"))
    others = [*consumers_of("p#1", 1), *consumers_of("pp", 2), *consumers_of("../p", 1)]
    mine = [*consumers_of("P", 2), *consumers_of("p", 1)]
    assert not set(others) & set(mine)
    registry.register(dict.fromkeys([*others, *mine], NOTHING))
    state.reset("p")
    assert sorted(registry.snapshot().positions) == sorted(others)
