"""Data for the demo: vehicle messages of some 1.6 kB, wide and nested, as JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

_KINDS = 500
"""So many different messages are made; each written one differs in vin, time and speed."""

BROKEN = (
    '{"vin": "WN000001", "speed": ',
    "not json at all",
    "[1, 2, 3]",
    '{"vin": "a"} trailing',
)
"""A few payloads that nobody can read."""


def vehicles(count: int, part: int, parts: int) -> Iterator[str]:
    """One of so many parts of the messages."""
    chance = random.Random(7)
    bodies = [_body(chance) for _ in range(_KINDS)]
    for i in range(part, count, parts):
        second = f"{i // 3600 % 24:02d}:{i // 60 % 60:02d}:{i % 60:02d}"
        head = (
            f'{{"vin":"WN{i % 997:06d}","ts":"2026-11-15T{second}Z",'
            f'"speed":{i % 180}.5,"odometer":{1000 + i},'
        )
        yield head + bodies[i % _KINDS]


def _body(chance: random.Random) -> str:
    def number(low: float, high: float) -> float:
        return round(chance.uniform(low, high), 3)

    def place() -> dict[str, float]:
        return {"lat": number(47, 55), "lon": number(6, 15)}

    body = {
        "battery": {
            "soc": number(5, 100),
            "voltage": number(300, 420),
            "temperature": number(10, 45),
            "cells": [
                {"voltage": number(3, 4.2), "temperature": number(10, 50), "cycles": i * 7}
                for i in range(12)
            ],
        },
        "position": {**place(), "heading": number(0, 360), "accuracy": number(1, 30)},
        "tyres": [
            {"pressure": number(1.5, 2.9), "temperature": number(5, 60), "age_days": 40 * i}
            for i in range(4)
        ],
        "trip": {
            "id": f"trip-{chance.randrange(10**6)}",
            "legs": [{"from": place(), "to": place(), "km": number(1, 80)} for _ in range(3)],
        },
        "faults": [
            {"code": f"P{chance.randrange(3000):04d}", "severity": i, "text": "see the manual"}
            for i in range(chance.randrange(4))
        ],
        "labels": {"depot": chance.choice(["north", "south", "harbour"]), "colour": "grey"},
    }
    return json.dumps(body, separators=(",", ":"))[1:]
