"""The registry of a shared stream at one moment, and as it is written to its file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from narrows.demand import NOTHING, Demand, union_all
from narrows.demand_json import demand_from_json, demand_to_json
from narrows.errors import Code, fail
from narrows.files.checked import seal, unseal
from narrows.shared.log import EMPTY

_MAGIC = "narrows-registry-1"


@dataclass(frozen=True)
class Consumer:
    """A registered pipeline."""

    demand: Demand
    position: int
    """The last entry that it is done with."""
    owner: str
    """The process that runs it."""
    alive_until: float


@dataclass(frozen=True)
class Applied:
    """What the ingest decodes."""

    version: int = 0
    demand: Demand = NOTHING
    planned: int = EMPTY
    """The entry that it is working on, or has last worked on."""
    planned_demand: Demand = NOTHING
    """What is decoded of that one: whoever has come since is not taken into account."""


@dataclass(frozen=True)
class Snapshot:
    """The registry at one moment."""

    applied: Applied = Applied()
    consumers: Mapping[str, Consumer] = field(default_factory=dict)
    positions: Mapping[str, int] = field(default_factory=dict)
    """Of consumers that were registered once."""
    definition: str | None = None
    """What the stream was when its first entry was planned."""

    @property
    def union(self) -> Demand:
        return union_all(consumer.demand for consumer in self.consumers.values())

    def to_bytes(self) -> bytes:
        return seal(_MAGIC, json.dumps(_to_json(self)).encode("utf-8"))

    @staticmethod
    def from_bytes(data: bytes, path: str) -> Snapshot:
        body = unseal(_MAGIC, data)
        if body is None:
            raise fail(
                Code.UNREADABLE_FILE,
                f"the registry of a shared stream is damaged: `{path}` is not what was written",
                None,
                "restore the state folder, or give the stream a new start with `narrows reset`",
            )
        return _from_json(json.loads(body))


def _to_json(state: Snapshot) -> dict[str, Any]:
    return {
        "definition": state.definition,
        "version": state.applied.version,
        "demand": demand_to_json(state.applied.demand),
        "planned": state.applied.planned,
        "planned_demand": demand_to_json(state.applied.planned_demand),
        "positions": dict(state.positions),
        "consumers": {
            name: {
                "demand": demand_to_json(consumer.demand),
                "position": consumer.position,
                "owner": consumer.owner,
                "alive_until": consumer.alive_until,
            }
            for name, consumer in state.consumers.items()
        },
    }


def _from_json(value: Any) -> Snapshot:
    planned = value.get("planned_demand", value["demand"])  # it was the same, once
    return Snapshot(
        applied=Applied(
            value["version"],
            demand_from_json(value["demand"]),
            value["planned"],
            demand_from_json(planned),
        ),
        consumers={
            name: Consumer(
                demand_from_json(consumer["demand"]),
                consumer["position"],
                consumer["owner"],
                consumer["alive_until"],
            )
            for name, consumer in value["consumers"].items()
        },
        positions=value["positions"],
        definition=value["definition"],
    )
