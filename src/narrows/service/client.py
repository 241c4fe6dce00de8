"""A running service, asked by HTTP: for Python and for the command line.

    with narrows.connect(server="http://127.0.0.1:8765") as service:
        service.execute("START PIPELINE low_pressure")
        print(service.status()["low_pressure"]["actual"])

It needs the standard library only: whoever asks a service need not have what one is made of.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any, Self
from urllib.parse import quote, urlencode

from narrows.errors import Code, NarrowsError, Problem, Span, fail

DEFAULT_SERVER = "http://127.0.0.1:8765"
_PAGE = 1000


class Client:
    """A service. What it refuses is raised as it would be by a session of one's own."""

    def __init__(
        self, server: str, *, token: str | None = None, timeout: float | None = 300.0
    ) -> None:
        if not server.startswith(("http://", "https://")):
            raise fail(Code.INVALID_OPTION, f"`{server}` is no address of a service", hint=_HINT)
        self.server = server.rstrip("/")
        self._token = token if token is not None else os.environ.get("NARROWS_TOKEN")
        self._timeout = timeout

    # --- statements -------------------------------------------------------------------------------

    def execute(self, sql: str, *, limit: int = 1000, timeout: float = 60) -> list[dict[str, Any]]:
        """Executes statements in order; the answers of all of them."""
        body = {"sql": sql, "limit": limit, "timeout": timeout}
        answers = self._ask("POST", "/statements", body, text=sql)["answers"]
        assert isinstance(answers, list)
        return answers

    def explain(self, sql: str, mode: str = "default", *, pruning: bool = True) -> dict[str, Any]:
        """What a query would decode: `text`, `plan`, `mermaid`, `reads`, `notices`."""
        body = {"sql": sql, "mode": mode, "pruning": pruning}
        return self._object("POST", "/explain", body, text=sql)

    def query(self, sql: str, *, limit: int = 1000, timeout: float = 60) -> list[dict[str, Any]]:
        """The rows of a query over what is there now."""
        body = {"sql": sql, "limit": limit, "timeout": timeout}
        rows = self._ask("POST", "/queries", body, text=sql)["rows"]
        assert isinstance(rows, list)
        return rows

    def rows(self, sink: str, *, limit: int = 100) -> list[dict[str, Any]]:
        """The last rows of a console or memory sink."""
        found = self._ask("GET", f"/sinks/{_part(sink)}/rows?{urlencode({'limit': limit})}")
        assert isinstance(found, list)
        return found

    def export(self) -> str:
        """The whole catalog as statements."""
        with self._open("GET", "/export") as answer:
            return answer.read().decode("utf-8")

    def metrics(self) -> str:
        """What Prometheus reads."""
        with self._open("GET", "/metrics") as answer:
            return answer.read().decode("utf-8")

    # --- pipelines --------------------------------------------------------------------------------

    def status(self) -> dict[str, dict[str, Any]]:
        """All pipelines by name: what each shall do, and what it does."""
        found: list[dict[str, Any]] = []
        while True:
            wanted = urlencode({"offset": len(found), "limit": _PAGE})
            page = self._object("GET", f"/pipelines?{wanted}")
            found.extend(page["items"])
            if not page["items"] or len(found) >= page["total"]:
                return {pipeline["name"]: pipeline for pipeline in found}

    def pipeline(self, name: str) -> dict[str, Any]:
        """One pipeline with everything that is known of it."""
        return self._object("GET", f"/pipelines/{_part(name)}")

    def start(self, name: str) -> dict[str, Any]:
        return self._object("POST", f"/pipelines/{_part(name)}/start")

    def stop(self, name: str) -> dict[str, Any]:
        return self._object("POST", f"/pipelines/{_part(name)}/stop")

    def restart(self, name: str) -> dict[str, Any]:
        return self._object("POST", f"/pipelines/{_part(name)}/restart")

    def tail(self, name: str, *, last: int = 10, count: int | None = None) -> Iterator[Any]:
        """The rows of a pipeline as they come: `{"sink": ..., "row": ...}`."""
        wanted = {"last": last} | ({} if count is None else {"count": count})
        yield from self._events(f"/pipelines/{_part(name)}/rows?{urlencode(wanted)}", "row")

    def events(self, name: str, *, count: int | None = None) -> Iterator[Any]:
        """How a pipeline is going, every second."""
        wanted = {} if count is None else {"count": count}
        path = f"/pipelines/{_part(name)}/events?{urlencode(wanted)}"
        yield from self._events(path, "progress")

    # --- end --------------------------------------------------------------------------------------

    def close(self) -> None:
        """Nothing to end: each request is by itself. The service goes on."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- asking -----------------------------------------------------------------------------------

    def _object(
        self, method: str, path: str, body: object = None, text: str | None = None
    ) -> dict[str, Any]:
        found = self._ask(method, path, body, text)
        assert isinstance(found, dict)
        return found

    def _ask(self, method: str, path: str, body: object = None, text: str | None = None) -> Any:
        with self._open(method, path, body, text) as answer:
            return json.load(answer)

    def _events(self, path: str, wanted: str) -> Iterator[Any]:
        with self._open("GET", path) as answer:
            kind = ""
            for line in answer:
                field, _, value = line.decode("utf-8").rstrip("\n").partition(": ")
                if field == "event":
                    kind = value
                elif field == "data" and kind == wanted:
                    yield json.loads(value)

    def _open(
        self, method: str, path: str, body: object = None, text: str | None = None
    ) -> HTTPResponse:
        data = None if body is None else json.dumps(body).encode("utf-8")
        headers = {} if data is None else {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self.server + path, data, headers, method=method)
        try:
            answer = urllib.request.urlopen(request, timeout=self._timeout)
            assert isinstance(answer, HTTPResponse)
            return answer
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error, text) from None
        except OSError as error:
            reason = getattr(error, "reason", error)
            message = f"no service answers at `{self.server}`: {reason}"
            raise fail(Code.NOT_READY, message, hint=_HINT) from None


_HINT = "start one with `narrows serve`, and set NARROWS_SERVER where it does not listen at the\
 usual place"


def _part(name: str) -> str:
    """A name as a part of a path."""
    return quote(name, safe="")


def _refused(error: urllib.error.HTTPError, text: str | None) -> NarrowsError:
    """The error as the service's planner raised it, with the text that its spans point into."""
    try:
        body = json.load(error)
        problems = [_problem(each) for each in body["problems"]]
        message = str(body["detail"])
    except (ValueError, KeyError, TypeError):
        problems, message = [], f"{error.code} {error.reason}"
    if not problems:
        hint = "set NARROWS_TOKEN to the token of the service" if error.code == 401 else None
        return fail(Code.REFUSED, f"the service refuses: {message}", hint=hint)
    refused = NarrowsError(*problems)
    return refused if text is None else refused.located(text)


def _problem(found: dict[str, Any]) -> Problem:
    span = found["span"]
    return Problem(
        Code(found["code"]),
        str(found["message"]),
        None if span is None else Span(span["start"], span["end"]),
        found["hint"],
    )
