"""Payloads that are pushed to a stream: answered when they are on the disk."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from narrows.catalog.objects import Source
from narrows.connectors.inbox import Delivery, Inbox, NotTakenError
from narrows.errors import Code
from narrows.service import models
from narrows.service.core import Service
from narrows.service.routes.common import TheService, named
from narrows.sql.parser.statements import ObjectKind

router = APIRouter(prefix="/streams", tags=["streams"])
_BODY = {"schema": {"type": "string", "format": "binary"}}
_KINDS = ("application/json", "application/x-ndjson", "application/octet-stream")


@router.post(
    "/{name}/payloads",
    openapi_extra={
        "requestBody": {"required": True, "content": dict.fromkeys(_KINDS, _BODY)},
        "parameters": [{"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}],
    },
)
async def push(name: str, request: Request, service: TheService) -> models.PushAnswer:
    """Takes payloads: one, a list of them (`application/json`), or one a line
    (`application/x-ndjson`). All of them are taken, or none."""
    inbox = await run_in_threadpool(_inbox_of, service, name)
    headers = [
        (key.decode("latin-1"), value.decode("latin-1")) for key, value in request.headers.raw
    ]
    delivery = Delivery(await _body(request, inbox.largest), headers)
    taken = await asyncio.wrap_future(await run_in_threadpool(inbox.take, delivery))
    return models.PushAnswer(payloads=taken.payloads, repeated=taken.repeated)


def _inbox_of(service: Service, name: str) -> Inbox:
    with service.declarations.lock:  # nobody drops it meanwhile
        stream = named(service, ObjectKind.STREAM, name)
        assert isinstance(stream, Source)
        return service.inboxes.of(stream)


async def _body(request: Request, largest: int) -> bytes:
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > largest:
                message = f"a request to this stream has at most {largest} bytes"
                raise NotTakenError(Code.TOO_LARGE, message, "send it in parts")
            parts.append(part)
    except ClientDisconnect:  # also where a body became larger than the service takes
        raise NotTakenError(Code.TOO_LARGE, "the body did not come to its end") from None
    return b"".join(parts)
