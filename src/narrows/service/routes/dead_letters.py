"""What could not be read or written: payloads, reasons, positions; and another try."""

from __future__ import annotations

from fastapi import APIRouter, Response

from narrows.errors import Code, fail
from narrows.service import models
from narrows.service.letters import Letter, letters_of, names_with_letters, payload_of
from narrows.service.routes.common import Offset, PageSize, TheService, page

router = APIRouter(prefix="/dead-letters", tags=["dead letters"])


@router.get("")
def list_dead_letters(
    service: TheService, offset: Offset = 0, limit: PageSize = 100
) -> models.Page[models.LetterCount]:
    """The streams, tables and sinks that have some."""
    names = names_with_letters(service.catalog, service.state)

    def view(name: str) -> models.LetterCount:
        return models.LetterCount(name=name, letters=len(letters_of(service.state, name)))

    return models.Page[models.LetterCount](**page(names, offset, limit, view))


@router.get("/{name}")
def dead_letters_of(
    name: str, service: TheService, offset: Offset = 0, limit: PageSize = 100
) -> models.Page[models.DeadLetter]:
    found = letters_of(service.state, name)
    return models.Page[models.DeadLetter](**page(found, offset, limit, _view))


@router.get("/{name}/{id}")
def get_dead_letter(name: str, id: str, service: TheService) -> models.DeadLetter:
    return _view(_find(service, name, id))


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
    for letter in letters_of(service.state, name):
        if letter.id == id:
            return letter
    raise fail(Code.UNKNOWN_OBJECT, f"`{name}` has no dead letter `{id}`")


def _view(letter: Letter) -> models.DeadLetter:
    found = letter.found
    return models.DeadLetter(
        id=letter.id,
        source=str(found.get("source", found.get("sink", ""))),
        reason=found["reason"],
        payload=found.get("payload"),
        payload_base64=found.get("payload_base64"),
        position=letter.position,
    )
