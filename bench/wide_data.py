"""The data of the benchmarks: NDJSON, 1.6 kB a document, 43 columns and a 20-element list."""

from __future__ import annotations

import json
import random
from pathlib import Path

COLUMNS = 42
"""Scalar columns c0 to c41, of alternating types; with `b` these are 43."""
ITEMS = 20
_KINDS = 2_000


def schema(extra: int = 0) -> str:
    """The schema as DDL; `extra` adds columns that are in no document."""
    types = ("BIGINT", "STRING", "DOUBLE")
    scalars = [f"c{i} {types[i % 3]}" for i in range(COLUMNS)]
    nested = "b STRUCT<c: BIGINT, items: ARRAY<STRUCT<x: BIGINT, y: STRING>>>"
    return ", ".join([*scalars, nested, *(f"extra{i} STRING" for i in range(extra))])


def _document(chance: random.Random) -> str:
    body: dict[str, object] = {}
    for i in range(1, COLUMNS):
        match i % 3:
            case 0:
                body[f"c{i}"] = chance.randrange(10**9)
            case 1:
                body[f"c{i}"] = f"value-{chance.randrange(10**6):06d}-of-some-length"
            case _:
                body[f"c{i}"] = round(chance.random() * 1000, 3)
    items = [
        {"x": chance.randrange(10**6), "y": f"text-{chance.randrange(10**4):04d}"}
        for _ in range(ITEMS)
    ]
    body["b"] = {"c": chance.randrange(1000), "items": items}
    return json.dumps(body, separators=(",", ":"))[1:]


LISTS = "id BIGINT, name STRING, items ARRAY<STRUCT<x: BIGINT, y: STRING>>"
SMALL = (
    "id BIGINT, kind STRING, at STRING, user STRING, score DOUBLE, ok BOOLEAN, page STRING,"
    " n BIGINT"
)
_SHELVES = ("books", "music", "garden")


def _list_document(chance: random.Random) -> str:
    items = [{"x": chance.randrange(10**6), "y": f"y{chance.randrange(100)}"} for _ in range(1000)]
    return json.dumps({"name": "list", "items": items}, separators=(",", ":"))[1:]


def _small_document(chance: random.Random) -> str:
    body = {
        "kind": chance.choice(["view", "click", "buy"]),
        "at": f"2026-11-{chance.randrange(1, 29):02d}T10:{chance.randrange(60):02d}:00Z",
        "user": f"user-{chance.randrange(10**6)}",
        "score": round(chance.random(), 6),
        "ok": chance.random() < 0.5,
        "page": f"/shop/{chance.choice(_SHELVES)}/{chance.randrange(10**5)}/item",
        "n": chance.randrange(10**4),
    }
    return json.dumps(body, separators=(",", ":"))[1:]


_KEYS = {"wide": "c0", "lists": "id", "small": "id"}
_MAKERS = {"wide": _document, "lists": _list_document, "small": _small_document}


def write(folder: Path, megabytes: int, kind: str = "wide", files: int = 8) -> int:
    """Writes so much data, unless it is there already; answers with the number of bytes."""
    marker = folder / f"_{megabytes}MB_{kind}"
    if not marker.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for old in (*folder.glob("*.json"), *folder.glob("_*")):
            old.unlink()
        chance = random.Random(11)
        kinds = 100 if kind == "lists" else _KINDS
        bodies = [_MAKERS[kind](chance).encode() for _ in range(kinds)]
        start = f'{{"{_KEYS[kind]}":'.encode()
        share = megabytes * 1_000_000 // files
        number = 0
        for part in range(files):
            with (folder / f"{kind}-{part}.json").open("wb") as file:
                written = 0
                while written < share:
                    lines = []
                    for _ in range(100):
                        lines.append(b"%s%d,%s\n" % (start, number, bodies[number % kinds]))
                        number += 1
                    written += file.write(b"".join(lines))
        marker.touch()
    return sum(path.stat().st_size for path in folder.glob("*.json"))
