"""HTTP: payloads that are pushed to a stream, and rows that are posted to somebody.

A stream is a log (`connectors/received`) that the service fills: `POST /streams/NAME/payloads` is
answered when the payloads are on the disk.

options.py   what statements say
bodies.py    the payloads in the body of a request
inbox.py     what is pushed, on its way into the log; idempotency keys
source.py    the log as a stream
sink.py      worker: rows as requests; sink_client.py: sent, and tried again
"""

from __future__ import annotations

from narrows.connectors.base import (
    Connector,
    Decoding,
    RangeReader,
    SourceConnector,
    SourceDeclaration,
)
from narrows.connectors.http.options import SOURCE_OPTIONS
from narrows.connectors.http.sink_options import SINK_OPTIONS, make_sink
from narrows.connectors.inbox import Inbox
from narrows.errors import Code, fail
from narrows.schema import STRING, TIMESTAMP, Array, Field, Struct

_HEADER = Struct((Field("key", STRING), Field("value", STRING)))


def _source(declared: SourceDeclaration) -> SourceConnector:
    from narrows.connectors.http.source import http_source

    if declared.bounded:
        raise fail(
            Code.NOT_SUPPORTED,
            f"`{declared.name}` cannot be a table: payloads are pushed to streams",
            None,
            "make it a stream: `CREATE STREAM ... WITH (connector = 'http', ...)`",
        )
    return http_source(declared)


def _reader(declared: SourceDeclaration, decoding: Decoding) -> RangeReader:
    from narrows.connectors.http.inbox import METADATA
    from narrows.connectors.received.reader import ReceivedReader

    return ReceivedReader(decoding, METADATA, {})


def _inbox(declared: SourceDeclaration) -> Inbox:
    from narrows.connectors.http.inbox import open_inbox

    return open_inbox(declared)


def _put_back(declared: SourceDeclaration, name: str, payload: bytes) -> None:
    from narrows.connectors.http.inbox import put_back

    put_back(declared, name, payload)


CONNECTOR = Connector(
    name="http",
    delivers="messages",
    source_options=SOURCE_OPTIONS,
    sink_options=SINK_OPTIONS,
    metadata={"_received_at": TIMESTAMP, "_headers": Array(_HEADER)},
    samples=True,
    source=_source,
    reader=_reader,
    sink=make_sink,
    inbox=_inbox,
    put_back=_put_back,
)
