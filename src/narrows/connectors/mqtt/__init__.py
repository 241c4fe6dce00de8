"""Topics of an MQTT broker.

Nobody can read a message of a broker twice. So what comes is written to a log first
(`connectors/received`), then acknowledged, and read from there like any other source. The client
library is an extra, `narrows[mqtt]`, and is loaded by whoever connects.

options.py       what statements say
broker.py        how to connect: address, user, TLS, and under which client id
connections.py   driver: which streams share a connection
connection.py    driver: one connection for all streams of a broker, alive between micro-batches
transport.py     driver: between the library and the network; packets.py: messages by the hundred
subscriptions.py what a connection has subscribed to, kept over restarts
messages.py      what the log keeps of a message; properties.py: what comes with one
sink.py          worker: rows as messages; sink_client.py: published, and acknowledged
"""

from __future__ import annotations

from narrows.connectors.base import (
    Connector,
    Decoding,
    RangeReader,
    SourceConnector,
    SourceDeclaration,
)
from narrows.connectors.mqtt.options import SOURCE_OPTIONS
from narrows.connectors.mqtt.sink_options import (
    SINK_OPTIONS,
    guarantee,
    make_sink,
    reads_back,
    replaced_by,
)
from narrows.errors import Code, fail
from narrows.schema import BOOLEAN, INT, STRING, TIMESTAMP, Array, Field, Struct

_PROPERTY = Struct((Field("key", STRING), Field("value", STRING)))


def _source(declared: SourceDeclaration) -> SourceConnector:
    from narrows.connectors.mqtt.source import mqtt_source

    if declared.bounded:
        raise fail(
            Code.NOT_SUPPORTED,
            f"`{declared.name}` cannot be a table: a broker has no messages that could be read",
            None,
            "make it a stream: `CREATE STREAM ... WITH (connector = 'mqtt', ...)`",
        )
    return mqtt_source(declared)


def _reader(declared: SourceDeclaration, decoding: Decoding) -> RangeReader:
    from narrows.connectors.mqtt.messages import METADATA, SHOWN
    from narrows.connectors.received.reader import ReceivedReader

    return ReceivedReader(decoding, METADATA, SHOWN)


CONNECTOR = Connector(
    name="mqtt",
    delivers="messages",
    source_options=SOURCE_OPTIONS,
    sink_options=SINK_OPTIONS,
    guarantee=guarantee,
    reads_back=reads_back,
    metadata={
        "_topic": STRING,
        "_qos": INT,
        "_retained": BOOLEAN,
        "_received_at": TIMESTAMP,
        "_properties": Array(_PROPERTY),
    },
    identity=("topic",),  # brokers come and go
    samples=True,
    replaced_by=replaced_by,
    source=_source,
    reader=_reader,
    sink=make_sink,
)
