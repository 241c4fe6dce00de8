"""What an MQTT sink declares."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from narrows.connectors.base import SinkConnector
from narrows.connectors.mqtt.options import CONNECTION, default_port, no_qos, overlap, topic_filter
from narrows.connectors.target import SinkTarget
from narrows.plugins.declared import Guarantee, OptionMap
from narrows.plugins.options import OptionSpec
from narrows.plugins.row_text import columns_of_text, parse_row_text

SINK_OPTIONS: Final = (
    *CONNECTION,
    OptionSpec(
        "topic",
        "where rows go; `{column}` stands for a value of the row",
        required=True,
        columns_in=columns_of_text,
    ),
    OptionSpec(
        "qos",
        "0: what is lost on the way is lost; 1: every row; 2: every row, and from worker to broker"
        " once",
        type=int,
        default=1,
        refuses=no_qos,
    ),
    OptionSpec(
        "retain",
        "does the broker keep the last message of a topic for those who come later?",
        type=bool,
        default=False,
    ),
    OptionSpec(
        "max_in_flight",
        "messages that a task sends ahead of acknowledgements; fewer if the broker wants that",
        type=int,
        default=1_000,
        least=1,
        refuses=lambda option, value: None if int(str(value)) <= 20_000 else "is at most 20000",
    ),
    OptionSpec(
        "delivery_timeout",
        "how long a task waits for a broker that is away, or acknowledges nothing, before it fails",
        default="2 minutes",
        duration=True,
    ),
)


def guarantee(options: OptionMap) -> Guarantee:
    return "at least once" if options.get("qos", 1) else "none"


def replaced_by(options: OptionMap) -> tuple[str, ...] | str:
    """The broker keeps the last message of each topic, where it is told to."""
    if options.get("retain") is not True:
        return "the broker keeps none of them (`retain = true`)"
    return columns_of_text(str(options["topic"]))


def reads_back(source: OptionMap, sink: OptionMap) -> tuple[str, str] | None:
    """Topics that are made of rows nobody knows before."""
    written, read = parse_row_text(str(sink["topic"])).constant, str(source["topic"])
    if written is None or _address(source) != _address(sink):
        return None
    return (read, written) if overlap(topic_filter(read), written) else None


def _address(options: OptionMap) -> tuple[str | None, int]:
    url = urlsplit(str(options["broker"]))
    try:
        return url.hostname, url.port or default_port(url.scheme)
    except (ValueError, KeyError):  # it stands in the environment
        return str(options["broker"]), 0


def make_sink(target: SinkTarget) -> SinkConnector:
    from narrows.connectors.mqtt.broker import require_library

    require_library()
    from narrows.connectors.mqtt.sink import MqttSink

    return MqttSink(target)
