"""The service as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse
from starlette.concurrency import run_in_threadpool

from narrows import __version__
from narrows.service import problems
from narrows.service.core import Service
from narrows.service.history import History
from narrows.service.models import ProblemDocument
from narrows.service.page_files import PageFiles, start_page
from narrows.service.routes import (
    dead_letters,
    events,
    explain,
    health,
    history,
    metrics,
    payloads,
    pipelines,
    queries,
    shared,
    sinks,
    sources,
    statements,
    try_rows,
)
from narrows.service.routes.common import PROBLEMS
from narrows.service.security import Guard

_ROUTERS = (
    *(health.router, statements.router, explain.router, sources.streams, sources.tables),
    payloads.router,
    *(sinks.router, events.router, pipelines.router, shared.router, dead_letters.router),
    *(queries.router, try_rows.router, metrics.router, history.router),
)


def create_app(service: Service, *, token: str | None = None) -> FastAPI:
    """The application of a service that is open, and closes with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.history.watch()
        try:
            yield
        finally:
            await run_in_threadpool(service.close)

    app = FastAPI(
        title="Narrows",
        version=__version__,
        lifespan=lifespan,
        responses=PROBLEMS,
        docs_url=None,  # they are pages that load scripts from elsewhere
        redoc_url=None,
    )
    app.state.service = service
    app.state.history = History(service)
    problems.install(app)
    for router in _ROUTERS:
        app.include_router(router)

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return start_page()

    app.mount("/page", PageFiles(), name="page")
    app.add_middleware(Guard, token=token)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


def _described(app: FastAPI) -> dict[str, object]:
    """OpenAPI, with what errors look like: no operation names that model by itself."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, routes=app.routes)
        models = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
        inner = models.pop("$defs", {})
        schemas = found["components"]["schemas"]
        schemas.update({**inner, "ProblemDocument": models})
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        app.openapi_schema = found
    return app.openapi_schema
