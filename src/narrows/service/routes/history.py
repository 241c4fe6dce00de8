"""What was counted over the last half hour, for plots."""

from __future__ import annotations

from fastapi import APIRouter, Request

from narrows.service.history import History
from narrows.service.models import Sample
from narrows.service.routes.common import TheService, named
from narrows.sql.parser.statements import ObjectKind

router = APIRouter()


@router.get("/pipelines/{name}/history", tags=["pipelines"])
def pipeline_history(name: str, request: Request, service: TheService) -> list[Sample]:
    """A sample every five seconds; nothing before it was started by this service."""
    return _history(ObjectKind.PIPELINE, name, request, service)


@router.get("/streams/{name}/history", tags=["streams"])
def stream_history(name: str, request: Request, service: TheService) -> list[Sample]:
    """A sample every five seconds; all who read it together."""
    return _history(ObjectKind.STREAM, name, request, service)


def _history(kind: ObjectKind, name: str, request: Request, service: TheService) -> list[Sample]:
    history = request.app.state.history
    assert isinstance(history, History)
    return history.of(kind, named(service, kind, name).name)
