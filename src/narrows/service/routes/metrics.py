"""For Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from narrows.service.metrics import MEDIA_TYPE, metrics_text
from narrows.service.routes.common import TheService

router = APIRouter(tags=["service"])


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(service: TheService) -> PlainTextResponse:
    return PlainTextResponse(metrics_text(service), media_type=MEDIA_TYPE)
