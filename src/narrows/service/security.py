"""Who may ask, from where, and what statements may name.

* On loopback anybody on this machine may ask; elsewhere only who has the token.
* A page of another site, open in a browser on this machine, is not anybody: requests that name
  another origin are refused, and so are those for a host that we are not (a name that such a site
  has let point to this machine). There is no CORS.
* Paths in statements may be held to some folders.
* Passwords are references to the environment, so that they stand in no file of ours.
* Functions of Spark that call Java by name are not known here.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from narrows.errors import Code, fail
from narrows.functions import FunctionRegistry
from narrows.plugins.options import REFERENCE, OptionSpec
from narrows.plugins.registry import CONNECTORS, FORMATS
from narrows.secrets import is_secret
from narrows.service.problems import problem_response
from narrows.sql.parser.statements import CreateSink, CreateSource, Statement

_OPEN = ("/", "/health", "/ready")
_OPEN_FOLDER = "/page/"
"""What needs no token: it tells nothing but that there is a service."""
_LARGEST_BODY = 32 << 20
_CODE = ("reflect", "java_method", "try_reflect")
_WILD = "*?[{"


# --- requests -------------------------------------------------------------------------------------


def is_loopback(host: str) -> bool:
    """Does only this machine reach it?"""
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_listening(host: str, token: str | None) -> None:
    """Refuses to listen for everybody without a token."""
    if not is_loopback(host) and not token:
        raise fail(
            Code.INVALID_OPTION,
            f"`{host}` is not this machine alone, and there is no token",
            hint="set NARROWS_TOKEN to a long random text, for the service and for its clients",
        )


class Guard:
    """Lets through who may ask."""

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        refused = self._refused(scope["path"], headers)
        if refused is not None:
            await problem_response(*refused)(scope, receive, send)
            return
        await self._app(scope, _bounded(receive), send)

    def _refused(self, path: str, headers: dict[str, str]) -> tuple[int, str, str] | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return 403, "forbidden", "pages of other sites may not ask"
        if self._token is None and not is_loopback(urlsplit(f"//{host}").hostname or ""):
            return 403, "forbidden", f"this is not `{host}`"
        if int(headers.get("content-length", "0") or 0) > _LARGEST_BODY:
            return 413, "too_large", f"a request has at most {_LARGEST_BODY} bytes"
        if self._token is None or path in _OPEN or path.startswith(_OPEN_FOLDER):
            return None
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            return 401, "unauthorized", "send the token: `Authorization: Bearer ...`"
        return None


def _bounded(receive: Receive) -> Receive:
    """Bodies that do not say how large they are end where they become too large."""
    seen = 0

    async def bounded() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return {"type": "http.disconnect"} if seen > _LARGEST_BODY else message

    return bounded


# --- statements -----------------------------------------------------------------------------------


def hide_code(functions: FunctionRegistry) -> None:
    """Nobody runs code of the machine by way of a query."""
    functions.hide(*_CODE)


def check_declaration(statement: Statement, allowed: Sequence[Path]) -> None:
    """Refuses passwords in the open, and paths outside of the allowed folders, if there are any."""
    if not isinstance(statement, CreateSource | CreateSink):
        return
    specs = _specs_of(statement)
    for name, option in statement.options.items():
        spec = next((spec for spec in specs if spec.covers(name)), None)
        secret = is_secret(name) or (spec is not None and spec.is_secret)
        value = option.value
        if secret and not (isinstance(value, str) and REFERENCE.fullmatch(value)):
            raise fail(
                Code.INVALID_OPTION,
                f"`{name}` would be kept in a file",
                option.value_span,
                f"set a variable in the environment of the service: `{name} = '${{NAME}}'`",
            )
        if allowed and spec is not None and spec.is_path and not _is_inside(str(value), allowed):
            raise fail(
                Code.INVALID_OPTION,
                f"`{value}` is in none of the folders that this service may use",
                option.value_span,
                f"they are {', '.join(str(folder) for folder in allowed)}",
            )


def _specs_of(statement: CreateSource | CreateSink) -> list[OptionSpec]:
    def named(option: str) -> str:
        return str(statement.options[option].value) if option in statement.options else ""

    connector, form = CONNECTORS.get(named("connector")), FORMATS.get(named("format"))
    found: list[OptionSpec] = []
    for declared in (connector, form):
        if declared is not None:
            sink = isinstance(statement, CreateSink)
            options = declared.sink_options if sink else declared.source_options
            found.extend(options or ())
    return found


def _is_inside(path: str, allowed: Sequence[Path]) -> bool:
    """Is all that a path or pattern may mean in one of the folders? Links are followed."""
    parts = Path(path).parts
    wild = next((n for n, part in enumerate(parts) if any(c in part for c in _WILD)), len(parts))
    if ".." in parts[wild:]:
        return False
    fixed = Path(*parts[:wild]).resolve()
    return any(fixed.is_relative_to(folder.resolve()) for folder in allowed)
