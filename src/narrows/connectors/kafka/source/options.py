"""The options of topics as a source: what they take, and what they mean."""

from __future__ import annotations

import json
import re

from narrows.connectors.kafka.client.settings import CONNECTION
from narrows.connectors.kafka.client.topics import Partition, topic_names
from narrows.plugins.options import OptionSpec, OptionValue
from narrows.plugins.start_at import start_at_option

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_OFFSETS = """offsets in JSON: `{"orders": {"0": 100}}`"""


def parse_offsets(text: str) -> dict[Partition, int] | None:
    """Offsets as a user writes them; None if it is something else."""
    try:
        found = json.loads(text)
        offsets = {
            Partition(topic, int(number)): offset
            for topic, partitions in found.items()
            for number, offset in partitions.items()
        }
    except (ValueError, AttributeError):
        return None
    are_right = all(type(offset) is int and offset >= 0 for offset in offsets.values())
    return offsets if offsets and are_right and all(p.number >= 0 for p in offsets) else None


def _no_topic(option: str, value: OptionValue) -> str | None:
    names = topic_names(str(value))
    if names is not None:
        right = all(_TOPIC.fullmatch(name) for name in names)
        return None if right else "takes names of topics: letters, digits, dots, `_` and `-`"
    try:
        re.compile(str(value))
    except re.error as error:
        return f"takes a pattern that begins with `^`: {error}"
    return None


SOURCE_OPTIONS = (
    *CONNECTION,
    OptionSpec(
        "topic",
        "a topic, several with commas in between, or a pattern that begins with `^`",
        required=True,
        refuses=_no_topic,
    ),
    start_at_option(_OFFSETS, parse_offsets),
    OptionSpec(
        "group",
        "the consumer group under which Kafka's tools see how far it has come; if not given,"
        " `narrows-` and the name of the pipeline (of the stream, if it is shared)",
    ),
    OptionSpec(
        "on_missing",
        "what becomes of messages that are gone when they are read",
        default="dead_letter",
        choices=("dead_letter", "fail"),
    ),
    OptionSpec(
        "max_messages_per_trigger", "messages that one micro-batch takes", type=int, least=1
    ),
    OptionSpec(
        "max_bytes_per_trigger", "bytes that one micro-batch takes, about", type=int, least=1
    ),
    OptionSpec(
        "patience",
        "how long a task waits for a broker that sends nothing",
        default="1 minute",
        duration=True,
    ),
)
