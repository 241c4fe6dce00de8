"""The console sessions in the docs print what they say."""

from __future__ import annotations

import re
import shlex
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
