"""The options of MQTT: what they take, and what they mean."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from narrows.connectors.received.options import LOG_OPTIONS
from narrows.plugins.options import REFERENCE, OptionSpec, OptionValue

SHARED: Final = "$share/"
_PORTS = {"mqtt": 1883, "mqtts": 8883}
_LONGEST_TOPIC = 65_535


def _no_broker(option: str, value: OptionValue) -> str | None:
    if REFERENCE.search(str(value)):
        return None
    rule = "takes an address like `mqtt://host:1883`, or `mqtts://` for TLS"
    try:
        url = urlsplit(str(value))
        is_right = bool(url.hostname) and url.scheme in _PORTS and url.port != 0
    except ValueError:
        return rule
    return None if is_right and url.path in ("", "/") and not url.query else rule


def default_port(scheme: str) -> int:
    return _PORTS[scheme]


def topic_filter(topic: str) -> str:
    """The filter that topics of messages match: that of `$share/group/filter` is its last part."""
    return topic.split("/", 2)[2] if topic.startswith(SHARED) else topic


def overlap(one: str, other: str) -> bool:
    """Is there a topic that two filters match?

    >>> overlap("a/+/c", "a/b/#"), overlap("a/#", "a"), overlap("a/+", "b/+")
    (True, True, False)
    """
    ones, others = one.split("/"), other.split("/")
    for mine, theirs in zip(ones, others, strict=False):
        if "#" in (mine, theirs):
            return True
        if mine != theirs and "+" not in (mine, theirs):
            return False
    longer = max(ones, others, key=len)
    shorter = min(len(ones), len(others))
    return len(longer) == shorter or longer[shorter:] == ["#"]


def _no_filter(option: str, value: OptionValue) -> str | None:
    topic = str(value)
    if topic.startswith(SHARED) and (topic.count("/") < 2 or not topic.split("/")[1]):
        return "takes `$share/`, the name of a group, `/` and a topic"
    levels = topic_filter(topic).split("/")
    if levels == [""] or "\0" in topic or len(topic.encode("utf-8", "replace")) > _LONGEST_TOPIC:
        return "takes a topic, in which `+` stands for a level and a last `#` for all that follow"
    for place, level in enumerate(levels, 1):
        lone = level in ("+", "#") and (level == "+" or place == len(levels))
        if not lone and ("+" in level or "#" in level):
            return "takes a topic in which `+` and a last `#` stand for whole levels"
    return None


def no_qos(option: str, value: OptionValue) -> str | None:
    return None if value in (0, 1, 2) else "is 0, 1 or 2"


CONNECTION: Final = (
    OptionSpec(
        "broker",
        "the address: `mqtt://host:1883`, `mqtts://host:8883` for TLS",
        required=True,
        refuses=_no_broker,
    ),
    OptionSpec("username", "who connects; it may stand in `broker` as well"),
    OptionSpec("password", "the password of that user: `'${MQTT_PASSWORD}'`"),
    OptionSpec("version", "of the protocol", default="5", choices=("5", "3.1.1")),
    OptionSpec(
        "keep_alive",
        "how often client and broker make sure that the other is there",
        default="30 seconds",
        duration=True,
    ),
    OptionSpec("ca_file", "certificates that the broker's must be signed by; else the system's"),
    OptionSpec("cert_file", "the client's certificate, where the broker wants one"),
    OptionSpec("key_file", "the file with the key of `cert_file`"),
)
"""The options of everything that talks to a broker."""

SOURCE_OPTIONS = (
    *CONNECTION,
    OptionSpec(
        "topic",
        "a topic; `+` stands for a level, a last `#` for all that follow; `$share/group/...`",
        required=True,
        refuses=_no_filter,
    ),
    OptionSpec(
        "qos",
        "0: what is lost on the way is lost; 1: every message; 2: like 1, which see",
        type=int,
        default=1,
        refuses=no_qos,
    ),
    OptionSpec(
        "client_id",
        "under which name the broker keeps messages while nobody is there; if not given, one that"
        " the state folder keeps. Streams with the same broker, user and id share a connection",
    ),
    OptionSpec(
        "session_expiry",
        "how long the broker keeps messages for a client that is away",
        default="7 days",
        duration=True,
    ),
    OptionSpec(
        "receive_maximum",
        "messages that the broker sends ahead of acknowledgements",
        type=int,
        default=10_000,
        least=1,
        refuses=lambda option, value: None if int(str(value)) <= 65_535 else "is at most 65535",
    ),
    *LOG_OPTIONS,
)
