"""A service, asked from Python and from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import narrows
from narrows.cli.main import app
from support.fake_session import fake_sessions
from support.service import Asking, served

DECLARED = """
CREATE STREAM s (a BIGINT, b STRUCT<c: BIGINT>) WITH (connector = 'file', path = 'in');
CREATE SINK k WITH (connector = 'memory');
CREATE PIPELINE `p q` INTO k AS SELECT a FROM s
"""


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Asking]:
    with served(tmp_path, fake_sessions()[0]) as asking:
        asking.sql(DECLARED)
        yield asking


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_python_asks(api: Asking) -> None:
    with narrows.connect(server=api.url) as service:
        assert service.execute("SHOW SINKS")[0]["rows"][0]["name"] == "k"
        assert service.start("p q")["actual"] == "running"
        assert service.status()["p q"]["desired"] == "running"
        assert service.pipeline("p q")["stats"]["late"] == 3
        assert [event["actual"] for event in service.events("p q", count=1)] == ["running"]
        rows = api.service.state.rows("k")
        rows.mkdir(parents=True)
        (rows / "p~20q-0000000000-00000.json").write_text('{"a": 1}\n')
        assert service.rows("k") == [{"a": 1}]
        assert list(service.tail("p q", count=1)) == [{"sink": "k", "row": {"a": 1}}]
        assert "CREATE PIPELINE `p q`" in service.export()


def test_what_is_refused_is_raised_as_it_was(api: Asking) -> None:
    service = narrows.connect(server=api.url)
    with pytest.raises(narrows.NarrowsError) as raised:
        service.explain("SELECT aa FROM s")
    assert raised.value.code == "unknown_column"
    assert "1 | SELECT aa FROM s\n  |        ^^" in str(raised.value)
    with pytest.raises(narrows.NarrowsError, match="no pipeline is called `nobody`"):
        service.stop("nobody")


def test_nobody_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(narrows.NarrowsError, match="no service answers"):
        narrows.connect(server="http://127.0.0.1:1").status()
    with pytest.raises(narrows.NarrowsError, match="is no address"):
        narrows.connect(server="file:///etc/passwd")
    with pytest.raises(narrows.NarrowsError, match="its own Spark"):
        narrows.connect(master="local", server="http://x")  # type: ignore[call-overload]


def test_a_token_is_sent(tmp_path: Path) -> None:
    with served(tmp_path, token="right") as api:
        assert narrows.connect(server=api.url, token="right").status() == {}
        with pytest.raises(narrows.NarrowsError, match="the service refuses: send the token"):
            narrows.connect(server=api.url, token="wrong").status()


def test_the_command_line_asks(api: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NARROWS_SERVER", api.url)
    assert _run("start", "p q") == "p q: running\n"
    assert "p q\trunning\trunning\t0\ts\tk\t" in _run("ps")
    assert json.loads(_run("ps", "--json"))[0]["name"] == "p q"
    assert "reads s: 1 of 2 leaves: a" in _run("status", "p q")
    assert json.loads(_run("status", "p q", "--json"))["stats"]["late"] == 3
    assert _run("restart", "p q") == "p q: running\n"
    assert _run("stop", "p q") == "p q: stopped\n"
    assert "decodes=1 of 2 leaves" in _run("explain", "SELECT b->c FROM s", "--server", api.url)
    assert "decodes=1 of 2 leaves" in _run("explain", "p q", "--server", api.url)
    wrong = CliRunner().invoke(app, ["stop", "nobody"])
    assert (wrong.exit_code, "unknown_object" in wrong.stderr) == (1, True)


def test_serving_elsewhere_without_a_token_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["serve", "--host", "0.0.0.0", "--state", str(tmp_path)])
    assert (result.exit_code, "NARROWS_TOKEN" in result.stderr) == (1, True)


def test_a_second_service_is_refused_in_one_line(api: Asking, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "narrows", "serve", "--port", "0", "--state", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("error[state_in_use]: process")
