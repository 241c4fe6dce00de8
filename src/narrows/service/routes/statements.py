"""Any SQL of ours, several statements at once; the whole catalog, out and in."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from narrows.service import models
from narrows.service.routes.common import TheService
from narrows.service.views import answer_view

router = APIRouter(tags=["statements"])


@router.post("/statements")
def statements(request: models.StatementsRequest, service: TheService) -> models.StatementsAnswer:
    """Executes statements in order. Where one fails, those before it stay executed."""
    done = service.execute(request.sql, request.limit, request.timeout)
    return models.StatementsAnswer(answers=[answer_view(*each) for each in done])


class SqlText(PlainTextResponse):
    media_type = "application/sql"


@router.get("/export", response_class=SqlText)
def export(service: TheService) -> SqlText:
    """The whole catalog as statements."""
    return SqlText(service.store.text())


@router.post("/import")
def load(request: models.ImportRequest, service: TheService) -> models.StatementsAnswer:
    """Declares what a text declares: all of it, or nothing when something in it is wrong."""
    declared = service.declarations.load(request.sql, replacing=request.replace)
    return models.StatementsAnswer(answers=[answer_view(each, None) for each in declared])
