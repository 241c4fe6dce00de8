"""What can be known before Spark starts is said before; `validate` says everything."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from narrows.cli import main, progress
from narrows.errors import Code
from narrows.planner.catalog import Catalog
from narrows.spark.run.java import no_spark
from narrows.spark.run.run import Run
from narrows.state.folder import StateFolder

STREAM = "CREATE STREAM s (a INT, b STRING) WITH (connector = 'file', path = 'x');\n"
SINK = "CREATE SINK k WITH (connector = 'memory');\n"
PIPELINE = "CREATE PIPELINE p INTO k AS SELECT a FROM s;\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of statements, where nothing may start Spark."""

    def refused(*args: object) -> None:
        raise AssertionError("Spark is started")

    monkeypatch.setattr(main, "_session", refused)
    path = tmp_path / "p.sql"
    path.write_text(STREAM + SINK + PIPELINE, "utf-8")
    return path


def _invoke(*args: str | Path) -> Result:
    return CliRunner().invoke(main.app, [str(arg) for arg in args])


def _refused(file: Path, *args: str | Path) -> str:
    result = _invoke("run", file, "--state", file.parent / "state", *args)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    return result.stderr


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--trigger", "banana", "`trigger` takes a duration, not `banana`"),
        ("--start-at", "banana", "`start_at` is one of latest, earliest"),
    ],
)
def test_settings(file: Path, option: str, value: str, message: str) -> None:
    assert message in _refused(file, option, value)


def test_a_state_folder_that_another_uses(file: Path) -> None:
    state = StateFolder(file.parent / "state")
    state.lock()
    assert "error[state_in_use]" in _refused(file)
    state.unlock()


def test_a_checkpoint_that_does_not_fit(file: Path) -> None:
    other = Catalog()
    other.execute(STREAM.replace("'x'", "'y'") + SINK + PIPELINE)
    state = StateFolder(file.parent / "state")
    state.claim("p", other.plan_pipeline("p").physical)
    before = state.record("p").read_bytes()
    assert "error[checkpoint_mismatch]" in _refused(file)
    assert state.record("p").read_bytes() == before


# --- validate -------------------------------------------------------------------------------------


def _wrong(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "p.sql"
    path.write_text(text, "utf-8")
    result = _invoke("validate", path)
    assert result.exit_code == 1
    return re.findall(r"error\[(\w+)\]", result.stderr)


def test_all_wrong_statements_are_reported(tmp_path: Path) -> None:
    text = (
        "CREATE STREAM t (a INTT) WITH (connector = 'file', path = 'x');\n"
        + STREAM
        + "CREATE SINK k WITH (conector = 'memory');\nSELEKT 1;\nCREATE SINK l WITH (connector ="
        " 'memory');\nCREATE PIPELINE p INTO l AS SELECT aa FROM s;\n"
    )
    assert _wrong(tmp_path, text) == [
        *("unknown_type", "unknown_option", "syntax_error", "unknown_column")
    ]


def test_what_only_lacks_something_wrong_is_not_reported(tmp_path: Path) -> None:
    text = "CREATE STREAM s (a INTT) WITH ();\n" + SINK + PIPELINE + "DROP PIPELINE p; SHOW X"
    assert _wrong(tmp_path, text) == ["unknown_type", "syntax_error"]


# --- Java -----------------------------------------------------------------------------------------


def _fake_java(home: Path, version: str) -> None:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n", "utf-8")
    java.chmod(java.stat().st_mode | stat.S_IEXEC)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (None, "cannot be run"),
        ("1.8.0_392", "is Java 8"),
        ("11.0.2", "is Java 11"),
        ("17.0.1", "could not be started"),
    ],
)
def test_the_wrong_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, said: str
) -> None:
    if version is not None:
        _fake_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    error = no_spark(tmp_path / "spark.log")
    assert error.code is Code.SPARK_NOT_STARTED
    assert said in str(error)


def test_no_java_is_one_line(tmp_path: Path) -> None:
    """In a process of its own: this one may have a JVM."""
    (tmp_path / "p.sql").write_text(STREAM, "utf-8")
    arguments = ["query", str(tmp_path / "p.sql"), "SELECT a FROM s", "--state", str(tmp_path)]
    answer = subprocess.run(
        [sys.executable, "-m", "narrows", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "JAVA_HOME": str(tmp_path / "none")},
        check=False,
    )
    assert answer.returncode == 1
    assert answer.stderr.startswith("error[spark_not_started]: Spark needs Java 17 or newer, and")
    assert "Traceback" not in answer.stderr


# --- Ctrl-C ---------------------------------------------------------------------------------------


def by_ctrl_c(seconds: float) -> None:
    raise KeyboardInterrupt


def by_kill(seconds: float) -> None:
    signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize("interrupt", [by_ctrl_c, by_kill])
def test_ctrl_c_shows_what_became_of_pipelines(
    monkeypatch: pytest.MonkeyPatch, interrupt: Callable[[float], None]
) -> None:
    class Interrupted(Run):
        def __init__(self) -> None:
            self.pipelines = []
            self.said = "running"

        @property
        def is_running(self) -> bool:
            return self.said == "running"

        def stop(self, *names: str) -> None:
            self.said = "stopped"

    class Sinks(progress._ConsoleSinks):
        def __init__(self) -> None:
            self._folders = []

    run, shown = Interrupted(), []
    monkeypatch.setattr(time, "sleep", interrupt)
    progress._until_it_ends(run, Sinks(), lambda: shown.append(run.said))
    assert shown == ["stopped"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT b FROM '{folder}/x.json'", "column `b` not found"),
        ("SELECT a FROM '{folder}/nowhere/*.json'", "nowhere"),
        ("SELECT a FROM nowhere", "no stream or table is called `nowhere`"),
    ],
)
def test_a_query_alone_is_planned_before_spark_starts(file: Path, query: str, message: str) -> None:
    (file.parent / "x.json").write_text('{"a": 1}\n', "utf-8")
    result = _invoke("query", query.format(folder=file.parent))
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_query_alone_reads_files(file: Path) -> None:
    (file.parent / "x.json").write_text('{"a": 1}\n', "utf-8")
    result = _invoke("query", f"SELECT a FROM '{file.parent}/x.json'")
    assert str(result.exception) == "Spark is started"
