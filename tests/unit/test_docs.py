"""The console sessions in the docs print what they say, and the tables are of today."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from narrows.cli.main import app

ROOT = Path(__file__).parents[2]
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SESSIONS = [
    pytest.param(command, output, id=f"{path.name}:{number}")
    for path in DOCS
    for block in re.findall(r"```console\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
    for number, (command, output) in enumerate(re.findall(r"\$ narrows (.*)\n([^$]*)", block))
]


@pytest.mark.parametrize(("command", "output"), SESSIONS)
def test_console_session(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.output.strip() == output.strip()


def test_the_tables_of_options_are_those_of_the_code() -> None:
    """In a process of its own: other tests register formats that no user has."""
    tool = ROOT / "tools" / "write_option_tables.py"
    answer = subprocess.run(
        [sys.executable, tool, "--check"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("role", ["sources", "sinks"])
def test_all_options_stand_in_the_docs(role: str) -> None:
    assert any(f"<!-- options: {role} -->" in path.read_text("utf-8") for path in DOCS)


def test_what_contributors_are_sent_to_is_there() -> None:
    named = re.findall(r"`([\w./]+/[\w./]+)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert len(named) > 5
    assert [path for path in named if not (ROOT / path).exists()] == []
