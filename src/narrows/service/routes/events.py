"""Progress and rows as they come, by server-sent events.

event: progress                         event: row
data: {"actual": "running", ...}        data: {"sink": "k", "row": {...}}
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from narrows.catalog.objects import Pipeline
from narrows.service.core import Service
from narrows.service.live_rows import LiveRows
from narrows.service.routes.common import TheService, named
from narrows.service.views import pipeline_view
from narrows.sql.parser.statements import ObjectKind

router = APIRouter(prefix="/pipelines", tags=["pipelines"])
_TEXT = {"type": "string"}
_EVENT = {"type": "object", "properties": {"event": _TEXT, "data": _TEXT}}
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": _EVENT}}}
}
Every = Annotated[float, Query(ge=0.1, le=60)]
Event = tuple[str, Any]


@router.get("/{name}/events", response_class=StreamingResponse, responses=_EVENTS)
def pipeline_events(
    name: str,
    service: TheService,
    every: Every = 1.0,
    count: Annotated[int | None, Query(ge=1)] = None,
) -> StreamingResponse:
    """`progress`, every so many seconds; so many of them, or until the client leaves."""
    key = named(service, ObjectKind.PIPELINE, name).name

    def look() -> Iterable[Event]:
        pipeline = service.catalog.of_kind(ObjectKind.PIPELINE).get(key.casefold())
        if not isinstance(pipeline, Pipeline):
            return [("dropped", {"name": key})]
        view = pipeline_view(service, pipeline, stats=True)
        return [("progress", view.model_dump(mode="json"))]

    return _stream(service, look, every, count)


@router.get("/{name}/rows", response_class=StreamingResponse, responses=_EVENTS)
def pipeline_rows(
    name: str,
    service: TheService,
    every: Every = 0.5,
    last: Annotated[int, Query(ge=0, le=1000)] = 10,
    count: Annotated[int | None, Query(ge=1)] = None,
) -> StreamingResponse:
    """`row`: the last rows that a pipeline has published, and then those that come; after `count`
    looks it ends."""
    pipeline = named(service, ObjectKind.PIPELINE, name)
    assert isinstance(pipeline, Pipeline)
    live = LiveRows(service.catalog, service.state, pipeline, last)
    return _stream(service, lambda: (("row", row) for row in live.new()), every, count)


def _stream(
    service: Service, look: Callable[[], Iterable[Event]], every: float, count: int | None
) -> StreamingResponse:
    async def events() -> AsyncIterator[str]:
        looks = 0
        while not service.closing.is_set():
            found = await run_in_threadpool(lambda: list(look()))
            for kind, data in found:
                yield f"event: {kind}\ndata: {json.dumps(data)}\n\n"
                if kind == "dropped":
                    return
            looks += 1
            if count is not None and looks >= count:
                return
            if not found:
                yield ": nothing new\n\n"  # finds out whether anybody is there
            await asyncio.sleep(every)

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)
