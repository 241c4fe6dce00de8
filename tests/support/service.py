"""A service for tests: the real application on a free port, with or without a Spark behind it."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import uvicorn

from narrows.errors import Code, fail
from narrows.planner.catalog import Catalog
from narrows.service.core import OpenSession, Service
from narrows.service.http.app import create_app
from narrows.state.folder import StateFolder


def no_spark(state: StateFolder, catalog: Catalog) -> NoReturn:
    raise fail(Code.SPARK_NOT_STARTED, "there is no Spark in this test")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Asking:
    """Asks a service, and takes whatever it answers."""

    url: str
    service: Service

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, **headers)

    def post(self, path: str, body: object = None, **headers: str) -> Answer:
        return self.ask("POST", path, body, **headers)

    def delete(self, path: str) -> Answer:
        return self.ask("DELETE", path, None)

    def sql(self, sql: str) -> Answer:
        return self.post("/statements", {"sql": sql})

    def ask(self, method: str, path: str, body: object, **headers: str) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        sent = {"content-type": "application/json"} if data is not None else {}
        return self.send(method, path, data, {**sent, **headers})

    def send(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> Answer:
        """Sends bytes as they are."""
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as found:
                return _answer(found.status, found)
        except urllib.error.HTTPError as error:
            with error:
                return _answer(error.code, error)


def _answer(status: int, found: Any) -> Answer:
    headers = {name.lower(): value for name, value in found.headers.items()}
    return Answer(status, headers, found.read())


@contextmanager
def served(
    state: Path,
    open_session: OpenSession = no_spark,
    *,
    files: Sequence[Path] = (),
    token: str | None = None,
    allowed: Sequence[Path] = (),
) -> Iterator[Asking]:
    """A service that runs in this process."""
    service = Service(StateFolder(state), open_session, allowed=allowed)
    service.open(files)
    app = create_app(service, token=token)
    config = uvicorn.Config(app, port=0, log_config=None, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="test-server")
    thread.start()
    try:
        deadline = time.monotonic() + 60
        while not server.started:
            assert thread.is_alive(), "the service did not start"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Asking(f"http://127.0.0.1:{port}", service)
    finally:
        service.closing.set()
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()
