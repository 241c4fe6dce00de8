"""What people are told of a shared stream: what is decoded, for whom, and how far everybody is.

Only what is applied is told, never what is about to be: `decoding_columns` are those that the
decoder has, not those that somebody has just asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from narrows.catalog.objects import Source
from narrows.demand import Demand, count_demanded_leaves, of_columns, whole_row
from narrows.demand_text import leaves_text, row_parts, row_text
from narrows.explain.json import node_dict
from narrows.explain.text import tree_section
from narrows.explain.tree import ExplainNode
from narrows.files.names import name_of
from narrows.logical.nodes import Info, Listing, metadata_info
from narrows.physical.nodes import PhysicalIngest
from narrows.schema import count_leaves
from narrows.shared.log import EMPTY, SharedLog
from narrows.shared.registry import ConsumerRegistry


@dataclass(frozen=True)
class ConsumerInfo:
    name: str
    demand: Demand
    lag: int
    """Entries that it has still to read."""


@dataclass(frozen=True)
class SharedStreamInfo:
    source: Source
    version: int
    demand: Demand
    """What is decoded."""
    consumers: tuple[ConsumerInfo, ...]
    retained: int
    """Entries that are still there."""
    counts: Mapping[str, int]
    """What the ingest has counted since the stream began."""

    @property
    def decoding_columns(self) -> list[str]:
        return list(row_parts(self.demand, self.source.row))

    @property
    def ingest(self) -> PhysicalIngest:
        return PhysicalIngest(source=self.source, applied=self.demand, version=self.version)

    def explain(self, format: str = "text") -> str:
        if format == "json":
            return json.dumps(node_dict(self._tree()), indent=2, ensure_ascii=False)
        return tree_section(f"Shared Stream {self.source.name}", self._tree())

    def rows(self) -> tuple[tuple[str, str], ...]:
        """For DESCRIBE."""
        return (
            ("version", str(self.version)),
            ("decoding_columns", row_text(self.demand, self.source.row)),
            ("consumers", ", ".join(consumer.name for consumer in self.consumers)),
            ("retained entries", str(self.retained)),
            *((name.replace("_", " "), str(count)) for name, count in self.counts.items()),
        )

    def _tree(self) -> ExplainNode:
        consumers = tuple(
            ExplainNode(consumer.name, "Consumer", self._consumer_info(consumer), ())
            for consumer in self.consumers
        )
        info: Info = {"source": self.source.name, **self.ingest.info()}
        return ExplainNode("SharedStream", "SharedStream", info, consumers)

    def _consumer_info(self, consumer: ConsumerInfo) -> Info:
        schema = self.source.schema
        demand = of_columns(consumer.demand, schema)
        info: dict[str, str | Listing] = {
            "shared_required_schema": Listing(row_parts(demand, schema), ", "),
            "decodes": leaves_text(demand, schema),
            **metadata_info(self.source, consumer.demand),
            "lag": str(consumer.lag),
        }
        if count_demanded_leaves(schema, demand) == count_leaves(schema):
            info["forces"] = "ALL"
        return info


def shared_stream_info(source: Source, folder: Path) -> SharedStreamInfo:
    """The state of a stream as it is on the disk."""
    snapshot, log = ConsumerRegistry(folder).snapshot(), SharedLog(folder)
    newest = log.newest()
    last = EMPTY if newest is None else newest.number
    return SharedStreamInfo(
        source=source,
        version=snapshot.applied.version,
        demand=whole_row(snapshot.applied.demand, source.row),
        consumers=tuple(
            ConsumerInfo(name_of(name), consumer.demand, max(0, last - consumer.position))
            for name, consumer in sorted(snapshot.consumers.items())
        ),
        retained=len(log.numbers()),
        counts={} if newest is None else newest.totals,
    )
