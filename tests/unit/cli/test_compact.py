"""`narrows compact`: what it does, and when it will not."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import narrows
from narrows.cli.main import app
from narrows.state.folder import StateFolder

PIPELINES = """
CREATE STREAM s (a INT) WITH (connector = 'file', path = '{folder}/in');
CREATE SINK out WITH (connector = 'file', path = '{folder}/out');
CREATE SINK other WITH (connector = 'memory', topic = 't');
CREATE PIPELINE p INTO OUT, other AS SELECT a FROM s;
"""
READ_AGAIN = "CREATE STREAM again (a INT) WITH (connector = 'file', path = '{folder}/out');"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.sql").write_text(PIPELINES.format(folder=tmp_path))
    catalog = narrows.Catalog()
    catalog.load(tmp_path / "p.sql")
    state = StateFolder(tmp_path / "state")
    state.lock()
    state.claim("p", catalog.plan_pipeline("p").physical)
    state.unlock()
    (tmp_path / "out").mkdir()
    for batch in range(5):
        (tmp_path / "out" / f"p-{batch:010d}-00000.json").write_text(f'{{"a":{batch}}}\n')
    return tmp_path


def _compact(folder: Path, sink: str, *, state: str = "state") -> Result:
    command = ["compact", str(folder / "p.sql"), sink, "--state", str(folder / state)]
    return CliRunner().invoke(app, command)


def test_files_become_one(folder: Path) -> None:
    done = _compact(folder, "Out")
    assert done.exit_code == 0, done.output
    assert "pipeline p: 4 files became 1" in done.output
    texts = [path.read_text() for path in sorted((folder / "out").glob("[!.]*"))]
    assert texts == ['{"a":0}\n{"a":1}\n{"a":2}\n{"a":3}\n', '{"a":4}\n']


@pytest.mark.parametrize(
    ("sink", "state", "more", "message"),
    [
        ("nosuch", "state", "", "unknown_object"),
        ("other", "state", "", "has no files that could be small"),
        ("out", "elsewhere", "", "no pipeline that writes to `out` has run"),
        ("out", "state", READ_AGAIN, "stream `again` reads the files of sink `out`"),
    ],
)
def test_refused(folder: Path, sink: str, state: str, more: str, message: str) -> None:
    with (folder / "p.sql").open("a") as file:
        file.write(more.format(folder=folder))
    done = _compact(folder, sink, state=state)
    assert done.exit_code == 1
    assert message in done.output
    assert len(list((folder / "out").iterdir())) == 5


def test_not_while_a_pipeline_runs(folder: Path) -> None:
    running = StateFolder(folder / "state")
    running.lock()
    try:
        assert "state_in_use" in _compact(folder, "out").output
    finally:
        running.unlock()
    assert _compact(folder, "out").exit_code == 0
