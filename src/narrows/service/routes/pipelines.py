"""Pipelines: declared, started, stopped, looked at."""

from __future__ import annotations

import time
from typing import Literal

from fastapi import APIRouter

from narrows.catalog.objects import Pipeline
from narrows.schema import quoted
from narrows.service import models
from narrows.service.routes.common import (
    Offset,
    PageSize,
    TheService,
    create,
    declare,
    drop,
    named,
    objects,
    page,
)
from narrows.service.views import explained_view, pipeline_details, pipeline_view, stats_view
from narrows.sql.parser.statements import ExplainMode, ObjectKind

router = APIRouter(prefix="/pipelines", tags=["pipelines"])


@router.get("")
def list_pipelines(
    service: TheService, offset: Offset = 0, limit: PageSize = 100, stats: bool = False
) -> models.Page[models.PipelineInfo]:
    """With `stats`, what each has counted, too."""
    found: list[Pipeline] = objects(service, ObjectKind.PIPELINE)
    view = page(found, offset, limit, lambda each: pipeline_view(service, each, stats=stats))
    return models.Page[models.PipelineInfo](**view)


@router.post("", status_code=201)
def create_pipeline(request: models.PipelineRequest, service: TheService) -> models.PipelineDetails:
    start = create(ObjectKind.PIPELINE, request.name, replace=request.replace)
    sinks = ", ".join(quoted(sink) for sink in request.sinks)
    declare(service, f"{start} INTO {sinks} AS\n{request.query}", request.name)
    if request.start:
        service.start(_pipeline(request.name, service))
    return get_pipeline(request.name, service)


@router.get("/{name}")
def get_pipeline(name: str, service: TheService) -> models.PipelineDetails:
    """What it shall do and what it does, what it reads, and what was counted."""
    return pipeline_details(service, _pipeline(name, service))


@router.delete("/{name}", status_code=204)
def drop_pipeline(name: str, service: TheService) -> None:
    """A running pipeline is stopped first, by whoever wants that."""
    drop(service, ObjectKind.PIPELINE, name)


@router.post("/{name}/start")
def start_pipeline(name: str, service: TheService) -> models.PipelineInfo:
    """Answered when it runs. One that runs already is left alone."""
    service.start(_pipeline(name, service))
    return pipeline_view(service, _pipeline(name, service))


@router.post("/{name}/stop")
def stop_pipeline(name: str, service: TheService) -> models.PipelineInfo:
    """Answered when it has stopped. It goes on from there when it is started again."""
    service.pipelines.stop(_pipeline(name, service).name)
    return pipeline_view(service, _pipeline(name, service))


@router.post("/{name}/restart")
def restart_pipeline(name: str, service: TheService) -> models.PipelineInfo:
    service.pipelines.restart(_pipeline(name, service).name)
    return pipeline_view(service, _pipeline(name, service))


@router.post("/{name}/reset")
def reset_pipeline(name: str, service: TheService) -> models.PipelineInfo:
    """Forgets what it has done: it will begin at the beginning. What it has written stays."""
    service.pipelines.reset(_pipeline(name, service).name)
    return pipeline_view(service, _pipeline(name, service))


@router.get("/{name}/explain")
def explain_pipeline(
    name: str,
    service: TheService,
    mode: Literal["default", "logical", "physical", "verbose"] = "default",
) -> models.Explained:
    began = time.perf_counter()
    plan = service.declarations.plan_pipeline(_pipeline(name, service))
    spent = (time.perf_counter() - began) * 1000
    return explained_view(plan, ExplainMode(mode), spent, name)


@router.get("/{name}/stats")
def pipeline_stats(name: str, service: TheService) -> models.PipelineStats | None:
    """What was counted; nothing if it has not been started since the service was."""
    run = service.pipelines.run_of(_pipeline(name, service).name)
    return None if run is None else stats_view(service, run)


def _pipeline(name: str, service: TheService) -> Pipeline:
    found = named(service, ObjectKind.PIPELINE, name)
    assert isinstance(found, Pipeline)
    return found
