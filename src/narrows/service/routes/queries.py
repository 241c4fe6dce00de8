"""Bounded queries: rows as JSON or as an Arrow stream."""

from __future__ import annotations

import io
import time
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.responses import Response

from narrows.planner.query import plan
from narrows.service import models
from narrows.service.routes.common import TheService
from narrows.service.views import rows_view

router = APIRouter(prefix="/queries", tags=["queries"])
ARROW = "application/vnd.apache.arrow.stream"


@router.post(
    "",
    response_model=models.QueryAnswer,
    responses={200: {"content": {ARROW: {"schema": {"type": "string", "format": "binary"}}}}},
)
def run_query(
    request: models.QueryRequest,
    service: TheService,
    accept: Annotated[str, Header()] = "application/json",
) -> Response | models.QueryAnswer:
    """Over what is there now. `Accept: application/vnd.apache.arrow.stream` asks for Arrow."""
    if ARROW not in accept:
        found = service.query(request.sql, request.limit, request.timeout, request.id)
        return rows_view(found)
    import pyarrow as pa

    plan(request.sql, service.catalog)  # what is wrong with it needs no Spark to be said
    table = service.queries.arrow(request.sql, request.limit, request.timeout, request.id)
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    return Response(buffer.getvalue(), media_type=ARROW)


@router.get("")
def list_queries(service: TheService) -> list[models.RunningQueryInfo]:
    """Those that have not ended, also if nobody waits for them any more."""
    now = time.time()
    return [
        models.RunningQueryInfo(
            id=query.id, sql=query.sql, seconds=now - query.started, state=query.state
        )
        for query in service.queries.known()
    ]


@router.delete("/{id}", status_code=204)
def cancel_query(id: str, service: TheService) -> None:
    """Whoever asked is answered at once; the query is listed until it has ended."""
    service.queries.cancel(id)
