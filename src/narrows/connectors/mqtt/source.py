"""A stream of an MQTT broker: the log of its messages, and what fills it."""

from __future__ import annotations

from pathlib import Path

from narrows.connectors.base import SourceDeclaration
from narrows.connectors.mqtt.connection import Connection
from narrows.connectors.mqtt.connections import receiving
from narrows.connectors.mqtt.subscriptions import Subscription, log_name
from narrows.connectors.received.source import ReceivedSource
from narrows.errors import InternalError


def mqtt_source(declared: SourceDeclaration) -> ReceivedSource:
    if declared.folder is None:
        raise InternalError("a stream of MQTT needs a place for its messages")
    folder = Path(declared.folder)
    return ReceivedSource(declared, folder / log_name(declared), MqttReceiver(declared, folder))


class MqttReceiver:
    """Has the connection to the broker receive for one stream."""

    def __init__(self, declared: SourceDeclaration, folder: Path) -> None:
        self._declared = declared
        self._folder = folder
        self._connection: Connection | None = None

    def start(self) -> None:
        subscription = Subscription.of(self._declared)
        options = self._declared.options
        self._connection = receiving(self._folder, options, subscription)

    def stop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.remove(log_name(self._declared))

    @property
    def problem(self) -> str | None:
        connection = self._connection
        return None if connection is None else connection.problem_of(log_name(self._declared))
