"""Payloads that are pushed to a stream: on the disk when they are answered, and once."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from narrows.connectors.base import find_connector
from narrows.connectors.received.consumers import Consumers
from narrows.service.replay import declaration_of
from narrows.sql.scope import Name
from support.received import payloads_in
from support.service import Answer, Asking, served

DECLARED = """
CREATE STREAM s (a BIGINT)
WITH (connector = 'http', sync_interval = '0 ms', max_request_bytes = 20000);
CREATE STREAM small (a BIGINT)
WITH (connector = 'http', sync_interval = '0 ms', max_log_bytes = 6000);
CREATE STREAM files (a BIGINT) WITH (connector = 'file', path = 'in');
"""
NDJSON = "application/x-ndjson"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Asking]:
    with served(tmp_path / "state") as asking:
        assert asking.sql(DECLARED).status == 200
        yield asking


def push(api: Asking, body: bytes, stream: str = "s", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.send("POST", f"/streams/{stream}/payloads", body, named)


def log_of(api: Asking, stream: str = "s") -> Path:
    return api.service.state.received("http") / stream


def payloads(api: Asking, stream: str = "s") -> list[bytes]:
    return list(payloads_in(log_of(api, stream)).values())


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("application/json", b'{"a": 1}', [b'{"a": 1}']),
        ("application/json", b' [{"a": 1.0}, {"a":\n2}]\n', [b'{"a": 1.0}', b'{"a":\n2}']),
        ("application/json; charset=utf-8", b"[]", []),
        ("application/cloudevents+json", b'{"a": 1}', [b'{"a": 1}']),
        (NDJSON, b'{"a": 1}\r\n\n{"a": 2}\n', [b'{"a": 1}', b'{"a": 2}']),
        ("text/csv", b"1,2\n3,4", [b"1,2", b"3,4"]),
        ("application/octet-stream", b'[{"a": 1}]\n', [b'[{"a": 1}]\n']),
        ("text/plain", b"", [b""]),
    ],
)
def test_payloads_by_what_the_body_is(
    api: Asking, kind: str, body: bytes, expected: list[bytes]
) -> None:
    for packed in (False, True):
        sent = gzip.compress(body, mtime=0) if packed else body
        encoding = {"content_encoding": "gzip"} if packed else {}
        answer = push(api, sent, content_type=kind, **encoding)
        assert (answer.status, answer.json()) == (
            200,
            {"payloads": len(expected), "repeated": False},
        )
    assert payloads(api) == expected * 2


def test_what_is_answered_is_there_after_a_restart_and_is_taken_once(tmp_path: Path) -> None:
    body = b'{"a": 1}\n{"a": 2}'
    with served(tmp_path / "state") as api:
        api.sql(DECLARED)
        first = push(api, body, content_type=NDJSON, idempotency_key="k-1")
        again = push(api, body, content_type=NDJSON, idempotency_key="k-1")
        assert first.json() == {"payloads": 2, "repeated": False}
        assert again.json() == {"payloads": 2, "repeated": True}
    with served(tmp_path / "state") as api:
        assert push(api, body, content_type=NDJSON, idempotency_key="k-1").json()["repeated"]
        assert not push(api, b"{}", idempotency_key="k-2").json()["repeated"]
        assert payloads(api) == [b'{"a": 1}', b'{"a": 2}', b"{}"]


def test_keys_outlive_the_payloads_that_they_came_with(api: Asking) -> None:
    consumers = Consumers(log_of(api, "small"))
    for number in range(20):  # more than the log holds
        assert push(api, b"x" * 1_000, "small", idempotency_key=f"{number}").status == 200
        consumers.begin("reader", 0)
        consumers.advance("reader", number + 1)
    assert len(payloads(api, "small")) < 10
    assert all(
        push(api, b"x", "small", idempotency_key=f"{n}").json()["repeated"] for n in range(20)
    )


def test_a_key_that_is_pushed_by_many_at_once_is_taken_once(api: Asking) -> None:
    answers: list[Answer] = []
    threads = [
        threading.Thread(target=lambda: answers.append(push(api, b"{}", idempotency_key="one")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status for answer in answers] == [200] * 8
    assert payloads(api) == [b"{}"]


def test_a_full_log_says_so_and_takes_again_when_it_was_read(api: Asking) -> None:
    Consumers(log_of(api, "small")).begin("reader", 0)
    taken = 0
    while (answer := push(api, b"%04d" % taken + b"x" * 1_000, "small")).status == 200:
        taken += 1
    assert (answer.status, answer.json()["code"]) == (429, "source_full")
    assert answer.headers["retry-after"] == "1"
    assert len(payloads(api, "small")) == taken
    Consumers(log_of(api, "small")).advance("reader", taken)
    assert push(api, b"again", "small").status == 200
    assert payloads(api, "small")[-1] == b"again"


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (422, b'[{"a": 1}', {"content_type": "application/json"}),
        (422, b"no gzip", {"content_encoding": "gzip"}),
        (422, gzip.compress(b"x" * 1_000, mtime=0)[:-20], {"content_encoding": "gzip"}),
        (422, b"x", {"content_encoding": "br"}),
        (422, b"x", {"idempotency_key": "k" * 256}),
        (413, b"x" * 20_001, {}),
        (413, gzip.compress(b"x" * 20_001, mtime=0), {"content_encoding": "gzip"}),
        (413, gzip.compress(bytes(30_000_000), mtime=0), {"content_encoding": "gzip"}),
    ],
)
def test_what_cannot_be_taken_leaves_nothing(
    api: Asking, status: int, body: bytes, headers: dict[str, str]
) -> None:
    assert push(api, body, **headers).status == status
    assert payloads(api) == []


def test_streams_that_nobody_can_push_to(api: Asking) -> None:
    assert push(api, b"{}", "nobody").status == 404
    answer = push(api, b"{}", "files")
    assert (answer.status, answer.json()["code"]) == (400, "not_supported")


def test_a_stream_that_is_dropped_begins_anew(api: Asking) -> None:
    push(api, b"old", idempotency_key="k")
    assert api.delete("/streams/s").status == 204
    api.sql(DECLARED.split(";")[0])
    assert not push(api, b"new", idempotency_key="k").json()["repeated"]
    assert payloads(api) == [b"new"]


def test_secrets_among_headers_are_not_kept(api: Asking) -> None:
    push(api, b"{}", authorization="Bearer hush", x_api_key="hush", cookie="hush", x_site="north")
    (file,) = log_of(api).glob("*.received")
    data = file.read_bytes()
    assert b"hush" not in data
    assert b"north" in data


def test_the_token_guards_it(tmp_path: Path) -> None:
    with served(tmp_path / "state", token="let me in") as api:
        api.post("/statements", {"sql": DECLARED}, authorization="Bearer let me in")
        assert push(api, b"{}").status == 401
        assert push(api, b"{}", authorization="Bearer let me in").status == 200


def test_payloads_with_the_same_id_are_taken_once(api: Asking) -> None:
    """Whatever requests they come in; but what is put back is put back."""
    api.sql(
        DECLARED.split(";")[0]
        .replace("CREATE STREAM s", "CREATE STREAM ids")
        .replace("WITH (", "WITH (dedupe_by = 'a', ")
    )
    lines = b'{"a": 1}\n{"a": 2}\n{"a": 1}\n{}\n{}'
    for key in ("one", "two"):
        answer = push(api, lines, "ids", content_type=NDJSON, idempotency_key=key)
        assert answer.json() == {"payloads": 5, "repeated": False}
    assert push(api, lines, "ids", content_type=NDJSON, idempotency_key="two").json()["repeated"]
    assert payloads(api, "ids") == [b'{"a": 1}', b'{"a": 2}', b"{}", b"{}", b"{}", b"{}"]
    stream = api.service.catalog.find_source(Name("ids", None))
    put_back = find_connector("http").put_back
    assert put_back is not None
    for _ in range(2):
        put_back(declaration_of(api.service.state, stream), "letter", b'{"a": 1}')
    assert payloads(api, "ids")[6:] == [b'{"a": 1}']


def test_dead_letters_are_put_back_once(api: Asking) -> None:
    """What was bad and can be read by now comes again, at the end of the log."""
    folder = api.service.state.dead_letters("s")
    folder.mkdir(parents=True)
    letter = {"source": "s", "reason": "it was bad", "payload": '{"a": 1}', "number": 0}
    (folder / "one.ndjson").write_text(json.dumps(letter) + "\n")
    for expected in ("replayed", "already"):
        answer = api.post("/dead-letters/s/replay", {}).json()
        assert len(answer[expected]) == 1
    assert payloads(api) == [b'{"a": 1}']
