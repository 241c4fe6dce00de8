"""A real Kafka broker on this machine, for tests, the demo and benchmarks.

    python tools/kafka_broker.py                 # runs one until Ctrl-C, and prints its address
    with Broker(folder) as broker: ...           # broker.address, stop(), kill(), start()

One process (KRaft: broker and controller in one), on free ports of loopback, with its log in a
folder of the caller's. Its jars come from Maven once, into a cache of the user's; where Maven or
Java is missing, `missing()` says so.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

VERSION = "4.3.1"
CLUSTER = "bmFycm93cy1icm9rZXIAAA"  # 16 bytes in base64, as Kafka wants a cluster's id
DEADLINE = 120.0
"""Seconds for a broker to come up or go down, on a machine that is busy with other things."""

_COMPLETE = "complete"
"""The file of a folder of jars that says that they are all there."""

POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>narrows</groupId><artifactId>broker</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{VERSION}</version>
    </dependency>
    <dependency> <!-- or it would say nothing about what is wrong -->
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>2.25.4</version>
    </dependency>
  </dependencies>
</project>
"""

LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %c %m%n
"""


class BrokerError(Exception):
    """The broker cannot be had, or does not come up; the text says why."""


def cache() -> Path:
    """Where the jars are kept between runs."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "narrows" / f"kafka-{VERSION}"


def missing() -> str | None:
    """Why there can be no broker here; None if there can."""
    if shutil.which("java") is None:
        return "there is no `java`"
    if not _jars_are_there() and shutil.which("mvn") is None:
        return "Kafka's jars are not there, and there is no `mvn` to fetch them"
    return None


def _jars_are_there() -> bool:
    return (cache() / _COMPLETE).exists()


def jars() -> Path:
    """The folder of the broker's jars, fetched with Maven if they are not there."""
    if (reason := missing()) is not None:
        raise BrokerError(reason)
    return fetched(cache(), POM)


def fetched(folder: Path, pom: str) -> Path:
    """A folder with the jars that such a project depends on, fetched if it is not there."""
    if (folder / _COMPLETE).exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        (Path(scratch) / "pom.xml").write_text(pom)
        found = Path(scratch) / "jars"
        maven = ["mvn", "-q", "-B", "-f", scratch, "dependency:copy-dependencies"]
        options = ["-DincludeScope=runtime", f"-DoutputDirectory={found}"]
        done = subprocess.run([*maven, *options], capture_output=True, text=True)
        if done.returncode:
            raise BrokerError(f"Maven could not fetch {folder.name}: {done.stdout.strip()}")
        (found / _COMPLETE).touch()
        with contextlib.suppress(OSError):  # somebody else was faster
            found.rename(folder)
    if not (folder / _COMPLETE).exists():
        raise BrokerError(f"{folder} is in the way: remove it")
    return folder


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


class Broker:
    """One broker with its log in a folder. Port and log stay over `stop`, `kill` and `start`."""

    def __init__(self, folder: Path, **settings: str) -> None:
        """`settings` are of the broker, with `_` for `.`: `log_retention_ms="1000"`."""
        self._folder = folder
        self._settings = {name.replace("_", "."): value for name, value in settings.items()}
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise BrokerError("the broker does not run")
        return self._process.pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        if not self._port:
            self._port, controller = free_ports(2)
            self._format(controller)
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java("-Xmx512m"), "kafka.Kafka", str(self._properties)],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for whoever started it
            )
        self._await_answer()

    def stop(self) -> None:
        """Lets it end as an administrator would."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    @property
    def _properties(self) -> Path:
        return self._folder / "server.properties"

    def _java(self, *options: str) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={self._folder / 'log4j2.properties'}"
        return ["java", *options, logging, "-cp", str(jars() / "*")]

    def _format(self, controller: int) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            "log.dirs": str(self._folder / "log"),
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "4",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        } | self._settings
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        (self._folder / "log4j2.properties").write_text(LOGGING)
        tool = [*self._java(), "kafka.tools.StorageTool", "format", "--standalone"]
        cluster = ["-t", CLUSTER, "-c", str(self._properties)]
        done = subprocess.run([*tool, *cluster], capture_output=True, text=True)
        if done.returncode:
            raise BrokerError(f"Kafka could not make its folder: {done.stdout}{done.stderr}")

    def _await_answer(self) -> None:
        process = self._process
        assert process is not None
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            if process.poll() is not None:
                said = (self._folder / "broker.log").read_text(errors="replace")[-2000:]
                raise BrokerError(f"the broker ended with {process.returncode}: {said}")
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
                return
            time.sleep(0.1)
        raise BrokerError(f"the broker did not answer within {DEADLINE:.0f} seconds")

    def _end(self, by: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(by)
        try:
            process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="Runs a Kafka broker on loopback until Ctrl-C.")
    parser.add_argument("--folder", type=Path, help="where its log is kept; a scratch one if none")
    folder = parser.parse_args().folder
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        try:
            broker = stack.enter_context(Broker(folder.absolute()))
        except BrokerError as error:
            sys.exit(str(error))
        print(broker.address, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
