"""Dead letters, once more: those that can be read by now are put back into their stream.

A letter is put back under its id, and what was put back is remembered beside the letters. Dying in
between does no harm: its connector knows by the id that it is there already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from narrows.catalog.objects import Source
from narrows.connectors.base import SourceDeclaration, find_connector
from narrows.demand import ALL, NOTHING, fields
from narrows.errors import Code, fail
from narrows.files.small import disk_errors, read_small, write_small
from narrows.formats.base import find_format
from narrows.formats.headers import ReadsHeader
from narrows.plugins.declared import Container
from narrows.projection.columns import DecodeProjection
from narrows.service.letters import Letter, payload_of
from narrows.state.folder import StateFolder
from narrows.worker.event_time import EventTime, with_event_time

_MAGIC = "narrows-replayed-1"


@dataclass
class Replayed:
    replayed: list[str] = field(default_factory=list)
    already: list[str] = field(default_factory=list)
    still_bad: dict[str, str] = field(default_factory=dict)


def replay(state: StateFolder, stream: Source, letters: Sequence[Letter]) -> Replayed:
    put_back = find_connector(stream.connector).put_back
    if put_back is None:
        message = f"nothing can be put back into `{stream.name}`: its connector only reads"
        raise fail(Code.NOT_SUPPORTED, message)
    result, done = Replayed(), replayed_before(state, stream.name)
    declared = declaration_of(state, stream)
    for letter in letters:
        payload = payload_of(letter)
        reason = "it has no payload" if payload is None else problem_with(stream, payload)
        if letter.id in done:
            result.already.append(letter.id)
        elif payload is None or reason is not None:
            result.still_bad[letter.id] = reason or "it has no payload"
        else:
            with disk_errors(state.path):
                put_back(declared, letter.id, payload)
                done.append(letter.id)
                write_small(_record(state, stream.name), _MAGIC, done)
            result.replayed.append(letter.id)
    return result


def declaration_of(state: StateFolder, stream: Source) -> SourceDeclaration:
    """A stream as its connector knows it, for those who bring payloads."""
    folder = str(state.received(stream.connector).absolute())
    return SourceDeclaration(
        stream.name, stream.format, stream.options, schema=stream.schema, folder=folder
    )


def problem_with(stream: Source, payload: bytes) -> str | None:
    """Why a payload cannot be read as the stream is declared now. No column is looked at but the
    event time: what is bad is so whoever reads it."""
    form = find_format(stream.format)
    if isinstance(form.framing, Container):
        return f"{stream.format} has no payloads of their own"
    decoder = form.decoder(dict(stream.options))
    if isinstance(decoder, ReadsHeader) and decoder.has_header:
        return "it was read by the header of its file"
    column = stream.eventtime
    demand = NOTHING if column is None else fields({column: ALL})
    decoded = decoder.decode_with_projection([payload], DecodeProjection(stream.schema, demand))
    if column is not None:
        decoded = with_event_time(decoded, EventTime(column, 0, stream.eventtime_unit))
    return decoded.bad[0].reason if decoded.bad else None


def replayed_before(state: StateFolder, stream: str) -> list[str]:
    """The ids of letters that were put back."""
    hint = "restore it from a backup; without it letters may be replayed twice"
    found = read_small(_record(state, stream), _MAGIC, "what was replayed", hint)
    return [] if found is None else list(map(str, found))


def _record(state: StateFolder, stream: str) -> Path:
    return state.dead_letters(stream) / "replayed.json"
