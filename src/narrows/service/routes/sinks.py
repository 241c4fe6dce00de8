"""Sinks."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Query

from narrows.catalog.objects import Sink
from narrows.errors import Code, fail
from narrows.service import models
from narrows.service.routes.common import (
    Offset,
    PageSize,
    TheService,
    create,
    declare,
    drop,
    named,
    objects,
    options_text,
    page,
)
from narrows.service.views import sink_view
from narrows.sql.parser.statements import ObjectKind

router = APIRouter(prefix="/sinks", tags=["sinks"])


@router.get("")
def list_sinks(
    service: TheService, offset: Offset = 0, limit: PageSize = 100
) -> models.Page[models.SinkInfo]:
    found: list[Sink] = objects(service, ObjectKind.SINK)
    view = page(found, offset, limit, lambda sink: sink_view(service, sink))
    return models.Page[models.SinkInfo](**view)


@router.post("", status_code=201)
def create_sink(request: models.SinkRequest, service: TheService) -> models.SinkInfo:
    start = create(ObjectKind.SINK, request.name, replace=request.replace)
    declare(service, f"{start}{options_text(request.options)}", request.name)
    return get_sink(request.name, service)


@router.get("/{name}")
def get_sink(name: str, service: TheService) -> models.SinkInfo:
    sink = named(service, ObjectKind.SINK, name)
    assert isinstance(sink, Sink)
    return sink_view(service, sink)


@router.get("/{name}/rows")
def sink_rows(
    name: str,
    service: TheService,
    limit: int = Query(default=100, ge=1, le=10_000),
) -> list[dict[str, Any]]:
    """The last rows of a console or memory sink."""
    from narrows.spark.run.run import rows_of

    sink = named(service, ObjectKind.SINK, name)
    assert isinstance(sink, Sink)
    if not sink.takes_rows:
        message = f"sink `{sink.name}` writes elsewhere: a `{sink.connector}` keeps no rows here"
        raise fail(Code.NOT_SUPPORTED, message)
    return rows_of(sink, service.state)[-limit:]


@router.delete("/{name}", status_code=204)
def drop_sink(name: str, service: TheService) -> None:
    drop(service, ObjectKind.SINK, name)
