"""A service with a real Spark: pipelines, queries and tests by HTTP; and one that is killed."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from narrows.planner.catalog import Catalog
from narrows.spark.session import Session
from narrows.state.folder import StateFolder
from support.service import Asking, served
from support.service_process import killed_again_and_again

PATIENCE = 180.0

DECLARED = """
CREATE STREAM s (a BIGINT, b STRUCT<c: BIGINT, d: STRING>)
  WITH (connector = 'file', path = '{folder}/in');
CREATE STREAM shared (a BIGINT, b STRUCT<c: BIGINT, d: STRING>)
  WITH (connector = 'file', path = '{folder}/in', shared = true, start_at = 'earliest');
CREATE TABLE t (a BIGINT, b STRUCT<c: BIGINT, d: STRING>)
  WITH (connector = 'file', path = '{folder}/in');
CREATE SINK k WITH (connector = 'memory');
CREATE SINK m WITH (connector = 'memory');
CREATE PIPELINE own INTO k AS SELECT a, b->c AS c FROM s;
CREATE PIPELINE one INTO m AS SELECT a FROM shared WHERE a < 100;
CREATE PIPELINE two INTO m AS SELECT a * 2 AS a, b->c AS c FROM shared
"""

NUMBERED = """SELECT x, row_number() OVER (PARTITION BY x ORDER BY x) AS k
FROM (SELECT explode(sequence(1, 100000)) AS x)"""
ENDLESS = f"""SELECT count(*) AS n
FROM ({NUMBERED}) AS a, (SELECT explode(sequence(1, 50000)) AS y) AS b
WHERE sha2(concat(x, '-', y, '-', k), 512) = ''"""
"""Five thousand million rows, in both cores of Spark and hardly any memory. Behind a sort, as here,
a task sees that it shall end: for each x."""


@pytest.fixture
def api(spark: SparkSession, tmp_path: Path) -> Iterator[Asking]:
    def open_session(state: StateFolder, catalog: Catalog) -> Session:
        return Session(spark, state=state, pruning=True, catalog=catalog, owns_spark=False)

    (tmp_path / "in").mkdir()
    lines = [json.dumps({"a": a, "b": {"c": a, "d": "x" * 50}}) for a in range(3)]
    (tmp_path / "in/0.json").write_text("\n".join([*lines, "{bad"]))
    with served(tmp_path / "state", open_session) as asking:
        assert asking.sql(DECLARED.replace("{folder}", str(tmp_path))).status == 200
        yield asking


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_pipelines_run_and_tell_what_they_do(api: Asking, tmp_path: Path) -> None:
    assert api.post("/pipelines/own/start").json()["actual"] == "running"
    _until(lambda: len(api.get("/sinks/k/rows").json()) == 3)
    (tmp_path / "in/1.json").write_text('{"a": 9, "b": {"c": 9}}')
    _until(lambda: {"a": 9, "c": 9} in api.get("/sinks/k/rows").json())
    read = api.get("/pipelines/own/stats").json()["read"]["s"]
    assert (read["payloads"], read["bad"]) == (5, 1)
    assert 0 < read["saved_bytes"] < read["payload_bytes"]
    (letter,) = api.get("/dead-letters/s").json()["items"]
    assert letter["payload"] == "{bad"
    assert '"row": {"a": 9, "c": 9}' in api.get("/pipelines/own/rows?count=1").text
    api.service.batch_times.look()
    metrics = api.get("/metrics").text
    assert 'narrows_bad_payloads_total{pipeline="own",stream="s"} 1' in metrics
    assert 'narrows_sink_rows_total{pipeline="own",sink="k"} 4' in metrics
    assert 'narrows_batch_duration_seconds_bucket{pipeline="own",le="+Inf"}' in metrics
    assert api.post("/pipelines/own/stop").json()["actual"] == "stopped"
    assert api.post("/pipelines/own/start").json()["actual"] == "running"
    assert api.post("/pipelines/own/stop").status == 200
    assert len(api.get("/sinks/k/rows").json()) == 4, "it went on from there"


def test_the_union_of_a_shared_stream_follows_its_pipelines(api: Asking, tmp_path: Path) -> None:
    def decoded() -> tuple[int, list[str]]:
        found = api.get("/shared/shared").json()
        return found["leaves_decoded"], [each["pipeline"] for each in found["consumers"]]

    assert api.post("/pipelines/one/start").status == 200
    assert decoded() == (1, ["one"])
    version = api.get("/shared/shared").json()["version"]
    assert api.post("/pipelines/two/start").status == 200
    assert decoded() == (2, ["one", "two"])
    assert api.get("/shared/shared").json()["version"] > version
    assert api.get("/streams/shared").json()["tree"][1]["children"][0]["needed_by"] == ["two"]
    (tmp_path / "in/1.json").write_text('{"a": 7, "b": {"c": 8}}')
    _until(lambda: {"a": 14, "c": 8} in api.get("/sinks/m/rows").json())
    _until(lambda: {"a": 7} in api.get("/sinks/m/rows").json())
    metrics = api.get("/metrics").text
    assert 'narrows_shared_union_leaves{stream="shared"} 2' in metrics
    assert re.search(r'narrows_sink_rows_total{pipeline="two",sink="m"} [1-9]', metrics)
    shared = api.get("/pipelines/two").json()["stats"]["shared"]["shared"]
    assert shared["decodes"] == "2 of 3 leaves"
    assert api.sql("STOP PIPELINE one, two").status == 200
    assert decoded()[1] == []


def test_queries_have_rows_and_limits(api: Asking) -> None:
    found = api.post("/queries", {"sql": "SELECT a, b FROM t ORDER BY a", "limit": 2}).json()
    assert found["rows"][1] == {"a": 1, "b": {"c": 1, "d": "x" * 50}}
    assert (found["more"], found["columns"][0]) == (True, {"name": "a", "type": "bigint"})
    accept = "application/vnd.apache.arrow.stream"
    arrow = api.post("/queries", {"sql": "SELECT a FROM t"}, accept=accept)
    assert sorted(pa.ipc.open_stream(arrow.body).read_all()["a"].to_pylist()) == [0, 1, 2]
    (answer,) = api.sql("SELECT count(*) AS n FROM t").json()["answers"]
    assert answer["rows"] == [{"n": 3}]


def test_a_query_that_nobody_waits_for_any_more_ends(api: Asking) -> None:
    began = time.monotonic()
    late = api.post("/queries", {"sql": ENDLESS, "timeout": 2, "id": "late"})
    assert (late.status, late.json()["code"]) == (504, "timed_out")
    answers = []
    body = {"sql": ENDLESS, "timeout": 10 * PATIENCE, "id": "mine"}
    asking = threading.Thread(target=lambda: answers.append(api.post("/queries", body)))
    asking.start()
    _until(lambda: ("mine", "running") in _queries(api))
    assert api.delete("/queries/mine").status == 204
    asking.join(PATIENCE)
    assert answers[0].json()["code"] == "cancelled"
    _until(lambda: _queries(api) == [])  # until then they would have all cores of Spark
    assert api.sql("SELECT count(*) AS n FROM t").json()["answers"][0]["rows"] == [{"n": 3}]
    assert api.delete("/queries/mine").status == 404
    assert time.monotonic() - began < PATIENCE, "it would have run for an hour"


def _queries(api: Asking) -> list[tuple[str, str]]:
    return [(query["id"], query["state"]) for query in api.get("/queries").json()]


def test_a_query_that_fails_says_why(api: Asking) -> None:
    failed = api.post("/queries", {"sql": "SELECT raise_error(concat('no ', a)) AS x FROM t"})
    assert (failed.status, failed.json()["code"]) == (502, "query_failed")
    assert "no 0" in failed.json()["detail"]


def test_rows_that_are_given_go_through_a_pipeline(api: Asking) -> None:
    rows = [{"a": 200, "b": {"c": 1}}, {"a": 5, "b": None}]
    found = api.post("/test", {"pipeline": "one", "rows": {"shared": rows}})
    assert found.json()["rows"] == [{"a": 5}]
    joined = "SELECT s.a, t.b->d AS d FROM s JOIN t ON s.a = t.a"
    body = {"sql": joined, "rows": {"s": [{"a": 1}], "t": [{"a": 1, "b": {"d": "y"}}]}}
    assert api.post("/test", body).json()["rows"] == [{"a": 1, "d": "y"}]
    wrong = api.post("/test", {"pipeline": "one", "rows": {"s": []}})
    assert wrong.json()["code"] == "unknown_source"
    assert api.get("/sinks/m/rows").json() == []


def test_a_service_that_is_killed_forgets_nothing(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path, kills=2, chance=random.Random(17))
