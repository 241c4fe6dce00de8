"""Streams and tables."""

from __future__ import annotations

from fastapi import APIRouter

from narrows.catalog.objects import Source
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
from narrows.service.views import source_details, source_view
from narrows.sql.parser.statements import ObjectKind


def router_of(kind: ObjectKind) -> APIRouter:
    """The routes of streams, and those of tables: they are alike."""
    what = f"{kind.value}s"
    router = APIRouter(prefix=f"/{what}", tags=[what])

    @router.get("", name=f"list_{what}")
    def listed(
        service: TheService, offset: Offset = 0, limit: PageSize = 100
    ) -> models.Page[models.SourceInfo]:
        found: list[Source] = objects(service, kind)
        view = page(found, offset, limit, lambda source: source_view(service, source))
        return models.Page[models.SourceInfo](**view)

    @router.post("", status_code=201, name=f"create_{kind.value}")
    def created(request: models.SourceRequest, service: TheService) -> models.SourceDetails:
        start = create(kind, request.name, replace=request.replace)
        sql = f"{start} ({request.columns}\n){options_text(request.options)}"
        declare(service, sql, request.name)
        return details(request.name, service)

    @router.get("/{name}", name=f"get_{kind.value}")
    def details(name: str, service: TheService) -> models.SourceDetails:
        """With its schema as a tree: what is decoded now, and which pipeline needs what."""
        source = named(service, kind, name)
        assert isinstance(source, Source)
        return source_details(service, source)

    @router.delete("/{name}", status_code=204, name=f"drop_{kind.value}")
    def dropped(name: str, service: TheService) -> None:
        drop(service, kind, name)

    return router


streams = router_of(ObjectKind.STREAM)
tables = router_of(ObjectKind.TABLE)
