"""Which way messages are fetched in this process: in place if that can be done, else portably."""

from __future__ import annotations

from narrows.connectors.kafka.client import librdkafka
from narrows.connectors.kafka.client.faults import Settings
from narrows.connectors.kafka.source.messages import Consumer
from narrows.formats.kernel import NATIVE, chosen_kernel


def open_consumer(settings: Settings) -> Consumer:
    """A consumer that reads by offsets. The settings are properties of the library; those that
    reading by offsets needs are set here (`READING`)."""
    if chosen_kernel() == NATIVE and librdkafka.is_usable():
        from narrows.connectors.kafka.source.native import NativeConsumer

        return NativeConsumer(settings)
    from narrows.connectors.kafka.source.portable import PortableConsumer

    return PortableConsumer(settings)
