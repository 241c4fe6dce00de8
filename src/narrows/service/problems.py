"""Errors as problem+json (RFC 9457), with everything that we know of them.

    {"type": "about:blank", "title": "unknown_column", "status": 400, "detail": "...", "code": ...,
     "problems": [{"code", "message", "hint", "span": {"start", "end", "line", "column"}}]}

The codes are those of `errors.py`, and some for what is wrong with a request.
"""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from narrows.errors import Code, NarrowsError, Span

LOG = logging.getLogger("narrows.service")
MEDIA_TYPE = "application/problem+json"

_STATUS = {
    Code.UNKNOWN_OBJECT: 404,
    Code.DUPLICATE_OBJECT: 409,
    Code.OBJECT_IN_USE: 409,
    Code.CANCELLED: 409,
    Code.CHECKPOINT_MISMATCH: 409,
    Code.TIMED_OUT: 504,
    Code.STATE_IN_USE: 503,
    Code.NOT_READY: 503,
    Code.SPARK_NOT_STARTED: 503,
    Code.PIPELINE_FAILED: 502,
    Code.QUERY_FAILED: 502,
    Code.TOO_MANY_QUERIES: 429,
    Code.UNREADABLE_FILE: 422,
    Code.INVALID_REQUEST: 422,
    Code.TOO_LARGE: 413,
    Code.SOURCE_FULL: 429,
    Code.SOURCE_UNAVAILABLE: 503,
}
"""All others are something in the statement that the user can mend: 400."""


def problem_of(error: NarrowsError) -> dict[str, Any]:
    """An error as the body of an answer."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": error.code.value,
        "status": _STATUS.get(error.code, 400),
        "detail": error.problems[0].message,
        "code": error.code.value,
        "problems": [
            {
                "code": problem.code.value,
                "message": problem.message,
                "hint": problem.hint,
                "span": _span(problem.span, error.text),
            }
            for problem in error.problems
        ],
    }
    executed = getattr(error, "executed", None)
    return body if executed is None else {**body, "executed": executed}


def problem_response(status: int, code: str, detail: str, **more: Any) -> JSONResponse:
    body = {"type": "about:blank", "title": code, "status": status, "detail": detail, "code": code}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({**body, "problems": [], **more}, status, headers, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Answers every error in this way."""

    async def ours(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, NarrowsError)
        body = problem_of(error)
        seconds = getattr(error, "retry_after", None)
        headers = None if seconds is None else {"Retry-After": str(seconds)}
        return JSONResponse(_encodable(body), body["status"], headers, media_type=MEDIA_TYPE)

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        wrong = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        return problem_response(422, "invalid_request", _encodable("; ".join(wrong)))

    async def http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        codes = {404: "not_found", 405: "method_not_allowed"}
        code = codes.get(error.status_code, "invalid_request")
        answer = problem_response(error.status_code, code, str(error.detail))
        answer.headers.update(error.headers or {})
        return answer

    async def bug(request: Request, error: Exception) -> JSONResponse:
        LOG.error("%s %s", request.method, request.url.path, exc_info=error)
        return problem_response(500, "internal_error", "this is a bug of ours: see the log")

    app.add_exception_handler(NarrowsError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, bug)


def _span(span: Span | None, text: str | None) -> dict[str, int] | None:
    if span is None:
        return None
    before = (text or "")[: span.start]
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    return {"start": span.start, "end": span.end, "line": line, "column": column}


def _encodable(value: Any) -> Any:
    """Texts that UTF-8 cannot say - half a surrogate pair - with escapes."""
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode("utf-8")
        case dict():
            return {key: _encodable(each) for key, each in value.items()}
        case list():
            return [_encodable(each) for each in value]
        case _:
            return value
