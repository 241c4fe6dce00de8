"""A declared source, opened: what its connector makes of it, and what all connectors share."""

from __future__ import annotations

from narrows.connectors.base import (
    Connector,
    Decoding,
    RangeReader,
    SamplingReader,
    SourceConnector,
    SourceDeclaration,
    find_connector,
)
from narrows.errors import InternalError
from narrows.plugins.sampling import sample_interval


def open_source(connector: str, declared: SourceDeclaration) -> SourceConnector:
    """The source, on the driver; in the workers it splits entries."""
    found = find_connector(connector)
    source, interval = found.source(declared), _interval(found, declared)
    if interval is None:
        return source
    from narrows.connectors.sampled import SampledSource

    return SampledSource(source, interval)


def open_reader(connector: str, declared: SourceDeclaration, decoding: Decoding) -> RangeReader:
    """The reader of its ranges, in a worker."""
    found = find_connector(connector)
    reader = found.reader(declared, decoding)
    if _interval(found, declared) is None:
        return reader
    from narrows.connectors.sampled import SampledReader

    if not isinstance(reader, SamplingReader):
        raise InternalError(f"readers of connector `{connector}` cannot find the newest payload")
    return SampledReader(reader)


def _interval(connector: Connector, declared: SourceDeclaration) -> int | None:
    return sample_interval(declared.options) if connector.samples else None
