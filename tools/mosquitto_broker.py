"""A real MQTT broker for tests and benchmarks: mosquitto, a process of our own on a free port.

    with Mosquitto(folder) as broker:
        broker.address       # mqtt://127.0.0.1:40123

It comes from Debian's packages. The service of that package is not used.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

_DEADLINE = 60.0
_COMMAND = "/usr/sbin/mosquitto"
_DEFAULTS = (
    "persistence true",
    "max_queued_messages 0",
    "allow_anonymous true",
    "user root",  # it would become another, who may not keep sessions in our folders
)


def missing() -> str | None:
    """Why there is no broker here; None if there is one. Installs it where that is possible, and
    sees to it that the package starts no service."""
    if _found() is None and shutil.which("apt-get") is not None:
        command = ["apt-get", "install", "-y", "--no-install-recommends", "mosquitto"]
        quiet = {**os.environ, "RUNLEVEL": "1", "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(command, capture_output=True, check=False, env=quiet)
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
        given = {line.split()[0] for line in self._more}
        lines = [
            f"listener {self.port} 127.0.0.1",
            f"persistence_location {self._folder}/",
            *(line for line in _DEFAULTS if line.split()[0] not in given),
            *self._more,
        ]
        config.write_text("\n".join(lines) + "\n")
        command = [_found() or _COMMAND, "-c", str(config)]
        log = (self._folder / "log").open("ab")
        with log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + _DEADLINE
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
            self._process.wait(_DEADLINE)
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()
