"""Topics of Kafka: payloads are fetched in the workers, and do not enter the JVM.

    client/   what everything that talks to brokers has in common
    source/   an entry holds offsets, and a range ends where its offsets do: `source/offsets.py`
    sink/     at least once, or exactly once: `sink/once.py`

The client library is an extra, `narrows[kafka]`, and is loaded by whoever connects.
"""

from __future__ import annotations

from narrows.connectors.base import (
    Connector,
    Decoding,
    RangeReader,
    SourceConnector,
    SourceDeclaration,
)
from narrows.connectors.kafka.sink.options import (
    SINK_OPTIONS,
    guarantee,
    make_sink,
    reads_back,
    replaced_by,
)
from narrows.connectors.kafka.source.options import SOURCE_OPTIONS
from narrows.schema import BIGINT, BINARY, INT, STRING, TIMESTAMP, Array, Field, Struct

_HEADER = Struct((Field("key", STRING), Field("value", BINARY)))


def _source(declared: SourceDeclaration) -> SourceConnector:
    from narrows.connectors.kafka.source.source import KafkaSource

    return KafkaSource(declared)


def _reader(declared: SourceDeclaration, decoding: Decoding) -> RangeReader:
    from narrows.connectors.kafka.source.reader import KafkaReader

    return KafkaReader(declared, decoding)


CONNECTOR = Connector(
    name="kafka",
    delivers="messages",
    source_options=SOURCE_OPTIONS,
    sink_options=SINK_OPTIONS,
    guarantee=guarantee,
    reads_back=reads_back,
    metadata={
        "_key": BINARY,
        "_topic": STRING,
        "_partition": INT,
        "_offset": BIGINT,
        "_timestamp": TIMESTAMP,
        "_headers": Array(_HEADER),
    },
    identity=("topic",),  # brokers come and go
    samples=True,
    replaced_by=replaced_by,
    source=_source,
    reader=_reader,
    sink=make_sink,
)
