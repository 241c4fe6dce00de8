"""Rows that are posted to a real HTTP server: what is tried again, what is set aside, and keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from narrows import Catalog
from narrows.connectors.base import find_connector
from narrows.connectors.http.sink_client import _seconds, close_clients
from narrows.connectors.target import WriteSpec
from narrows.errors import Code, NarrowsError
from narrows.worker.write import publish, write_task
from support.certificates import Authority
from support.sink_targets import letters, write_spec
from support.webhook import TAKEN, Answer, Posted, Webhook


@pytest.fixture(autouse=True)
def _no_connections_are_left() -> Iterator[None]:
    yield
    close_clients()


def spec_of(folder: Path, url: str, **options: object) -> WriteSpec:
    return write_spec(folder, "http", url=url, **options)


def write(spec: WriteSpec, count: int, batch: int = 0, task: int = 0) -> None:
    ids = pa.array(range(count), pa.int64())
    texts = pa.array([f"t{number}" for number in range(count)])
    rows = pa.RecordBatch.from_arrays([ids, texts], names=["o0", "o1"])
    publish(spec, batch, [write_task(spec, iter([rows]), batch, task)])


def row(number: int) -> dict[str, Any]:
    return {"id": number, "t": f"t{number}"}


@pytest.mark.parametrize(
    ("layout", "kind", "requests"),
    [
        ("lines", "application/x-ndjson", [3, 3, 1]),
        ("list", "application/json", [3, 3, 1]),
        ("single", "application/json", [1] * 7),
    ],
)
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_rows_are_posted(
    tmp_path: Path, layout: str, kind: str, requests: list[int], compression: str
) -> None:
    with Webhook() as hook:
        spec = spec_of(
            tmp_path, hook.url, layout=layout, batch_rows=3, compression=compression, method="PUT"
        )
        write(spec, 7)
    assert hook.rows == [row(number) for number in range(7)]
    assert [len(posted.rows) for posted in hook.taken] == requests
    assert {posted.headers["content-type"] for posted in hook.taken} == {kind}
    assert {(posted.method, posted.path) for posted in hook.taken} == {("PUT", "/hook?x=1")}
    assert letters(tmp_path) == []


def test_requests_have_bounded_bytes(tmp_path: Path) -> None:
    with Webhook() as hook:
        write(spec_of(tmp_path, hook.url, batch_bytes=50), 10)
    assert hook.rows == [row(number) for number in range(10)]
    assert len(hook.taken) == 5


def test_keys_are_the_same_for_the_same_rows_and_for_no_others(tmp_path: Path) -> None:
    with Webhook() as hook:
        spec = spec_of(tmp_path, hook.url, batch_rows=2)
        for batch, task, count in ((0, 0, 4), (0, 0, 4), (0, 1, 4), (1, 0, 4), (0, 0, 3)):
            write(spec, count, batch, task)
    keys = [posted.headers["idempotency-key"] for posted in hook.taken]
    assert keys[0:2] == keys[2:4], "a batch that is run again"
    assert len(set(keys[2:])) == 7, "but rows that are cut in another way have another key"
    assert keys[8] == keys[0]
    assert all(key.startswith("life-") for key in keys)


@pytest.mark.parametrize("answer", [503, 500, 429, 408, 0])
def test_what_may_pass_is_tried_again(tmp_path: Path, answer: int) -> None:
    def third_time(posted: Posted) -> Answer:
        return TAKEN if len(hook.asked) > 2 else (answer, {"retry-after": "0"}, b"busy")

    with Webhook(third_time) as hook:
        write(spec_of(tmp_path, hook.url), 2)
    assert hook.rows == [row(0), row(1)]
    assert len(hook.asked) == 3
    assert len({posted.headers["idempotency-key"] for posted in hook.asked}) == 1


def test_a_receiver_that_takes_nothing_fails_the_task(tmp_path: Path) -> None:
    with Webhook(lambda posted: (503, {}, b"away")) as hook:
        spec = spec_of(tmp_path, hook.url, retry_for="500 ms")
        with pytest.raises(NarrowsError, match="takes nothing: 503 Service Unavailable: away") as e:
            write(spec, 1)
    assert e.value.code is Code.SINK_UNAVAILABLE


def test_it_waits_no_longer_than_it_may(tmp_path: Path) -> None:
    with (
        Webhook(lambda posted: (429, {"retry-after": "3600"}, b"")) as hook,
        pytest.raises(NarrowsError) as raised,
    ):
        write(spec_of(tmp_path, hook.url), 1)
    assert raised.value.code is Code.SINK_UNAVAILABLE
    assert len(hook.asked) == 1


def test_nobody_is_there(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "http://me:hush@127.0.0.1:1/x", retry_for="0 ms")
    with pytest.raises(NarrowsError, match=r"127\.0\.0\.1:1 takes nothing") as raised:
        write(spec, 1)
    assert "hush" not in str(raised.value)


def test_rows_that_are_refused_are_found_and_set_aside(tmp_path: Path) -> None:
    def no_sevens(posted: Posted) -> Answer:
        bad = [found for found in posted.rows if found["id"] % 10 == 7]
        return (422, {}, b'{"detail": "no \x1b[31msevens"}') if bad else TAKEN

    with Webhook(no_sevens) as hook:
        write(spec_of(tmp_path, hook.url, layout="list"), 40)
    assert sorted(found["id"] for found in hook.rows) == [n for n in range(40) if n % 10 != 7]
    found = letters(tmp_path)
    assert [json.loads(letter["payload"])["id"] for letter in found] == [7, 17, 27, 37]
    text = 'the receiver answers 422 Unprocessable Entity: {"detail": "no  [31msevens"}'
    assert {letter["reason"] for letter in found} == {text.replace("Entity", _entity())}


def _entity() -> str:
    from http import HTTPStatus

    return HTTPStatus(422).phrase.split()[-1]


def test_other_refusals_are_not_tried_again(tmp_path: Path) -> None:
    with Webhook(lambda posted: (409, {}, b"")) as hook:
        write(spec_of(tmp_path, hook.url), 3)
    assert len(hook.asked) == 1
    assert len(letters(tmp_path)) == 3


@pytest.mark.parametrize("status", [401, 403, 404, 302])
def test_where_no_row_is_to_blame_the_pipeline_fails(tmp_path: Path, status: int) -> None:
    with (
        Webhook(lambda posted: (status, {"location": "/"}, b"")) as hook,
        pytest.raises(NarrowsError, match=f"answers {status}") as raised,
    ):
        write(spec_of(tmp_path, hook.url), 3)
    assert raised.value.code is Code.REFUSED
    assert letters(tmp_path) == []


def test_secrets_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "hush")
    more = {"token": "${HOOK_TOKEN}", "header.`X-Api-Key`": "${HOOK_TOKEN}", "header.x": "y"}
    with Webhook() as hook:
        spec = spec_of(tmp_path, hook.url, **more)
        write(spec, 1)
    headers = hook.taken[0].headers
    assert headers["authorization"] == "Bearer hush"
    assert (headers["x-api-key"], headers["x"]) == ("hush", "y")
    assert "hush" not in str(spec)


def test_a_receiver_with_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "certificates")
    with Webhook(certificate=authority.sign("server")) as hook:
        write(spec_of(tmp_path, hook.url, ca_file=authority.file), 2)
        strangers = spec_of(tmp_path, hook.url, retry_for="0 ms")
        with pytest.raises(NarrowsError, match="certificate verify failed"):
            write(strangers, 1)
    assert hook.rows == [row(0), row(1)]


def test_user_and_password(tmp_path: Path) -> None:
    with Webhook() as hook:
        url = f"http://me:p%40ss@{hook.address}/"
        write(spec_of(tmp_path, url), 1)
        close_clients()
        write(spec_of(tmp_path, hook.url, username="me", password="p@ss"), 1)
    found = {posted.headers["authorization"] for posted in hook.taken}
    assert found == {"Basic bWU6cEBzcw=="}


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("url", "'ftp://h/'", "takes an address like"),
        ("url", "'http://h/a b'", "takes an address like"),
        ("layout", "'xml'", "is one of lines, list, single"),
        ("batch_rows", "0", "is at least 1"),
        ("header.host", "'h'", "is no header that can be set"),
        ("header.`a b`", "'h'", "is no header that can be set"),
        ("format", "'parquet'", "parquet"),
    ],
)
def test_options_that_are_wrong(option: str, value: str, message: str) -> None:
    given = {"url": "'http://h'", option: value}
    texts = ", ".join(f"{name} = {text}" for name, text in given.items())
    with pytest.raises(NarrowsError, match=message):
        Catalog().execute(f"CREATE SINK s WITH (connector = 'http', {texts})")


def test_when_to_try_again() -> None:
    assert _seconds("7") == 7
    assert _seconds("Thu, 01 Jan 1970 00:00:00 GMT") == 0
    assert _seconds("soon") is _seconds(None) is None


def test_what_it_promises() -> None:
    assert find_connector("http").promises({}) == "at least once"
