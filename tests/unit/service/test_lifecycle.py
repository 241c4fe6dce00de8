"""What was answered with success is so after a restart."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from narrows.errors import NarrowsError
from narrows.service.core import Service
from narrows.service.store import ServiceStore
from narrows.sql.parser.statements import ObjectKind
from narrows.state.folder import StateFolder
from support.fake_session import fake_sessions
from support.service import Asking, no_spark, served

STREAM = "CREATE STREAM s (a BIGINT) WITH (connector = 'file', path = 'in')"
SINK = "CREATE SINK k WITH (connector = 'memory')"
PIPELINE = "CREATE PIPELINE p INTO k AS SELECT a FROM s"
DECLARED = f"{STREAM}; {SINK}; {PIPELINE}"


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _actual(api: Asking, pipeline: str) -> str:
    actual = api.get(f"/pipelines/{pipeline}").json()["actual"]
    assert isinstance(actual, str)
    return actual


def test_what_was_declared_is_there_again(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.sql(DECLARED)
        api.sql("CREATE OR REPLACE SINK k WITH (connector = 'console')")
        api.sql("CREATE SINK IF NOT EXISTS k WITH (connector = 'memory')")
        api.sql("CREATE SINK gone WITH (connector = 'memory'); DROP SINK gone")
        api.sql("SET narrows.rule.constant_folding = off")
        text = api.get("/export").text
    assert "REPLACE" not in text
    assert "gone" not in text
    with served(tmp_path) as api:
        assert api.get("/export").text == text
        assert api.get("/sinks/k").json()["connector"] == "console"
        assert api.service.catalog.disabled_rules == {"ConstantFolding"}


def test_views_are_there_again_each_after_what_it_reads(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.sql(
            f"{STREAM}; {SINK}; CREATE VIEW v AS SELECT a FROM s; CREATE VIEW w AS SELECT a FROM s"
        )
        api.sql("CREATE OR REPLACE VIEW v AS SELECT a + 1 AS a FROM w")
        api.sql("CREATE VIEW x AS SELECT 1; DROP VIEW x")
        api.sql("CREATE PIPELINE p INTO k AS SELECT a FROM v")
        text = api.get("/export").text
    assert text.index("VIEW w") < text.index("VIEW v")
    with served(tmp_path) as api:
        assert api.get("/export").text == text
        assert sorted(api.service.catalog.of_kind(ObjectKind.VIEW)) == ["v", "w"]


def test_functions_are_there_again_each_after_what_it_calls(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.sql(f"{STREAM}; {SINK}; CREATE FUNCTION f(x BIGINT) RETURN x")
        api.sql("CREATE FUNCTION g(x BIGINT) RETURN x + 1")
        api.sql("CREATE OR REPLACE TEMPORARY FUNCTION f(x BIGINT) RETURN g(x) * 2")
        api.sql("CREATE VIEW v AS SELECT f(a) AS a FROM s")
        api.sql("CREATE PIPELINE p INTO k AS SELECT a FROM v")
        text = api.get("/export").text
    assert text.index("FUNCTION g") < text.index("FUNCTION f") < text.index("VIEW v")
    with served(tmp_path) as api:
        assert api.get("/export").text == text
        assert sorted(api.service.catalog.of_kind(ObjectKind.FUNCTION)) == ["f", "g"]
        assert "is used by view `v`" in api.sql("DROP FUNCTION g").text


def test_what_shall_run_is_started_again(tmp_path: Path) -> None:
    opening, sessions = fake_sessions()
    with served(tmp_path, opening) as api:
        api.sql(f"{DECLARED}; CREATE PIPELINE q INTO k AS SELECT a FROM s")
        api.sql("START PIPELINE p, q; STOP PIPELINE q")
    assert sessions[0].closed
    with served(tmp_path, opening) as api:
        _until(lambda: _actual(api, "p") == "running")
        assert _actual(api, "q") == "stopped"
        assert sessions[1].running == ["p"]


def test_one_that_cannot_start_says_why_and_hinders_nobody(tmp_path: Path) -> None:
    with served(tmp_path, fake_sessions()[0]) as api:
        api.sql(f"{DECLARED}; CREATE PIPELINE q INTO k AS SELECT a FROM s; START PIPELINE p, q")
    with served(tmp_path, fake_sessions(p="the disk is full")[0]) as api:
        _until(lambda: _actual(api, "q") == "running")
        _until(lambda: _actual(api, "p") == "failed")
        found = api.get("/pipelines/p").json()
        assert (found["desired"], found["error"]) == ("running", "the disk is full")
        assert api.post("/pipelines/p/start").status == 502
        assert api.post("/pipelines/p/stop").json()["error"] is None


def test_a_file_is_served_once_and_again(tmp_path: Path) -> None:
    file = tmp_path / "f.sql"
    file.write_text(f"{DECLARED};\nSTART PIPELINE p")
    opening, _ = fake_sessions()
    with served(tmp_path / "state", opening, files=[file]) as api:
        _until(lambda: _actual(api, "p") == "running")
        api.post("/pipelines/p/stop")
    file.write_text(
        f"{STREAM}; {SINK};\nCREATE PIPELINE p INTO k AS SELECT a + 1 AS a FROM s;START PIPELINE p"
    )
    with served(tmp_path / "state", opening, files=[file]) as api:
        found = api.get("/pipelines/p").json()
        assert found["query"] == "SELECT a + 1 AS a FROM s", "it has changed"
        assert (found["desired"], found["actual"]) == ("stopped", "stopped"), "somebody stopped it"


def test_a_recreated_pipeline_begins_without_state(tmp_path: Path) -> None:
    with served(tmp_path, fake_sessions()[0]) as api:
        api.sql(f"{DECLARED}; START PIPELINE p; STOP PIPELINE p")
        assert api.service.state.knows("p")
        api.sql("DROP PIPELINE p")
        assert not api.service.state.knows("p")


def test_a_drop_that_was_cut_short_is_finished(tmp_path: Path) -> None:
    with served(tmp_path, fake_sessions()[0]) as api:
        api.sql(f"{DECLARED}; START PIPELINE p; STOP PIPELINE p")
    catalog, desired = tmp_path / "service/catalog.sql", tmp_path / "service/desired.json"
    declared = catalog.read_text()
    desired.write_text('{"p": "dropped"}')  # it died before the catalog was written
    with served(tmp_path) as api:
        assert api.get("/pipelines/p").json()["desired"] == "stopped"
        assert api.service.state.knows("p")
    catalog.write_text(declared.replace(f"{PIPELINE};", ""))  # it died after
    with served(tmp_path) as api:
        assert not api.service.state.knows("p")
        assert json.loads(desired.read_text()) == {}


def test_a_second_service_on_the_same_state_is_refused(tmp_path: Path) -> None:
    with served(tmp_path), pytest.raises(NarrowsError, match="is running pipelines"):
        Service(StateFolder(tmp_path), no_spark).open()


def test_a_damaged_file_is_said(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.sql(DECLARED)
    (tmp_path / "service/desired.json").write_text('{"p": "flying"}')
    with pytest.raises(NarrowsError, match="what shall run"):
        ServiceStore(tmp_path / "service").load()
    (tmp_path / "service/catalog.sql").write_text("SELECT 1")
    with pytest.raises(NarrowsError, match="more than declarations"):
        ServiceStore(tmp_path / "service").load()


def test_what_cannot_be_kept_is_not_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: object, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with served(tmp_path) as api:
        api.sql(STREAM)
        with monkeypatch.context() as broken:
            broken.setattr("narrows.service.store.write_atomically", full)
            answer = api.sql(SINK)
            assert (answer.status, answer.json()["code"]) == (422, "unreadable_file")
        assert api.get("/sinks/k").status == 404
        assert api.sql(SINK).status == 200


def test_many_ask_at_once(tmp_path: Path) -> None:
    """Statements, plans and starts of several threads: none gets lost or in another's way."""
    opening, sessions = fake_sessions()
    with served(tmp_path, opening) as api:
        api.sql(f"{STREAM}; {SINK}")
        wrong: list[object] = []

        def work(number: int) -> None:
            for turn in range(5):
                name = f"p{number}_{turn}"
                sql = f"CREATE PIPELINE {name} INTO k AS SELECT a FROM s; START PIPELINE {name}"
                deep = f"SELECT {'(' * 60}a{')' * 60} FROM s"
                answers = [api.sql(sql), api.post("/explain", {"sql": deep}), api.get("/pipelines")]
                wrong.extend(a.text for a in answers if a.status != 200)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert len(sessions[0].running) == api.get("/pipelines").json()["total"] == 40
        assert len(api.service.store.desired) == 40
