"""One package a connector: where payloads come from and go to.

What a connector of your own needs is here; see docs/connectors.md.
"""

from narrows.connectors.base import (
    Connector,
    Decoding,
    Lag,
    LostRangeError,
    Part,
    RangeReader,
    Share,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceDeclaration,
    SourceUnavailableError,
    find_connector,
)
from narrows.connectors.entry_log import Entry, EntryLog, TakenEntries
from narrows.connectors.target import SinkTarget
from narrows.plugins.options import OptionSpec

__all__ = [
    "Connector",
    "Decoding",
    "Entry",
    "EntryLog",
    "Lag",
    "LostRangeError",
    "OptionSpec",
    "Part",
    "RangeReader",
    "Share",
    "SinkConnector",
    "SinkTarget",
    "SinkTask",
    "SourceConnector",
    "SourceDeclaration",
    "SourceUnavailableError",
    "TakenEntries",
    "find_connector",
]
