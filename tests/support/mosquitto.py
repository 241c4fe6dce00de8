"""A real MQTT broker for tests: mosquitto, a process of our own on a free port.

Where it cannot be had, tests that want one are skipped, and say why.
"""

from __future__ import annotations

import itertools
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import pytest
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.properties import Properties

DEADLINE = 60.0
_COMMAND = "/usr/sbin/mosquitto"
_NUMBERS = itertools.count()


def missing() -> str | None:
    """Why there is no broker here; None if there is one. Installs it where that is possible."""
    if _found() is None and shutil.which("apt-get") is not None:
        command = ["apt-get", "install", "-y", "--no-install-recommends", "mosquitto"]
        subprocess.run(command, capture_output=True, check=False)
    return None if _found() else "mosquitto is not installed, and `apt-get` cannot install it"


def _found() -> str | None:
    return shutil.which("mosquitto") or (_COMMAND if Path(_COMMAND).exists() else None)


class Mosquitto:
    """A broker that keeps its sessions over restarts, and any number of messages."""

    def __init__(self, folder: Path, *more: str) -> None:
        """`more` are lines of its configuration."""
        self._folder = folder
        self._more = more
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    @property
    def address(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        config = self._folder / "mosquitto.conf"
        lines = [
            f"listener {self.port} 127.0.0.1",
            "persistence true",
            f"persistence_location {self._folder}/",
            "max_queued_messages 0",
            *(
                ()
                if any("allow_anonymous" in line for line in self._more)
                else ["allow_anonymous true"]
            ),
            *self._more,
        ]
        config.write_text("\n".join(lines) + "\n")
        command = [_found() or _COMMAND, "-c", str(config)]
        log = (self._folder / "log").open("ab")
        with log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + DEADLINE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                assert self._process.poll() is None, (self._folder / "log").read_text()
                assert time.monotonic() < deadline, "the broker does not listen"
                time.sleep(0.05)

    def stop(self) -> None:
        """Ends it; its sessions are kept."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(DEADLINE)
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()


@pytest.fixture(scope="session")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """A broker that is there until the last test has run."""
    reason = missing()
    if reason is not None:
        pytest.skip(f"no MQTT broker here: {reason}")
    folder = tmp_path_factory.mktemp("mosquitto")
    folder.chmod(0o777)  # it gives up being root
    with Mosquitto(folder) as started:
        yield started


def new_topic() -> str:
    return f"t/{uuid.uuid4().hex}"


class Publisher:
    """Publishes with QoS 1, and knows what the broker has acknowledged."""

    def __init__(self, port: int) -> None:
        self._client = Client(
            CallbackAPIVersion.VERSION2,
            f"publisher{next(_NUMBERS)}-{uuid.uuid4().hex}",
            protocol=MQTTv5,
        )
        self._client.max_inflight_messages_set(10_000)
        self._client.max_queued_messages_set(0)
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def put(
        self,
        topic: str,
        payloads: Sequence[bytes],
        *,
        qos: int = 1,
        retain: bool = False,
        properties: Properties | None = None,
    ) -> None:
        """Returns when the broker has them all."""
        sent: list[Any] = [
            self._client.publish(topic, payload, qos, retain, properties) for payload in payloads
        ]
        for info in sent:
            info.wait_for_publish(DEADLINE)
            assert info.is_published()

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
