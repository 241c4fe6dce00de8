"""Somebody who takes posted rows: a real HTTP server on a free port that answers as it is told."""

from __future__ import annotations

import gzip
import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from support.certificates import Certificate


@dataclass(frozen=True)
class Posted:
    """A request that has come."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def rows(self) -> list[Any]:
        """What is in it, by its type."""
        if self.headers["content-type"] == "application/x-ndjson":
            return [json.loads(line) for line in self.body.splitlines()]
        found = json.loads(self.body)
        return found if isinstance(found, list) else [found]


Answer = tuple[int, dict[str, str], bytes]
TAKEN: Answer = (200, {}, b"")


class Webhook:
    """`answer` says what becomes of a request; all are taken if there is none."""

    def __init__(
        self,
        answer: Callable[[Posted], Answer] = lambda posted: TAKEN,
        certificate: Certificate | None = None,
    ) -> None:
        self.asked: list[Posted] = []
        self.taken: list[Posted] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_request(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                if headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                posted = Posted(self.command, self.path, headers, body)
                hook.asked.append(posted)
                status, more, said = answer(posted)
                if status == 0:  # no answer at all
                    self.close_connection = True
                    return
                if 200 <= status < 300:
                    hook.taken.append(posted)
                self.send_response(status)
                for name, value in {**more, "content-length": str(len(said))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(said)

            do_POST = do_PUT = do_PATCH = handle_request  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._scheme = "http" if certificate is None else "https"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate.cert, certificate.key)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.address}/hook?x=1"

    @property
    def rows(self) -> list[Any]:
        """All rows that were taken, in the order in which they came."""
        return [row for posted in self.taken for row in posted.rows]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
