"""Dead letters by name: the same letter has the same id, whoever looks and whenever."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

from narrows.planner.catalog import Catalog
from narrows.sql.statements import ObjectKind
from narrows.state.folder import StateFolder
from narrows.worker.dead_letters import key_name, position_of, read_dead_letters


@dataclass(frozen=True)
class Letter:
    found: dict[str, Any]

    @property
    def id(self) -> str:
        return key_name(json.dumps(self.found, sort_keys=True))

    @property
    def position(self) -> dict[str, Any]:
        return dict(position_of(self.found))


def names_with_letters(catalog: Catalog, state: StateFolder) -> list[str]:
    """What is declared and has dead letters."""
    kinds = (ObjectKind.STREAM, ObjectKind.TABLE, ObjectKind.SINK)
    names = (each.name for kind in kinds for each in catalog.of_kind(kind).values())
    return sorted({name for name in names if state.dead_letters(name).is_dir()})


def letters_of(state: StateFolder, name: str) -> list[Letter]:
    return [Letter(found) for found in read_dead_letters(state.dead_letters(name))]


def payload_of(letter: Letter) -> bytes | None:
    if "payload_base64" in letter.found:
        return base64.b64decode(letter.found["payload_base64"])
    text = letter.found.get("payload")
    return None if text is None else str(text).encode("utf-8")
