"""The page: files that a browser may run, and nothing else may be run beside them.

The policy lets scripts and styles come from these files alone, and lets no script turn a text into
markup: what strangers have put into a payload or a name stays text, whatever the page does with it.
"""

from __future__ import annotations

from os import PathLike, stat_result
from pathlib import Path

from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).parent / "page"
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{what} {whence}" for what, whence in _POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # asks whether it has changed: the next version has other files
}


class PageFiles(StaticFiles):
    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    def file_response(
        self,
        full_path: str | PathLike[str],
        stat_result: stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(HEADERS)
        return response


def start_page() -> FileResponse:
    return FileResponse(FOLDER / "index.html", headers=HEADERS)
