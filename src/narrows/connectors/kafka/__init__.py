"""Topics of Kafka, through `librdkafka`: `pip install 'narrows[kafka]'`."""

from __future__ import annotations

from narrows.connectors.base import Connector
from narrows.connectors.kafka.sink_options import SINK_OPTIONS, guarantee, make_sink

CONNECTOR = Connector(
    name="kafka",
    sink_options=SINK_OPTIONS,
    delivers="messages",
    guarantee=guarantee,
    sink=make_sink,
)
