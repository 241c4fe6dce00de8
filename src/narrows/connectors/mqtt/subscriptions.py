"""What a client has subscribed to: kept, for the broker keeps it, too.

A broker goes on to send what a client once subscribed to, also before the pipeline that wants it
has been started again. So all streams of a connection have their logs open from the beginning. A
stream that nobody reads any more - its pipelines were reset - is given up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from narrows.connectors.base import SourceDeclaration
from narrows.connectors.mqtt.options import overlap, topic_filter
from narrows.connectors.received.consumers import Consumers
from narrows.connectors.received.dedupe import Dedupe
from narrows.connectors.received.log_files import LogLimits
from narrows.files.names import file_name
from narrows.files.small import read_small, write_small
from narrows.plugins.options import parse_duration

_MAGIC = "narrows-mqtt-subscriptions-1"
_WHAT, _HINT = "the file that says what was subscribed to", "restore it from a backup"


@dataclass(frozen=True)
class Subscription:
    """A stream, as far as its broker is concerned."""

    log: str
    """The name of its log's folder."""
    topic: str
    qos: int
    sync_interval: float
    max_log_bytes: int
    dedupe: Dedupe | None = None

    @staticmethod
    def of(declared: SourceDeclaration) -> Subscription:
        options = declared.options
        return Subscription(
            log_name(declared),
            str(options["topic"]),
            # The library would say that it has a message of QoS 2 before we have written it down.
            min(1, int(str(options["qos"]))),
            (parse_duration(str(options["sync_interval"])) or 0) / 1_000,
            int(str(options["max_log_bytes"])),
            Dedupe.of(declared),
        )

    @property
    def filter(self) -> str:
        return topic_filter(self.topic)

    @property
    def limits(self) -> LogLimits:
        return LogLimits(self.sync_interval, self.max_log_bytes)


def log_name(declared: SourceDeclaration) -> str:
    """What the log of a stream is called; of another topic it is another."""
    topic = str(declared.options["topic"]).encode("utf-8", "replace")
    return f"{file_name(declared.name)}.{hashlib.sha256(topic).hexdigest()[:8]}"


class KeptSubscriptions:
    """Those of one client id."""

    def __init__(self, folder: Path, client_id: str) -> None:
        self._folder = folder
        name = hashlib.sha256(client_id.encode("utf-8", "replace")).hexdigest()[:16]
        self._path = folder / f"{name}.json"

    def read(self) -> dict[str, Subscription]:
        """By the names of their logs."""
        found: Mapping[str, Any] = read_small(self._path, _MAGIC, _WHAT, _HINT) or {}
        return {
            name: Subscription(**{**given, "dedupe": Dedupe.from_json(given.get("dedupe"))})
            for name, given in found.items()
        }

    def takes(self, subscription: Subscription) -> bool:
        """Can one client have this subscription besides those that it has? A broker may send what
        two of them match once or twice, and one that was restarted does other than before; so
        nobody could tell which of them a message is for."""
        others = [found for name, found in self.read().items() if name != subscription.log]
        return not any(overlap(found.filter, subscription.filter) for found in others)

    def write(self, subscriptions: Mapping[str, Subscription]) -> None:
        kept = {name: asdict(found) for name, found in subscriptions.items()}
        write_small(self._path, _MAGIC, kept)

    def forget(self, log: str) -> None:
        self.write({name: found for name, found in self.read().items() if name != log})

    def is_read(self, subscription: Subscription) -> bool:
        """Is there anybody who has begun to read it?"""
        return bool(Consumers(self._folder / subscription.log).positions())
