"""What could not be read or written: payloads, reasons, positions; and another try."""

from __future__ import annotations

from collections.abc import Collection

from fastapi import APIRouter, Response

from narrows.catalog.objects import Source
from narrows.errors import Code, fail
from narrows.service import models
from narrows.service.letters import Letter, names_with_letters, payload_of
from narrows.service.replay import replay, replayed_before
from narrows.service.routes.common import Offset, PageSize, TheService, named, page
from narrows.sql.parser.statements import ObjectKind

router = APIRouter(prefix="/dead-letters", tags=["dead letters"])


@router.get("")
def list_dead_letters(
    service: TheService, offset: Offset = 0, limit: PageSize = 100
) -> models.Page[models.LetterCount]:
    """The streams, tables and sinks that have some."""
    names = names_with_letters(service.catalog, service.state)

    def view(name: str) -> models.LetterCount:
        return models.LetterCount(name=name, letters=service.letters.count(name))

    return models.Page[models.LetterCount](**page(names, offset, limit, view))


@router.get("/{name}")
def dead_letters_of(
    name: str, service: TheService, offset: Offset = 0, limit: PageSize = 100
) -> models.Page[models.DeadLetter]:
    """In the order of where they were found."""
    done = set(replayed_before(service.state, name))
    found = [_view(letter, done) for letter in service.letters.page(name, offset, limit)]
    return models.Page[models.DeadLetter](items=found, total=service.letters.count(name))


@router.post("/{name}/replay")
def replay_dead_letters(
    name: str, request: models.ReplayRequest, service: TheService
) -> models.ReplayAnswer:
    """Those that can be read by now go through the pipelines of the stream once."""
    stream = named(service, ObjectKind.STREAM, name)
    assert isinstance(stream, Source)
    letters, ids = service.letters, request.ids
    chosen = letters.every(name) if ids is None else letters.find(name, set(ids))
    with service.declarations.lock:  # two who ask at once must not replay a letter twice
        result = replay(service.state, stream, chosen)
    return models.ReplayAnswer(
        replayed=result.replayed, already=result.already, still_bad=result.still_bad
    )


@router.get("/{name}/{id}")
def get_dead_letter(name: str, id: str, service: TheService) -> models.DeadLetter:
    return _view(_find(service, name, id), replayed_before(service.state, name))


@router.get(
    "/{name}/{id}/payload",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
def dead_letter_payload(name: str, id: str, service: TheService) -> Response:
    """The payload as it came."""
    # It is a stranger's: a browser must not take it for a page.
    headers = {
        "Content-Disposition": "attachment",
        "X-Content-Type-Options": "nosniff",
    }
    payload = payload_of(_find(service, name, id))
    if payload is None:
        raise fail(Code.UNKNOWN_OBJECT, f"dead letter `{id}` of `{name}` has no payload")
    return Response(payload, media_type="application/octet-stream", headers=headers)


def _find(service: TheService, name: str, id: str) -> Letter:
    found = service.letters.find(name, {id})
    if found:
        return found[0]
    raise fail(Code.UNKNOWN_OBJECT, f"`{name}` has no dead letter `{id}`")


def _view(letter: Letter, replayed: Collection[str]) -> models.DeadLetter:
    found = letter.found
    return models.DeadLetter(
        id=letter.id,
        source=str(found.get("source", found.get("sink", ""))),
        reason=found["reason"],
        payload=found.get("payload"),
        payload_base64=found.get("payload_base64"),
        position=letter.position,
        replayed=letter.id in replayed,
    )
