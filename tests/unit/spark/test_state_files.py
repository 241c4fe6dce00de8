"""Small files of the state folder that are damaged or cannot be written: one line, or they heal."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import narrows
from narrows.connectors.entry_log import EntryLog
from narrows.demand import ALL
from narrows.shared.log import SharedEntry, SharedLog
from narrows.shared.registry import ConsumerRegistry
from narrows.spark.run.table_statistics import load_statistics
from narrows.spark.windows.closing import ClosedMark
from narrows.state.folder import VERSION, StateFolder
from narrows.worker.dead_letters import read_dead_letters
from support.damage import DAMAGES, flip, truncate

Damage = Callable[[Path], None]
CATALOG = """
    CREATE STREAM s (a BIGINT) WITH (connector = 'file', path = 'in');
    CREATE TABLE t (a BIGINT) WITH (connector = 'file', path = 'table');
    CREATE SINK out WITH (connector = 'file', path = 'out');
    CREATE PIPELINE p INTO out AS SELECT a FROM s;
"""


@pytest.fixture
def catalog() -> narrows.Catalog:
    catalog = narrows.Catalog()
    catalog.execute(CATALOG)
    return catalog


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_record(damage: Damage, catalog: narrows.Catalog, tmp_path: Path) -> None:
    state, plan = StateFolder(tmp_path), catalog.plan_pipeline("p").physical
    state.claim("p", plan)
    path = state.record("p")
    damage(path)
    if path.exists():
        with pytest.raises(narrows.NarrowsError, match="is damaged") as raised:
            state.claim("p", plan)
        assert str(path) in str(raised.value)
        assert "hint: restore it" in str(raised.value)
        state.reset("p")
    state.claim("p", plan)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_the_version(damage: Damage, tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    state.lock()
    state.unlock()
    (tmp_path / "entries").mkdir()
    path = tmp_path / "version"
    damage(path)
    if path.exists():
        with pytest.raises(narrows.NarrowsError, match="holds no version") as raised:
            state.lock()
        assert str(path) in str(raised.value)
    else:
        state.lock()
        state.unlock()
        assert path.read_text() == VERSION, "it is written again"


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_the_lock(damage: Damage, tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    state.lock()
    state.unlock()
    damage(tmp_path / "lock")
    state.lock()
    flip(tmp_path / "lock")
    with pytest.raises(narrows.NarrowsError, match="is running pipelines"):
        StateFolder(tmp_path).lock()
    state.unlock()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_the_mark_of_closed_windows(damage: Damage, tmp_path: Path) -> None:
    commits = tmp_path / "checkpoint" / "commits"
    commits.mkdir(parents=True)
    (commits / "0").write_text('v1\n{"nextBatchWatermarkMs":100}')
    path = tmp_path / "pipelines" / "p.closed"
    ClosedMark(path, tmp_path / "checkpoint").set(100)
    assert ClosedMark(path, tmp_path / "checkpoint").holds
    ClosedMark(path, tmp_path / "checkpoint").set(100)
    damage(path)
    assert not ClosedMark(path, tmp_path / "checkpoint").holds, "they are closed once more"


@pytest.mark.parametrize("damage", [d for n, d in DAMAGES.items() if n != "missing"])
def test_the_newest_commit(damage: Damage, tmp_path: Path) -> None:
    commits = tmp_path / "commits"
    commits.mkdir()
    (commits / "0").write_text('v1\n{"nextBatchWatermarkMs":100}')
    damage(commits / "0")
    with pytest.raises(narrows.NarrowsError, match="is damaged") as raised:
        ClosedMark(tmp_path / "p.closed", tmp_path).keep()
    assert str(commits / "0") in str(raised.value)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_was_counted_of_a_table(
    damage: Damage, catalog: narrows.Catalog, tmp_path: Path
) -> None:
    path = tmp_path / "t.json"
    path.write_text("narrows-table-1 00000000\n{}")
    damage(path)
    (source,) = [source for source in catalog.sources if source.name == "t"]
    assert load_statistics(path, source) is None, "the planner does without"


@pytest.mark.parametrize("damage", [truncate, flip])
def test_dead_letters(damage: Damage, tmp_path: Path) -> None:
    path = tmp_path / "0.ndjson"
    path.write_text(json.dumps({"source": "s", "reason": "é" * 20, "payload": "x"}) + "\n")
    assert len(list(read_dead_letters(tmp_path))) == 1
    damage(path)
    with pytest.raises(narrows.NarrowsError, match="is damaged") as raised:
        list(read_dead_letters(tmp_path))
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_registry(damage: Damage, tmp_path: Path) -> None:
    folder = tmp_path / "shared" / "s"
    registry = ConsumerRegistry(folder)
    registry.register({"p": ALL})
    SharedLog(folder).publish(SharedEntry(0, 1, ALL, ()))
    damage(folder / "registry")
    with pytest.raises(narrows.NarrowsError, match="is damaged") as raised:
        registry.register({"p": ALL})
    assert str(folder / "registry") in str(raised.value)
    state = StateFolder(tmp_path)
    with pytest.raises(narrows.NarrowsError, match="is damaged"):
        state.reset("p")
    state.reset_stream("s")
    registry.register({"p": ALL})


# --- a full disk ----------------------------------------------------------------------------------


def _full(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_one_line(
    catalog: narrows.Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, plan = StateFolder(tmp_path / "state"), catalog.plan_pipeline("p").physical
    for act in (state.lock, lambda: state.claim("p", plan)):
        with monkeypatch.context() as full:
            full.setattr(os, "write", _full)
            with pytest.raises(narrows.NarrowsError, match="No space left on device") as raised:
                act()
        assert str(tmp_path / "state") in str(raised.value)
        assert "hint: make room" in str(raised.value)
        act()
    state.unlock()


def test_a_log_goes_on_when_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = EntryLog(tmp_path)
    log.append(["a"])
    with monkeypatch.context() as full:
        full.setattr(os, "write", _full)
        with pytest.raises(OSError, match="No space left on device") as raised:
            log.append(["b"])
        assert str(tmp_path) in str(raised.value.filename)
    assert log.append(["b"]) == 1
    assert list(EntryLog(tmp_path).entries()) == [["a"], ["b"]]
    assert len(os.listdir(tmp_path)) == 2, "and nothing is left half written"


def test_a_state_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(narrows.NarrowsError, match="Not a directory") as raised:
        StateFolder(tmp_path / "file" / "state").lock()
    assert "--state" in str(raised.value)
