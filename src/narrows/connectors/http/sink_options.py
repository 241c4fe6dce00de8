"""What a webhook declares: rows that are posted to somebody."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from narrows.connectors.base import SinkConnector
from narrows.connectors.target import SinkTarget
from narrows.plugins.options import REFERENCE, OptionSpec, OptionValue

HEADER: Final = "header."
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OURS = ("content-length", "transfer-encoding", "host", "connection", "idempotency-key")


def _no_url(option: str, value: OptionValue) -> str | None:
    if REFERENCE.search(str(value)):
        return None
    rule = "takes an address like `https://host/path`"
    try:
        url = urlsplit(str(value))
        is_right = bool(url.hostname) and url.scheme in ("http", "https") and url.port != 0
    except ValueError:
        return rule
    printable = str(value).isascii() and str(value).isprintable() and " " not in str(value)
    return None if is_right and printable and not url.fragment else rule


def _no_header(option: str, value: OptionValue) -> str | None:
    name = option.removeprefix(HEADER)
    if not _HEADER_NAME.fullmatch(name) or name.lower() in _OURS:
        return "is no header that can be set"
    shown = str(value)
    return None if shown.isprintable() else "takes a text of one line"


SINK_OPTIONS: Final = (
    OptionSpec("url", "where rows go: `https://host/path`", required=True, refuses=_no_url),
    OptionSpec("method", "of the requests", default="POST", choices=("POST", "PUT", "PATCH")),
    OptionSpec(
        "layout",
        "what a request has: rows one a `lines`, a JSON `list` of them, or one row, `single`",
        default="lines",
        choices=("lines", "list", "single"),
    ),
    OptionSpec("batch_rows", "rows of a request, at most", type=int, default=500, least=1),
    OptionSpec("batch_bytes", "bytes of a request, about", type=int, default=1 << 20, least=1),
    OptionSpec("compression", "of requests", default="none", choices=("none", "gzip")),
    OptionSpec("token", "sent as `Authorization: Bearer ...`: `'${HOOK_TOKEN}'`"),
    OptionSpec("username", "who asks, where the receiver wants a user and a password"),
    OptionSpec("password", "the password of that user: `'${HOOK_PASSWORD}'`"),
    OptionSpec(f"{HEADER}*", "more headers: `` header.`x-site` = 'north' ``", refuses=_no_header),
    OptionSpec("ca_file", "certificates that the receiver's must be signed by; else the system's"),
    OptionSpec("timeout", "how long an answer may take", default="30 seconds", duration=True),
    OptionSpec(
        "retry_for",
        "how long a request is tried again before the task fails",
        default="2 minutes",
        duration=True,
    ),
)


def make_sink(target: SinkTarget) -> SinkConnector:
    from narrows.connectors.http.sink import WebhookSink

    return WebhookSink(target)
