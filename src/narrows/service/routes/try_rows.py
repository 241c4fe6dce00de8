"""Rows in, rows out: a pipeline or query on rows that the request brings."""

from __future__ import annotations

from fastapi import APIRouter

from narrows.errors import Code, fail
from narrows.service import models
from narrows.service.routes.common import TheService
from narrows.service.views import rows_view

router = APIRouter(tags=["queries"])


@router.post("/test")
def test(request: models.TestRequest, service: TheService) -> models.QueryAnswer:
    """Neither sources nor sinks are touched, and nothing is kept."""
    if (request.pipeline is None) == (request.sql is None):
        raise fail(Code.INVALID_OPTION, "give either `pipeline` or `sql`")
    if request.pipeline is not None:
        sql = service.catalog.pipeline(request.pipeline).query.sql
    else:
        sql = request.sql or ""
    return rows_view(service.test(sql, request.rows, request.limit, request.timeout))
