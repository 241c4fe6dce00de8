"""Asks a service whatever its OpenAPI allows, and what it does not: it must answer as it says.

Schemathesis makes requests of the description, good ones and bad ones. Left to itself it would ask
for names that nobody has declared and send texts that are no SQL, so in half of them these come out
of a list. What must hold of an answer: it comes in time, it is no 500, its status is one that the
operation documents, and its body is what the description says of that status.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import checks

from support.service import Asking

DECLARED = """
CREATE OR REPLACE STREAM s (a BIGINT, b STRUCT<c: BIGINT, d: ARRAY<STRUCT<x: INT>>>, `ü x` STRING)
WITH (connector = 'file', path = '{folder}/in');
CREATE OR REPLACE STREAM shared (a BIGINT, name STRING)
WITH (connector = 'file', path = '{folder}/in', shared = true);
CREATE OR REPLACE STREAM pushed (a BIGINT) WITH (connector = 'http', max_request_bytes = 1000);
CREATE OR REPLACE TABLE t (a BIGINT, name STRING) WITH (connector = 'file', path = '{folder}/t');
CREATE OR REPLACE SINK k WITH (connector = 'memory');
CREATE OR REPLACE SINK f WITH (connector = 'file', path = '{folder}/out');
CREATE OR REPLACE PIPELINE p INTO k AS SELECT a, b->d[0]->x AS x FROM s;
CREATE OR REPLACE PIPELINE q INTO k, f AS SELECT a FROM shared
"""
_NAMES = (
    "s",
    "shared",
    "pushed",
    "t",
    "k",
    "f",
    "p",
    "q",
    "P",
    "ü x",
    "nobody",
    "a/b",
    "a..b",
    "%2e",
    "`",
)
_SQL = (
    "SELECT a, b->d[0]->x FROM s WHERE a > 1",
    "SELECT name, count(*) FROM t GROUP BY name",
    "SELECT s.a FROM s JOIN t ON s.a = t.a",
    "SELECT nothing, b->e FROM s",
    "SELECT aggregate(sequence(1, 3), 0, (x, y) -> x + y) FROM t ORDER BY 1",
    "SHOW PIPELINES; SHOW STREAMS; DESCRIBE STREAM s",
    "EXPLAIN PIPELINE q; EXPLAIN SHARED STREAM shared; EXPLAIN VERBOSE SELECT * FROM t",
    "CREATE OR REPLACE PIPELINE r INTO k AS SELECT * FROM shared; DROP PIPELINE r",
    "CREATE SINK `ü x` WITH (connector = 'memory'); DROP SINK `ü x`",
    "START PIPELINE p; STOP PIPELINE p, q",
    "EXPLAIN ANALYZE SELECT a FROM t; ANALYZE TABLE t",
    "SET narrows.rule.filter_pushdown = off",
    "SELECT 'ends nowhere",
    "SELECT a FROM s;;; -- and nothing",
    "\ud800",
)
_CHECKED = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
_ANSWERED_WITHIN = 60.0
_EVENTS = ("/pipelines/{name}/events", "/pipelines/{name}/rows")


@dataclass
class Fuzzed:
    operations: int = 0
    requests: int = 0


def fuzz(api: Asking, folder: str, examples: int, number: int = 17) -> Fuzzed:
    """So many good and as many bad requests for each operation; what is wrong is raised."""
    done = Fuzzed()
    schema = schemathesis.openapi.from_url(f"{api.url}/openapi.json")
    found: Any
    for found in schema.get_all_operations():
        operation = found.ok()
        _declare(api, folder)
        done.operations += 1
        good, bad = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
        done.requests += _fuzz_operation(operation, good, examples, number)
        if list(operation.body) or list(operation.query):
            # Else there is nothing to be bad: any name is a name. And any bytes are bytes.
            with contextlib.suppress(Unsatisfiable):
                done.requests += _fuzz_operation(operation, bad, examples, number)
    return done


def _declare(api: Asking, folder: str) -> None:
    """What was there in the beginning, whatever has become of it."""
    api.sql("STOP PIPELINE p")
    api.sql("STOP PIPELINE q")
    answer = api.sql(DECLARED.replace("{folder}", folder))
    assert answer.status == 200, answer.text


def _fuzz_operation(operation: Any, mode: Any, examples: int, number: int) -> int:
    sent = 0

    @seed(number)
    @settings(
        max_examples=examples,
        phases=[Phase.generate],  # what fails fails as it is: the service has changed since
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def ask(case: Any, data: st.DataObject) -> None:
        nonlocal sent
        sent += 1
        _speak_of_what_there_is(case, data)
        answer = case.call(timeout=_ANSWERED_WITHIN)
        assert answer.status_code != 500, f"{case.as_curl_command()}: {answer.content!r}"
        case.validate_response(answer, checks=_CHECKED)

    ask()
    return sent


def _speak_of_what_there_is(case: Any, data: st.DataObject) -> None:
    if case.operation.path in _EVENTS:  # they would go on for ever
        case.query = {**(case.query or {}), "count": 1}
    for named in (case.path_parameters, case.body):
        if not isinstance(named, dict):
            continue
        for key in ("name", "pipeline", "id"):
            if isinstance(named.get(key), str) and data.draw(st.booleans()):
                named[key] = data.draw(st.sampled_from(_NAMES))
        for key in ("sql", "query"):
            if isinstance(named.get(key), str) and data.draw(st.booleans()):
                named[key] = data.draw(st.sampled_from(_SQL))
