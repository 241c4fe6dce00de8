"""Shared streams: what is decoded now, for whom, and how far everybody is."""

from __future__ import annotations

from fastapi import APIRouter

from narrows.catalog.objects import Source
from narrows.errors import Code, fail
from narrows.service import models
from narrows.service.routes.common import Offset, PageSize, TheService, named, objects, page
from narrows.service.views import shared_details, shared_view
from narrows.sql.parser.statements import ObjectKind

router = APIRouter(prefix="/shared", tags=["streams"])


@router.get("")
def list_shared(
    service: TheService, offset: Offset = 0, limit: PageSize = 100
) -> models.Page[models.SharedInfo]:
    found: list[Source] = [s for s in objects(service, ObjectKind.STREAM) if s.shared]
    view = page(found, offset, limit, lambda source: shared_view(service, source))
    return models.Page[models.SharedInfo](**view)


@router.get("/{name}")
def get_shared(name: str, service: TheService) -> models.SharedDetails:
    source = named(service, ObjectKind.STREAM, name)
    assert isinstance(source, Source)
    if not source.shared:
        hint = "declare it with `shared = true`"
        raise fail(Code.NOT_SUPPORTED, f"`{source.name}` is not a shared stream", hint=hint)
    return shared_details(service, source)
