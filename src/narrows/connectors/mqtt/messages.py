"""What the log keeps of a message, and how it becomes metadata columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from narrows.arrow.types import arrow_type
from narrows.connectors.mqtt.properties import NAMES, Properties, shown
from narrows.connectors.received.segments import PAYLOAD
from narrows.schema import TIMESTAMP

if TYPE_CHECKING:
    from paho.mqtt.client import MQTTMessage

_PROPERTIES = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))

SCHEMA: Final = pa.schema(
    [
        (PAYLOAD, pa.binary()),
        ("received_at", pa.timestamp("us", tz="UTC")),
        ("topic", pa.string()),
        ("qos", pa.int8()),
        ("retained", pa.bool_()),
        ("properties", _PROPERTIES),
    ]
)

METADATA: Final = {
    "_topic": lambda block: block.column("topic"),
    "_qos": lambda block: block.column("qos").cast(pa.int32()),
    "_retained": lambda block: block.column("retained"),
    "_received_at": lambda block: block.column("received_at").cast(arrow_type(TIMESTAMP)),
    "_properties": lambda block: block.column("properties"),
}

SHOWN: Final = {"topic": "topic"}
"""What a dead letter says beside the number of its message."""


class Message(NamedTuple):
    """A message, as its broker has sent it."""

    payload: bytes
    topic: str
    mid: int
    """What it is called until it is acknowledged; 0 if its QoS is 0."""
    qos: int
    retained: bool
    properties: Properties

    def row(self, received_at: int) -> tuple[Any, ...]:
        """A row of the log. Times are microseconds since 1970."""
        payload, topic, _, qos, retained, properties = self
        return payload, received_at, topic, qos, retained, properties


def message_of(found: MQTTMessage) -> Message:
    """What the library has read by itself."""
    payload: Any = found.payload
    properties = _properties(found.properties)
    return Message(bytes(payload), found.topic, found.mid, found.qos, found.retain, properties)


def _properties(found: Any) -> Properties:
    """What the publisher has sent along; None if that is nothing, as it is with MQTT 3.1.1."""
    if found is None or found.isEmpty():
        return None
    named = [
        (name, getattr(found, attribute))
        for attribute, name in ((_attribute(name), name) for name in NAMES.values())
        if hasattr(found, attribute)
    ]
    pairs: Iterable[tuple[str, Any]] = [*named, *getattr(found, "UserProperty", ())]
    return [
        {"key": key, "value": shown(value) if isinstance(value, bytes) else str(value)}
        for key, value in pairs
    ] or None


def _attribute(name: str) -> str:
    """What the library calls a property: `ContentType`."""
    return name.title().replace("_", "")
