"""Which connection receives for a stream."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from narrows.connectors.mqtt.broker import Broker, client_id_of, require_library
from narrows.connectors.mqtt.connection import Connection
from narrows.connectors.mqtt.subscriptions import KeptSubscriptions, Subscription
from narrows.errors import Code, fail
from narrows.plugins.options import parse_duration

_CLIENTS = 20
"""Connections to a broker that one user and client id can have at most."""
_OPENING = threading.Lock()
_CONNECTIONS: dict[tuple[Path, Broker, str], Connection] = {}
"""Those of this process, which is the driver."""


def receiving(folder: Path, options: Mapping[str, Any], subscription: Subscription) -> Connection:
    """The connection that receives for a stream from now on. It is shared with all that have the
    same options, as long as no topic is for two of them."""
    require_library()
    broker = Broker.of(options)
    with _OPENING:
        given = str(options.get("client_id") or client_id_of(folder, broker))
        client_id = _client_for(folder, given, subscription)
        key = (folder, broker, client_id)
        if key not in _CONNECTIONS:
            expiry = (parse_duration(str(options["session_expiry"])) or 0) // 1_000
            receive_maximum = int(str(options["receive_maximum"]))
            _CONNECTIONS[key] = Connection(folder, broker, client_id, expiry, receive_maximum)
        connection = _CONNECTIONS[key]
        others = [found for found in _CONNECTIONS.values() if found is not connection]
    for other in others:
        other.give_up(folder, subscription.log)
    connection.add(subscription)
    return connection


def _client_for(folder: Path, client_id: str, subscription: Subscription) -> str:
    """The one that has had the subscription before; else the first that can take it."""
    ids = [client_id, *(f"{client_id}-{number}" for number in range(1, _CLIENTS))]
    kept = [KeptSubscriptions(folder, found) for found in ids]
    had = [
        found for found, known in zip(ids, kept, strict=True) if subscription.log in known.read()
    ]
    able = (found for found, known in zip(ids, kept, strict=True) if known.takes(subscription))
    chosen = had[0] if had else next(able, None)
    if chosen is None:
        message = f"more than {_CLIENTS} streams of one broker have topics in common"
        raise fail(Code.NOT_SUPPORTED, message, None, "make one of them a shared stream")
    known = KeptSubscriptions(folder, chosen)
    found = known.read()
    if found.get(subscription.log) != subscription:  # before the next one asks
        known.write({**found, subscription.log: subscription})
    return chosen
