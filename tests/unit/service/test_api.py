"""The API without Spark: what it answers, and how it says what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from narrows.service.history import History
from narrows.service.samples import Histogram
from narrows.sql.parser.statements import ObjectKind
from support.fake_session import fake_sessions
from support.service import Asking, served

DECLARED = """
CREATE STREAM s (a BIGINT, b STRUCT<c: BIGINT, d: ARRAY<STRUCT<x: INT, y: INT>>>)
WITH (connector = 'file', path = 'in');
CREATE TABLE t (a BIGINT, name STRING) WITH (connector = 'file', path = 'table');
CREATE SINK k WITH (connector = 'memory');
CREATE PIPELINE p INTO k AS SELECT a, b->d[0]->x AS x FROM s
"""


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Asking]:
    """A service that has no Spark."""
    with served(tmp_path / "state") as asking:
        assert asking.sql(DECLARED).status == 200
        yield asking


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Asking]:
    """A service whose session only says that pipelines run."""
    with served(tmp_path / "state", fake_sessions()[0]) as asking:
        assert asking.sql(DECLARED).status == 200
        yield asking


# --- statements and plans -------------------------------------------------------------------------


def test_statements_answer_each_in_its_way(api: Asking) -> None:
    answers = api.sql("SHOW PIPELINES; EXPLAIN SELECT a FROM s; DROP PIPELINE p").json()["answers"]
    assert [answer["statement"] for answer in answers] == ["show", "explain", "drop"]
    assert answers[0]["rows"][0]["name"] == "p"
    assert "decodes=1 of 4 leaves" in answers[1]["text"]


def test_what_is_wrong_is_said_with_all_places(api: Asking) -> None:
    answer = api.post("/explain", {"sql": "SELECT aa,\n  bb FROM s"})
    assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")
    problem = answer.json()
    assert problem["code"] == "unknown_column"
    spans = [(each["span"]["line"], each["span"]["column"]) for each in problem["problems"]]
    assert spans == [(1, 8), (2, 3)]
    assert problem["problems"][0]["hint"] == "did you mean `a`?"


def test_statements_before_the_wrong_one_stay_executed(api: Asking) -> None:
    problem = api.sql("CREATE SINK one WITH (connector = 'memory'); DROP SINK nobody").json()
    assert (problem["status"], problem["executed"]) == (404, 1)
    assert api.get("/sinks/one").status == 200


def test_explain_says_what_is_decoded_down_to_the_leaves(api: Asking) -> None:
    found = api.post("/explain", {"sql": "SELECT a, b->d[0]->x FROM s"}).json()
    (read,) = found["reads"]
    assert (read["source"], read["leaves_decoded"], read["leaves"]) == ("s", 2, 4)
    a, b = read["tree"]
    assert (a["decoded"], b["decoded"], a["needed_by"]) == ("all", "some", ["query"])
    c, d = b["children"]
    assert (c["decoded"], [x["decoded"] for x in d["children"]]) == ("none", ["all", "none"])
    assert found["mermaid"].startswith("flowchart")
    assert found["plan"]["logical"]["operator"] == "Project"
    assert found["execution"] is None


def test_metadata_columns_are_no_leaves(api: Asking) -> None:
    for query in ("SELECT a, _file FROM s", "SELECT _file FROM s"):
        (read,) = api.post("/explain", {"sql": query}).json()["reads"]
        assert (read["metadata"], read["leaves_decoded"]) == (["_file"], int("a," in query))
    api.sql("CREATE PIPELINE named INTO k AS SELECT a, _file FROM s")
    assert api.get("/streams/s").json()["tree"][0]["needed_by"] == ["p", "named"]
    assert 'narrows_leaves_decoded{pipeline="named",stream="s"} 1' in api.get("/metrics").text


def test_explaining_a_pipeline_does_not_create_it(api: Asking) -> None:
    sql = (
        "CREATE SINK new WITH (connector = 'memory'); CREATE PIPELINE q INTO new AS SELECT a FROM s"
    )
    found = api.post("/explain", {"sql": sql}).json()
    assert found["execution"]["mode"] == "copy"
    assert found["reads"][0]["tree"][0]["needed_by"] == ["q"]
    assert api.get("/pipelines/q").status == api.get("/sinks/new").status == 404


def test_what_needs_spark_says_that_there_is_none(api: Asking) -> None:
    assert api.get("/health").status == 200
    ready = api.get("/ready")
    assert (ready.status, ready.json()["spark"]) == (503, "failed")
    for answer in (
        api.post("/pipelines/p/start"),
        api.post("/queries", {"sql": "SELECT a FROM t"}),
        api.post("/test", {"pipeline": "p", "rows": {"s": []}}),
        api.sql("ANALYZE TABLE t"),
    ):
        assert (answer.status, answer.json()["code"]) == (503, "spark_not_started")


# --- resources ------------------------------------------------------------------------------------


def test_resources_are_created_listed_and_dropped(api: Asking) -> None:
    options = {"connector": "file", "path": "it's \\ here", "shared": True}
    made = api.post("/streams", {"name": "my stream", "columns": "x INT", "options": options})
    assert (made.status, made.json()["options"]["path"]) == (201, "it's \\ here")
    assert made.json()["shared"] is True
    assert [s["name"] for s in api.get("/streams").json()["items"]] == ["my stream", "s"]
    assert api.get("/shared/my%20stream").json()["leaves_decoded"] == 0
    assert api.get("/shared/s").status == 400
    sink = api.post("/sinks", {"name": "k2", "options": {"connector": "memory"}})
    assert (sink.status, sink.json()["guarantee"]) == (201, "exactly once")
    body = {"name": "q", "sinks": ["k2"], "query": "SELECT x FROM `my stream`"}
    assert api.post("/pipelines", body).json()["execution"]["mode"] == "grouped"
    assert api.post("/pipelines", body).status == 409
    assert api.post("/pipelines", {**body, "replace": True}).status == 201
    assert api.delete("/sinks/k2").status == 409
    assert [api.delete(path).status for path in ("/pipelines/q", "/sinks/k2")] == [204, 204]
    assert api.delete("/streams/my%20stream").status == 204


@pytest.mark.parametrize(
    "columns", ["x INT) WITH (connector = 'file', path = 'x'); DROP STREAM s; --", "x INT); --"]
)
def test_parts_of_a_declaration_are_no_other_statements(api: Asking, columns: str) -> None:
    body = {"name": "x", "columns": columns, "options": {"connector": "file", "path": "x"}}
    assert api.post("/streams", body).status == 400
    assert api.get("/streams/s").status == 200


def test_lists_are_paged(api: Asking) -> None:
    sinks = "; ".join(f"CREATE SINK k{n} WITH (connector = 'memory')" for n in range(5))
    assert api.sql(sinks).status == 200
    page = api.get("/sinks?offset=2&limit=2").json()
    assert ([sink["name"] for sink in page["items"]], page["total"]) == (["k1", "k2"], 6)


def test_a_stream_shows_who_needs_which_leaf(running: Asking) -> None:
    assert running.get("/streams/s").json()["leaves_decoded"] == 0
    assert running.post("/pipelines/p/start").json()["actual"] == "running"
    found = running.get("/streams/s").json()
    assert (found["leaves_decoded"], found["leaves"], found["pipelines"]) == (2, 4, ["p"])
    x, y = found["tree"][1]["children"][1]["children"]
    assert (x["needed_by"], x["decoded"]) == (["p"], "all")
    assert (y["needed_by"], y["decoded"]) == ([], "none")


def test_the_catalog_goes_out_and_in(api: Asking, tmp_path: Path) -> None:
    text = api.get("/export").text
    with served(tmp_path / "other") as other:
        assert other.post("/import", {"sql": text}).status == 200
        assert other.get("/export").text == text
        again = other.post("/import", {"sql": text})
        assert (again.status, again.json()["code"]) == (409, "duplicate_object")
        assert other.post("/import", {"sql": text, "replace": True}).json() == {"answers": []}
        sink = "CREATE SINK k3 WITH (connector = 'memory')"
        wrong = f"{sink}; CREATE PIPELINE q INTO k AS SELECT z FROM s"
        assert other.post("/import", {"sql": wrong}).status == 400
        assert other.get("/sinks/k3").status == 404, "all of it, or nothing"


# --- running --------------------------------------------------------------------------------------


def test_pipelines_start_stop_and_tell(running: Asking) -> None:
    assert running.post("/pipelines/p/start").json()["desired"] == "running"
    assert running.post("/pipelines/P/start").status == 200, "one that runs is left alone"
    found = running.get("/pipelines/p").json()
    assert found["stats"]["read"]["s"]["saved_bytes"] == 700
    assert found["stats"]["lag"] == {"s": {"bytes": 70, "units": 2}}
    for refused in ("DROP PIPELINE p", "CREATE OR REPLACE SINK k WITH (connector = 'console')"):
        assert running.sql(refused).json()["code"] == "object_in_use"
    assert running.post("/pipelines/p/reset").status == 409
    assert running.post("/pipelines/p/stop").json()["actual"] == "stopped"
    assert running.post("/pipelines/p/reset").status == 200
    assert running.post("/pipelines/p/restart").json()["actual"] == "running"
    assert running.sql("STOP PIPELINE p; DROP PIPELINE p").status == 200


def test_what_was_counted_is_remembered_for_plots(running: Asking) -> None:
    assert running.get("/pipelines/p/history").json() == []
    assert running.get("/streams/nothing/history").status == 404
    running.post("/pipelines/p/start")
    (listed,) = running.get("/pipelines?stats=true").json()["items"]
    assert listed["stats"]["read"]["s"]["saved_bytes"] == 700
    assert running.get("/pipelines").json()["items"][0]["stats"] is None
    history = History(running.service)
    history.look()
    history.look()
    (_, sample) = history.of(ObjectKind.PIPELINE, "p")
    assert (sample.payloads, sample.bytes_saved, sample.lag["bytes"]) == (10, 700, 70)
    (_, sample) = history.of(ObjectKind.STREAM, "s")
    assert (sample.bytes_in, sample.leaves_decoded) == (1000, 2)
    running.sql("STOP PIPELINE p; DROP PIPELINE p")
    history.look()
    assert history.of(ObjectKind.PIPELINE, "p") == []
    assert len(history.of(ObjectKind.STREAM, "s")) == 2


def test_progress_comes_as_events(running: Asking) -> None:
    running.post("/pipelines/p/start")
    text = running.get("/pipelines/p/events?count=2&every=0.1").text
    events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data")]
    assert [json.loads(event)["actual"] for event in events] == ["running", "running"]
    assert text.startswith("event: progress\n")


def test_rows_come_as_events(running: Asking) -> None:
    rows = running.service.state.rows("k")
    rows.mkdir(parents=True)
    for batch in range(3):
        (rows / f"p-{batch:010d}-00000.json").write_text(f'{{"a": {batch}}}\n')
    (rows / "other-0000000000-00000.json").write_text('{"a": 99}\n')
    text = running.get("/pipelines/p/rows?count=1&last=2").text
    events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data")]
    assert [json.loads(event) for event in events] == [
        {"sink": "k", "row": {"a": 1}},
        {"sink": "k", "row": {"a": 2}},
    ]
    assert running.get("/sinks/k/rows?limit=1").json() == [{"a": 2}]


def test_dead_letters_are_listed_with_their_payloads(api: Asking) -> None:
    folder = api.service.state.dead_letters("s")
    folder.mkdir(parents=True)
    letters = [
        {"source": "s", "reason": "no JSON", "payload": "<b>", "file": "in/x", "line": 2},
        {"source": "s", "reason": "no text", "payload_base64": "/w==", "file": "in/x", "line": 3},
    ]
    (folder / "x.ndjson").write_text("".join(json.dumps(letter) + "\n" for letter in letters))
    assert api.get("/dead-letters").json()["items"] == [{"name": "s", "letters": 2}]
    first, second = api.get("/dead-letters/s").json()["items"]
    assert first["position"] == {"file": "in/x", "line": 2}
    payload = api.get(f"/dead-letters/s/{second['id']}/payload")
    assert (payload.body, payload.headers["x-content-type-options"]) == (b"\xff", "nosniff")
    assert api.get("/dead-letters/s/nothing").status == 404


def test_metrics_have_labels_and_no_broken_lines(running: Asking) -> None:
    running.sql(
        "CREATE STREAM `odd\"\nname` (a INT) WITH (connector = 'file', path = 'x', shared = true)"
    )
    running.post("/pipelines/p/start")
    answer = running.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = [line for line in answer.text.splitlines() if not line.startswith("#")]
    assert all(
        len(line.rsplit(" ", 1)) == 2 and float(line.rsplit(" ", 1)[1]) >= 0 for line in samples
    )
    for wanted in (
        'narrows_payloads_total{pipeline="p",stream="s"} 10',
        'narrows_bytes_saved_total{pipeline="p",stream="s"} 700',
        'narrows_leaves_decoded{pipeline="p",stream="s"} 2',
        'narrows_lag{pipeline="p",stream="s",unit="bytes"} 70',
        'narrows_late_rows_total{pipeline="p"} 3',
        'narrows_sink_rows_total{pipeline="p",sink="k"} 8',
        'narrows_refused_rows_total{pipeline="p",sink="k"} 4',
        'narrows_pipeline_state{pipeline="p",state="running"} 1',
        'narrows_shared_union_version{stream="odd\\"\\nname"} 0',
    ):
        assert wanted in samples


def test_every_operation_is_described(api: Asking) -> None:
    described = api.get("/openapi.json").json()
    assert set(described["paths"]) > {"/statements", "/explain", "/pipelines/{name}/start", "/test"}
    operations = [o for path in described["paths"].values() for o in path.values()]
    assert all({"404", "422", "503"} <= set(operation["responses"]) for operation in operations)
    text = json.dumps(described)
    wanted = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert wanted <= set(described["components"]["schemas"])


def test_requests_that_make_no_sense_are_refused(api: Asking) -> None:
    for answer in (
        api.post("/statements", {"sql": 3}),
        api.post("/statements", {"sql": "", "more": 1}),
        api.get("/sinks?limit=0"),
    ):
        assert (answer.status, answer.json()["code"]) == (422, "invalid_request")
    assert api.get("/nothing").json()["code"] == "not_found"
    assert api.ask("PUT", "/statements", {}).status == 405
    assert api.get("/").text.startswith("<!doctype html>")


def test_the_dashboard_shows_metrics_that_there_are(running: Asking) -> None:
    running.sql("CREATE STREAM u (a INT) WITH (connector = 'file', path = 'x', shared = true)")
    running.post("/pipelines/p/start")
    running.service.batch_times.by_pipeline["p"] = Histogram()
    dashboard = (Path(__file__).parents[3] / "docs/grafana.json").read_text()
    told = set(re.findall(r"^(narrows_\w+)", running.get("/metrics").text, re.MULTILINE))
    assert set(re.findall(r"narrows_\w+", dashboard)) <= told


def test_letters_that_are_good_now_are_put_back_once(api: Asking, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    api.sql(
        "CREATE STREAM r (a BIGINT, at BIGINT)"
        f" WITH (connector = 'file', path = '{source}', eventtime = 'at')"
    )
    folder = api.service.state.dead_letters("r")
    folder.mkdir(parents=True)
    letters = [
        {"source": "r", "reason": "was bad", "payload": '{"at": 1}', "file": "x", "line": 1},
        {"source": "r", "reason": "no JSON", "payload": "{", "file": "x", "line": 2},
        {"source": "r", "reason": "no time", "payload": "{}", "file": "x", "line": 3},
        {"source": "r", "reason": "the file is gone", "file": "y"},
    ]
    (folder / "x.ndjson").write_text("".join(json.dumps(letter) + "\n" for letter in letters))
    good, bad, timeless, lost = (each["id"] for each in api.get("/dead-letters/r").json()["items"])
    first = api.post("/dead-letters/r/replay", {}).json()
    assert (first["replayed"], set(first["still_bad"])) == ([good], {bad, timeless, lost})
    again = api.post("/dead-letters/r/replay", {"ids": [good]}).json()
    assert again == {"replayed": [], "already": [good], "still_bad": {}}
    assert [file.read_text() for file in source.iterdir()] == ['{"at": 1}\n']
    shown = api.get("/dead-letters/r").json()["items"]
    assert [each["replayed"] for each in shown] == [True, False, False, False]
    assert api.post("/dead-letters/t/replay", {}).status == 404, "a table reads everything anyway"
