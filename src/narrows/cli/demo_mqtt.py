"""`narrows demo --mqtt`: the demo over topics of an MQTT broker, yours or one that is started.

Messages of MQTT cannot be read twice, and the demo reads them three times. So they are received by
each of its runs before the first of them begins: what a run reads is its own log.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from narrows.cli.demo_data import BROKEN, vehicles
from narrows.cli.demo_places import RUNS
from narrows.connectors.base import SourceConnector, SourceDeclaration, find_connector
from narrows.connectors.mqtt.broker import Broker, require_library
from narrows.errors import Code, fail
from narrows.planner.catalog import Catalog
from narrows.sql.scope import Name
from narrows.state.folder import StateFolder

_HINT = "install mosquitto, or give the address of a broker: `--broker mqtt://localhost:1883`"
_SECONDS = 120.0
_AT_ONCE = 500
"""Messages that are published before it is seen that all have come: a broker need not keep more."""
_END = b"end"


@contextlib.contextmanager
def mqtt_topics(broker: str | None, folder: Path) -> Iterator[MqttTopics]:
    """Topics of this broker; of one that runs meanwhile if none is given."""
    require_library()
    with contextlib.ExitStack() as stack:
        address = broker or stack.enter_context(_broker(folder / "broker"))
        yield stack.enter_context(contextlib.closing(MqttTopics(address, folder)))


@contextlib.contextmanager
def _broker(folder: Path) -> Iterator[str]:
    command = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
    if command is None:
        raise fail(Code.SOURCE_UNAVAILABLE, "the demo needs an MQTT broker", None, _HINT)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder.mkdir(parents=True)
    config = folder / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n", "utf-8")
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen([command, "-c", str(config)], stdout=log, stderr=log) as process,
    ):
        try:
            _await(lambda: _listens(port) or process.poll() is not None, "the broker is there")
            if process.poll() is not None:
                said = (folder / "log").read_text("utf-8", "replace").strip()
                message = f"no MQTT broker can be started: {said}"
                raise fail(Code.SOURCE_UNAVAILABLE, message, None, _HINT)
            yield f"mqtt://127.0.0.1:{port}"
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _await(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise fail(Code.SOURCE_UNAVAILABLE, f"waited in vain: {what}", None, _HINT)
        time.sleep(0.02)


class MqttTopics:
    def __init__(self, address: str, folder: Path) -> None:
        self._address = address
        self._folder = folder
        self._prefix = f"narrows-demo-{uuid.uuid4().hex[:8]}"
        self._rows: defaultdict[str, list[bytes]] = defaultdict(list)
        subscribed = threading.Event()
        broker = Broker.of({"broker": address, "keep_alive": "30 seconds"})
        client: Any = broker.client(f"narrows{uuid.uuid4().hex[:16]}", keeps_session=False)
        client.on_connect = lambda *_: client.subscribe(f"{self._prefix}/out/#", 1)
        client.on_subscribe = lambda *_: subscribed.set()
        client.on_message = self._on_message
        self._client = client
        try:
            client.connect(broker.host, broker.port)
        except OSError as error:
            message = f"no MQTT broker answers at {broker}: {error}"
            raise fail(Code.SOURCE_UNAVAILABLE, message, None, _HINT) from None
        client.loop_start()
        _await(subscribed.is_set, f"{broker} takes a subscription")

    def _on_message(self, client: Any, _: Any, message: Any) -> None:
        self._rows[message.topic].append(bytes(message.payload))

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def fill(self, count: int) -> int:
        texts = chain(vehicles(count, 0, 1), BROKEN)
        sources = [self._source_of(run) for run in RUNS]
        total = published = 0
        try:
            for source in sources:
                source.start()
            _await(lambda: all(source.problem is None for source in sources), "all subscribed")
            while taken := [text.encode() for text in islice(texts, _AT_ONCE)]:
                for text in taken:
                    self._client.publish(f"{self._prefix}/vehicles", text, 1)
                total += sum(map(len, taken))
                published += len(taken)
                self._await_received(sources, published)
        finally:
            for source in sources:
                source.stop()
        return total

    def _await_received(self, sources: Sequence[SourceConnector], count: int) -> None:
        _await(lambda: all(_received(source) >= count for source in sources), "all has come")

    @property
    def source(self) -> str:
        return f"connector = 'mqtt', broker = '{self._address}', topic = '{self._prefix}/vehicles'"

    def sink(self, run: str, pipeline: str) -> str:
        return (
            f"connector = 'mqtt', broker = '{self._address}',"
            f" topic = '{self._prefix}/out/{run}/{pipeline}'"
        )

    def rows(self, run: str, pipeline: str) -> list[dict[str, Any]]:
        """What was acknowledged comes before what is published now."""
        topic = f"{self._prefix}/out/{run}/{pipeline}"
        self._client.publish(topic, _END, 1)
        _await(lambda: _END in self._rows[topic][-1:], "all rows have come")
        return [json.loads(payload) for payload in self._rows[topic] if payload != _END]

    def _source_of(self, run: str) -> SourceConnector:
        catalog = Catalog()
        catalog.execute(f"CREATE STREAM vehicles (vin STRING) WITH ({self.source})")
        found = catalog.find_source(Name("vehicles", None))
        kept = StateFolder(self._folder / run).received("mqtt").absolute()
        declared = SourceDeclaration(found.name, found.format, found.options, folder=str(kept))
        return find_connector("mqtt").source(declared)


def _received(source: SourceConnector) -> int:
    groups = source.available()
    return int(groups[-1].end) if groups else 0
