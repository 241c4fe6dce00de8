"""What a query would decode. Needs no Spark, changes nothing, takes milliseconds."""

from __future__ import annotations

import time

from fastapi import APIRouter

from narrows.service import models
from narrows.service.routes.common import TheService
from narrows.service.views import explained_view
from narrows.sql.parser.statements import ExplainMode

router = APIRouter(tags=["statements"])


@router.post("/explain")
def explain(request: models.ExplainRequest, service: TheService) -> models.Explained:
    """The plan of a query or of a CREATE PIPELINE, which is not created."""
    began = time.perf_counter()
    plan, name = service.declarations.explain(request.sql, pruning=request.pruning)
    spent = (time.perf_counter() - began) * 1000
    return explained_view(plan, ExplainMode(request.mode), spent, name)
