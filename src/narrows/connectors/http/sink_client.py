"""Requests of a webhook: sent over a connection that a worker keeps, and tried again.

The standard library's client is all that this takes: one request at a time, a connection that stays
open, TLS. Redirects are not followed: who gets the rows is what the statement says.
"""

from __future__ import annotations

import base64
import email.utils
import gzip
import http.client
import random
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from narrows import __version__
from narrows.connectors.http.sink_options import HEADER
from narrows.connectors.target import SinkTarget
from narrows.errors import Code, fail
from narrows.plugins.options import parse_duration
from narrows.plugins.secrets import resolved

_TRY_AGAIN = (408, 425, 429)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 30.0
_SHOWN = 300
"""Bytes of an answer that are worth showing."""
_LONGEST_ANSWER = 1 << 20
"""Bytes of an answer that are read; a connection with more to come is not used again."""


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    reason: str
    """For people: `422 Unprocessable Entity: no such site`."""
    retry_after: float | None = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def may_pass(self) -> bool:
        """Is it worth another try?"""
        return self.status in _TRY_AGAIN or self.status >= 500


class WebhookClient:
    def __init__(self, target: SinkTarget) -> None:
        given: dict[str, Any] = dict(target.options)
        options: Mapping[str, Any] = resolved(given)
        url = urlsplit(str(options["url"]))
        if not url.hostname or url.scheme not in ("http", "https"):
            raise fail(Code.INVALID_OPTION, "option `url` is no address like `https://host/path`")
        self.host = url.netloc.rpartition("@")[2]
        self._sink = target.sink
        self._path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        self._method = str(options["method"])
        self._packs = options["compression"] == "gzip"
        self._timeout = (parse_duration(str(options["timeout"])) or 0) / 1_000
        self._retry_for = (parse_duration(str(options["retry_for"])) or 0) / 1_000
        self._headers = {"user-agent": f"narrows/{__version__}", **_headers(options, url)}
        port = url.port
        self._connection: http.client.HTTPConnection
        if url.scheme == "https":
            context = ssl.create_default_context(cafile=options.get("ca_file"))
            self._connection = http.client.HTTPSConnection(
                url.hostname, port, timeout=self._timeout, context=context
            )
        else:
            self._connection = http.client.HTTPConnection(url.hostname, port, timeout=self._timeout)

    def send(self, body: bytes, kind: str, key: str) -> HttpAnswer:
        """Sends a request until there is an answer that trying again will not change."""
        headers = {"content-type": kind, **self._headers, "idempotency-key": key}
        if self._packs:
            body = gzip.compress(body, mtime=0)
            headers["content-encoding"] = "gzip"
        began, pause = time.monotonic(), _FIRST_PAUSE
        while True:
            wait = None
            is_fresh = self._connection.sock is None
            try:
                answer = self._ask(body, headers)
                if not answer.may_pass:
                    return answer
                said, wait = answer.reason, answer.retry_after
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if not is_fresh and not isinstance(error, TimeoutError):
                    continue  # it was kept for too long; the next one is new
                said = str(error) or type(error).__name__
            wait = random.uniform(pause / 2, pause) if wait is None else wait
            if time.monotonic() + wait - began > self._retry_for:
                text = f"sink `{self._sink}`: {self.host} takes nothing: {said}"
                raise fail(Code.SINK_UNAVAILABLE, text)
            time.sleep(wait)
            pause = min(_LONGEST_PAUSE, pause * 2)

    def close(self) -> None:
        self._connection.close()

    def _ask(self, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        self._connection.request(self._method, self._path, body, dict(headers))
        response = self._connection.getresponse()
        said = response.read(_LONGEST_ANSWER)
        if not response.isclosed():
            self._connection.close()
        text = "".join(c if c.isprintable() else " " for c in said.decode("utf-8", "replace"))
        status = f"{response.status} {response.reason}"
        reason = f"{status}: {text[:_SHOWN].strip()}" if text.strip() else status
        return HttpAnswer(response.status, reason, _seconds(response.getheader("retry-after")))


def _headers(options: Mapping[str, Any], url: Any) -> dict[str, str]:
    headers: dict[str, str] = {}
    user = options.get("username") or (unquote(url.username) if url.username else None)
    password = options.get("password") or unquote(url.password or "")
    if user is not None:
        both = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
        headers["authorization"] = f"Basic {both}"
    if "token" in options:
        headers["authorization"] = f"Bearer {options['token']}"
    more = {name: value for name, value in options.items() if name.startswith(HEADER)}
    return headers | {name.removeprefix(HEADER).lower(): str(value) for name, value in more.items()}


def _seconds(retry_after: str | None) -> float | None:
    """How long somebody wants us to wait: seconds, or a date."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(min(int(retry_after), 1 << 31))
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None


_CLIENTS: dict[SinkTarget, WebhookClient] = {}
"""Those of this worker, which are used by one task at a time."""


def client_of(target: SinkTarget) -> WebhookClient:
    if target not in _CLIENTS:
        _CLIENTS[target] = WebhookClient(target)
    return _CLIENTS[target]


def close_clients() -> None:
    for client in _CLIENTS.values():
        client.close()
    _CLIENTS.clear()
