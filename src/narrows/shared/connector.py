"""The log of a shared stream as a connector: its pipelines read it as they would any source."""

from __future__ import annotations

from narrows.connectors.base import (
    Connector,
    Decoding,
    RangeReader,
    SourceConnector,
    SourceDeclaration,
)


def _source(declared: SourceDeclaration) -> SourceConnector:
    from narrows.shared.source import SharedLogSource

    return SharedLogSource(declared)


def _reader(declared: SourceDeclaration, decoding: Decoding) -> RangeReader:
    from narrows.shared.source import SegmentReader

    return SegmentReader(declared, decoding)


CONNECTOR = Connector(name="shared log", source=_source, reader=_reader)
