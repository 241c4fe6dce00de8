"""Is it there, is it ready, which version is it."""

from __future__ import annotations

from fastapi import APIRouter, Response

from narrows import __version__
from narrows.service.models import Health, Ready, VersionInfo
from narrows.service.routes.common import TheService

router = APIRouter(tags=["service"])


@router.get("/health")
async def health() -> Health:
    """It answers."""
    return Health(status="ok")


@router.get("/ready", responses={503: {"model": Ready, "description": "Spark is not up"}})
async def ready(service: TheService, response: Response) -> Ready:
    """Is Spark up? What needs no Spark - declaring, explaining - works before."""
    state = service.spark.state
    if state != "up":
        response.status_code = 503
    return Ready(ready=state == "up", spark=state, reason=service.spark.problem)


@router.get("/version")
def version() -> VersionInfo:
    from narrows.formats.kernel import chosen_kernel

    return VersionInfo(version=__version__, kernel=str(chosen_kernel()))
