"""Tables: cells are text, to rich as well as to the terminal; one row is one line when piped."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

from narrows.catalog.describe import ResultTable
from narrows.cli import progress
from narrows.cli.main import app
from narrows.cli.tables import print_rows, table_of
from narrows.spark.run.pipeline_run import FAILED
from narrows.spark.run.run import Run
from narrows.state.folder import StateFolder
from narrows.worker.counts import ReadCounts

CELLS = (
    "[/usr/local]",
    "[bold]x",
    "[link=https://e.vil]y[/link]",
    ":smile:",
    "a\x1b[31mb\n\u202ec",
)
TEXTS = (*CELLS[:-1], r"a\x1b[31mb\n\u202ec")


def printed(table: Table) -> str:
    file = io.StringIO()
    Console(file=file, force_terminal=True, width=200, color_system=None).print(table)
    return file.getvalue()


def a_run(*pipelines: object) -> Run:
    return cast("Run", SimpleNamespace(pipelines=pipelines))


def test_cells_and_headings_are_text() -> None:
    output = printed(table_of(ResultTable(CELLS, (CELLS,))))
    for text in TEXTS:
        assert output.count(text) == 2
    assert "\x1b" not in output


def test_a_row_is_a_line_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(ResultTable(("a\tb", "c"), (("1\t2\n3", "C:\\n"), ("\x1b]0;x\x07\x85", "\u2028"))))
    assert capsys.readouterr().out == (
        "a\\tb\tc\n" + "1\\t2\\n3\tC:\\\\n\n" + "\\x1b]0;x\\x07\\x85\t\\u2028\n"
    )


def test_progress_shows_names_and_reasons_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "leaves", lambda pipeline: "2 of [/3]")
    pipelines = [
        SimpleNamespace(
            name=name,
            status=FAILED,
            shared=dict,
            counts=lambda: {"s": ReadCounts()},
            started=0.0,
            ended=1.0,
        )
        for name in CELLS
    ]
    output = printed(progress.progress_table(a_run(*pipelines)))
    for text in (*TEXTS, "2 of [/3]", FAILED):
        assert text in output
    assert "\x1b" not in output


def test_shared_streams_are_shown_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "leaves", lambda pipeline: "1 of 2")
    told = {"version": 1, "decodes": "1 of 2 leaves", "lag": 0}
    pipeline = SimpleNamespace(
        name="p", status="running", counts=dict, shared=lambda: {"[/x]\x1b": told}
    )
    assert r"[/x]\x1b (shared)" in printed(progress.progress_table(a_run(pipeline)))


# --- commands -------------------------------------------------------------------------------------

LETTER = {
    "source": "s",
    "reason": "bad [/x]\x1b[2J",
    "payload": "[/usr/local]\tx\n\x9b\u202e",
    "file": "/in/a\x1b]0;owned\x07.json",
    "offset": 3,
}


@pytest.fixture
def state(tmp_path: Path) -> list[str]:
    folder = StateFolder(tmp_path / "state").dead_letters("s")
    folder.mkdir(parents=True)
    (folder / "x.ndjson").write_text(json.dumps(LETTER) + "\n")
    return ["--state", str(tmp_path / "state")]


def test_dead_letters_are_text(state: list[str]) -> None:
    result = CliRunner().invoke(app, ["dead-letters", "S", *state])
    assert result.exit_code == 0, result.output
    assert result.output.splitlines() == [
        "file\toffset\treason\tpayload",
        "a\\x1b]0;owned\\x07.json\t3\tbad [/x]\\x1b[2J\t[/usr/local]\\tx\\n\\x9b\\u202e",
    ]


def test_dead_letters_as_json_stay_json(state: list[str]) -> None:
    result = CliRunner().invoke(app, ["dead-letters", "s", *state, "--json"])
    assert json.loads(result.output) == LETTER
    assert not set(result.output) & set("\x1b\x9b\u202e")


@pytest.mark.parametrize("command", ["reset", "dead-letters"])
def test_a_name_that_is_unknown_is_shown_as_text(command: str, state: list[str]) -> None:
    result = CliRunner().invoke(app, [command, "x\x1b[2J\ny", *state])
    assert r"`x\x1b[2J\ny`" in result.output
    assert len(result.output.splitlines()) == 1


def test_names_in_plans_and_errors_are_text(tmp_path: Path) -> None:
    file = tmp_path / "a\x1b[2J.sql"
    file.write_text(
        "CREATE STREAM `s\x1b` (a INT) WITH (connector = 'file', path = 'p');"
        "CREATE SINK o WITH (connector = 'console');"
        "CREATE PIPELINE `p\x9b` INTO o AS SELECT a FROM `s\x1b`"
    )
    for arguments in (
        ["validate", str(file)],
        ["explain", str(file)],
        ["explain", str(file), "--format", "json"],
        ["explain", str(file), "--format", "mermaid"],
        ["explain", str(file), "SELECT `\x1b` FROM `s\x1b`"],
        ["validate", f"{file}\x1b"],
    ):
        result = CliRunner().invoke(app, arguments)
        assert result.output
        assert not set(result.output) & set("\x1b\x9b")


def test_letters_of_sinks_and_messages_say_where_they_are_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "dead_letters" / "out"
    folder.mkdir(parents=True)
    letters = [
        {"sink": "out", "pipeline": "p", "reason": "too large", "payload": "{}"},
        {"source": "out", "reason": "bad", "payload": "x", "batch": 3, "task": 0, "row": 7},
    ]
    lines = "".join(json.dumps(letter) + "\n" for letter in letters)
    (folder / "a.ndjson").write_text(lines, "utf-8")
    result = CliRunner().invoke(app, ["dead-letters", "out", "--state", str(tmp_path)])
    assert result.exit_code == 0
    head, *rows = [line.split("\t") for line in result.output.splitlines()]
    assert head == ["pipeline", "batch", "task", "row", "reason", "payload"]
    assert sorted(rows) == [["", "3", "0", "7", "bad", "x"], ["p", "", "", "", "too large", "{}"]]
