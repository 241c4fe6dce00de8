"""What the routes share: the service, paging, and a statement that is put together of parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request

from narrows.catalog.store import CatalogObject, find_named
from narrows.errors import Code, fail
from narrows.schema import quoted
from narrows.service import models
from narrows.service.core import Service
from narrows.service.problems import MEDIA_TYPE
from narrows.sql.parser.script import parse_spans
from narrows.sql.parser.statements import Create, ObjectKind
from narrows.sql.scope import Name

Item = TypeVar("Item")
View = TypeVar("View")

_WORDS = {
    400: "something in the statement is wrong",
    401: "the token is missing or wrong",
    403: "asked from somewhere else",
    404: "there is no such thing",
    409: "what is there, or runs, does not allow it",
    413: "too much was sent",
    422: "the request is not as described, or a file cannot be read",
    429: "there is no room at the moment, or too many queries run already",
    502: "the pipeline, or the query, failed",
    503: "Spark is not up",
    504: "it took too long",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": text,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}},
    }
    for status, text in _WORDS.items()
}
"""How every operation may fail."""


async def _service(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


TheService = Annotated[Service, Depends(_service)]
Offset = Annotated[int, Query(ge=0, le=1 << 53)]
PageSize = Annotated[int, Query(ge=1, le=1000)]


def page(
    items: Sequence[Item], offset: int, limit: int, view: Callable[[Item], View]
) -> dict[str, Any]:
    """A part of a list; only what is in it is looked at."""
    return {"items": [view(item) for item in items[offset : offset + limit]], "total": len(items)}


def named(service: Service, kind: ObjectKind, name: str) -> CatalogObject:
    return find_named(service.catalog.of_kind(kind), kind.value, Name(name, None))


def objects(service: Service, kind: ObjectKind) -> list[Any]:
    """All objects of a kind, by name."""
    return sorted(service.catalog.of_kind(kind).values(), key=lambda each: each.name.casefold())


def declare(service: Service, sql: str, name: str) -> None:
    """Executes one CREATE that was put together of what somebody sent: it must be nothing else."""
    statements = parse_spans(sql)
    if len(statements) != 1 or not isinstance(statements[0][0], Create):
        raise fail(Code.SYNTAX_ERROR, "the parts are not those of a single declaration")
    if statements[0][0].name != name:
        raise fail(Code.INVALID_NAME, f"`{name}` is not what the declaration says")
    service.execute(sql, limit=1, seconds=1)


def create(kind: ObjectKind, name: str, *, replace: bool) -> str:
    return f"CREATE {'OR REPLACE ' if replace else ''}{kind.value.upper()} {quoted(name)}"


def drop(service: Service, kind: ObjectKind, name: str) -> None:
    found = named(service, kind, name)
    service.execute(f"DROP {kind.value.upper()} {quoted(found.name)}", limit=1, seconds=1)


def options_text(options: Mapping[str, models.OptionValue]) -> str:
    """`WITH (...)`, in which every text is a text."""
    if not options:
        return ""
    return f" WITH ({', '.join(f'{_key(k)} = {_literal(v)}' for k, v in options.items())})"


def _key(name: str) -> str:
    parts = name.split(".")
    if not all(parts):
        raise fail(Code.UNKNOWN_OPTION, f"there is no option `{name}`")
    return ".".join(quoted(part) for part in parts)


def _literal(value: models.OptionValue) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case _:
            return str(value)
