"""Payloads that are pushed to a service, through a pipeline, to a webhook: nothing is missing."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

from narrows.planner.catalog import Catalog
from narrows.spark.session import Session
from narrows.state.folder import StateFolder
from support.service import Asking, served
from support.waiting import await_that
from support.webhook import TAKEN, Answer, Posted, Webhook


def push(api: Asking, first: int, end: int) -> None:
    lines = "\n".join(json.dumps({"n": n, "deep": {"a": -n}}) for n in range(first, end))
    headers = {"content-type": "application/x-ndjson", "idempotency-key": f"{first}-{end}"}
    answer = api.send("POST", "/streams/s/payloads", lines.encode(), headers)
    assert (answer.status, answer.json()["payloads"]) == (200, end - first)


def test_from_push_to_webhook(spark: SparkSession, tmp_path: Path) -> None:
    """Also what is pushed while the pipeline stands still, and over a restart of the service."""

    def open_session(state: StateFolder, catalog: Catalog) -> Session:
        return Session(spark, state=state, pruning=True, catalog=catalog, owns_spark=False)

    def no_thirteen(posted: Posted) -> Answer:
        bad = any(row["n"] == 13 for row in posted.rows)
        return (422, {}, b"no such number") if bad else TAKEN

    with Webhook(no_thirteen) as hook:
        sql = f"""
            CREATE STREAM s (n BIGINT, deep STRUCT<a: BIGINT>) WITH (connector = 'http');
            CREATE SINK k WITH (connector = 'http', url = '{hook.url}', layout = 'list');
            CREATE PIPELINE p INTO k AS SELECT n, deep->a * 2 AS a,
              filter(_headers, h -> h->key = 'idempotency-key')[0]->value AS pushed FROM s
        """

        def has(end: int) -> bool:
            return {row["n"] for row in hook.rows} >= set(range(end)) - {13}

        with served(tmp_path / "state", open_session) as api:
            assert api.sql(sql).status == 200
            push(api, 0, 50)
            assert api.post("/pipelines/p/start").json()["actual"] == "running"
            push(api, 50, 100)
            push(api, 50, 100)  # the answer got lost
            await_that(lambda: has(100), "all were posted")
            assert api.post("/pipelines/p/stop").json()["actual"] == "stopped"
            push(api, 100, 150)
        with served(tmp_path / "state", open_session) as api:
            push(api, 100, 150)
            assert api.post("/pipelines/p/start").json()["actual"] == "running"
            await_that(lambda: has(150), "what came meanwhile, too")
            counted = api.sql("SELECT count(*) AS n FROM s").json()["answers"][0]["rows"]
            assert counted == [{"n": 150}]
            (letter,) = api.get("/dead-letters/k").json()["items"]
            assert "no such number" in letter["reason"]
            assert api.post("/pipelines/p/stop").json()["actual"] == "stopped"
    rows = {row["n"]: row for row in hook.rows}  # one that is stopped may post rows again
    assert sorted(rows) == [n for n in range(150) if n != 13]
    assert rows[121] == {"n": 121, "a": -242, "pushed": "100-150"}
