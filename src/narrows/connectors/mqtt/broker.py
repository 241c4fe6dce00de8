"""How to connect to a broker: its address, who connects, and under which client id."""

from __future__ import annotations

import hashlib
import secrets
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from narrows.connectors.mqtt.options import default_port
from narrows.errors import Code, fail
from narrows.files.atomic import make_private
from narrows.files.small import read_small, write_small
from narrows.plugins.options import parse_duration
from narrows.plugins.secrets import resolved

if TYPE_CHECKING:
    from paho.mqtt.client import Client

    from narrows.connectors.mqtt.transport import Transport

_MAGIC = "narrows-mqtt-client-1"
_SHORTEST_PAUSE, _LONGEST_PAUSE = 1, 30
"""Seconds between two attempts to connect."""


@dataclass(frozen=True)
class Broker:
    """One address and one user."""

    host: str
    port: int
    tls: bool
    username: str | None
    password: str | None = field(repr=False)
    version: str = "5"
    keep_alive: int = 30
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None

    @staticmethod
    def of(options: Mapping[str, Any]) -> Broker:
        """What a statement says, with what the environment has for `${NAME}`."""
        given = {name: options[name] for name in _USED if name in options}
        found: dict[str, Any] = resolved(given)
        url = urlsplit(str(found["broker"]))
        if not url.hostname or url.scheme not in ("mqtt", "mqtts"):
            raise fail(Code.INVALID_OPTION, "option `broker` is no address like `mqtt://host:1883`")
        in_url = [None if part is None else unquote(part) for part in (url.username, url.password)]
        password = found.get("password", in_url[1])
        return Broker(
            host=url.hostname,
            port=url.port or default_port(url.scheme),
            tls=url.scheme == "mqtts",
            username=found.get("username", in_url[0]),
            password=None if password is None else str(password),
            version=str(found.get("version", "5")),
            keep_alive=max(1, (parse_duration(str(found["keep_alive"])) or 0) // 1_000),
            **{name: found.get(name) for name in ("ca_file", "cert_file", "key_file")},
        )

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_v5(self) -> bool:
        return self.version == "5"

    def tls_context(self) -> ssl.SSLContext | None:
        """What makes a connection secure; None if none is to be."""
        if not self.tls:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if self.cert_file is not None:
            context.load_cert_chain(self.cert_file, self.key_file)
        if self.ca_file is not None:
            context.load_verify_locations(self.ca_file)
        else:
            context.load_default_certs()
        return context

    def client(
        self, client_id: str, *, keeps_session: bool, receives_by: Transport | None = None
    ) -> Client:
        """A client of the library, not yet connected. One that receives acknowledges nothing by
        itself."""
        require_library()
        from paho.mqtt.client import Client, MQTTv5, MQTTv311
        from paho.mqtt.enums import CallbackAPIVersion

        client = Client(
            CallbackAPIVersion.VERSION2,
            client_id,
            clean_session=None if self.is_v5 else not keeps_session,
            protocol=MQTTv5 if self.is_v5 else MQTTv311,
            manual_ack=receives_by is not None,
        )
        if self.username is not None:
            client.username_pw_set(self.username, self.password)
        context = receives_by or self.tls_context()
        if context is not None:
            client.tls_set_context(cast("ssl.SSLContext", context))
        client.reconnect_delay_set(_SHORTEST_PAUSE, _LONGEST_PAUSE)
        return client

    def connect(self, client: Client, session_expiry: int, receive_maximum: int) -> None:
        """Has a client connect that keeps its session, when its thread begins."""
        how: dict[str, Any] = {}
        if self.is_v5:
            from paho.mqtt.packettypes import PacketTypes
            from paho.mqtt.properties import Properties

            properties = cast("Any", Properties)(PacketTypes.CONNECT)
            properties.SessionExpiryInterval = min(session_expiry, 0xFFFFFFFF)
            properties.ReceiveMaximum = receive_maximum
            how = {"clean_start": False, "properties": properties}
        client.connect_async(self.host, self.port, self.keep_alive, **how)

    def subscribing(self, qos: int) -> dict[str, Any]:
        """How a client that keeps its session subscribes: what is retained comes once, where there
        is a way to say so."""
        if not self.is_v5:
            return {"qos": qos}
        from paho.mqtt.subscribeoptions import SubscribeOptions

        new_only = SubscribeOptions.RETAIN_SEND_IF_NEW_SUB
        return {"options": SubscribeOptions(qos, retainHandling=new_only)}


_USED = (
    "broker",
    "username",
    "password",
    "version",
    "keep_alive",
    "ca_file",
    "cert_file",
    "key_file",
)


def client_id_of(folder: Path, broker: Broker) -> str:
    """The client id of a state folder at a broker: always the same, and nobody else's.

    It has 23 characters, which every broker must take."""
    path = folder / "client.json"
    what, hint = "the file with the client id", "restore it from a backup"
    own: str | None = read_small(path, _MAGIC, what, hint)
    if own is None:
        own = secrets.token_hex(16)
        make_private(folder)
        write_small(path, _MAGIC, own)
    text = f"{own} {broker.host}:{broker.port} {broker.username} {broker.version}"
    return f"narrows{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def require_library() -> None:
    try:
        import paho.mqtt.client  # noqa: F401
    except ImportError:
        raise fail(
            Code.BROKEN_PACKAGE,
            "connector `mqtt` needs the package `paho-mqtt`, which is not installed",
            None,
            "pip install 'narrows[mqtt]'",
        ) from None
