"""From the options of a statement to the properties of the client library.

    brokers = 'a:9092, b:9092', kafka.security.protocol = 'SASL_SSL', kafka.sasl.password = '${PW}'

What begins with `kafka.` goes to the library as it is. Some properties are not for users: those on
which being right depends, and those that would load code into our processes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from narrows.connectors.kafka.client.faults import Settings
from narrows.plugins.options import REFERENCE, OptionSpec, OptionValue
from narrows.plugins.secrets import resolved
from narrows.secrets import Secret

PREFIX: Final = "kafka."

_OURS = {
    "bootstrap.servers": "is given by `brokers`",
    "metadata.broker.list": "is given by `brokers`",
    "group.id": "is given by `group`",
    "isolation.level": "cannot be set: only what is committed is read",
}
_NOT_SET = (
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.partition.eof",
    "auto.offset.reset",
    "transactional.id",
    "enable.idempotence",
    "plugin.library.paths",
    "ssl.engine.location",
    "ssl.providers",
    "builtin.features",
    "log.queue",
)

_BROKER = re.compile(r"(?:[\w+]+://)?[\w.-]+(?::\d{1,5})?|\[[0-9a-fA-F:]+\](?::\d{1,5})?")
_QUEUED_KILOBYTES = 16 << 10
"""What is fetched ahead of a partition, at most: the library's 64 MB are too much for each."""


def _no_brokers(option: str, value: OptionValue) -> str | None:
    text = str(value)
    brokers = [each.strip() for each in text.split(",")]
    if REFERENCE.search(text) or all(_BROKER.fullmatch(broker) for broker in brokers):
        return None
    return "takes hosts and ports with commas in between, like `a:9092, b:9092`"


def _not_for_users(option: str, value: OptionValue) -> str | None:
    name = option.removeprefix(PREFIX)
    if name in _NOT_SET:
        return "cannot be set"
    return _OURS.get(name)


BROKERS = OptionSpec(
    "brokers", "hosts and ports of some brokers", required=True, refuses=_no_brokers
)
PROPERTIES = OptionSpec(
    f"{PREFIX}*",
    "a property of `librdkafka`, for security and tuning: `kafka.security.protocol`",
    type=None,
    refuses=_not_for_users,
)
CONNECTION: Final = (BROKERS, PROPERTIES)
"""The options of everything that talks to a cluster."""


def settings_of(options: Mapping[str, Any]) -> Settings:
    """The properties of a client, with what the environment has for `${NAME}`."""
    given = {name: value for name, value in options.items() if _is_property(name)}
    found = {name: _shown(given[name], value) for name, value in resolved(given).items()}
    brokers = found.pop(BROKERS.name)
    return {
        "client.id": "narrows",
        # Without remarks: what a client says while it is destroyed goes to the terminal.
        "log_level": "5",
        "queued.max.messages.kbytes": str(_QUEUED_KILOBYTES),
        **{name.removeprefix(PREFIX): value for name, value in found.items()},
        "bootstrap.servers": brokers,
        "isolation.level": "read_committed",
    }


def _is_property(option: str) -> bool:
    return option == BROKERS.name or option.startswith(PREFIX)


def _shown(given: object, value: object) -> str | Secret:
    """As a text of the library's; what came out of the environment is nobody's business."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    from_outside = isinstance(given, Secret) or (
        isinstance(given, str) and REFERENCE.search(given) is not None
    )
    return Secret(text) if from_outside else text
