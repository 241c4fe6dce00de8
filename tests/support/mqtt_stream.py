"""A stream of an MQTT broker that somebody reads, for tests without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from narrows import Catalog
from narrows.connectors.base import SourceDeclaration, find_connector
from narrows.connectors.mqtt.subscriptions import log_name
from narrows.plugins.options import OptionValue
from narrows.sql.scope import Name
from support.received import payloads_in
from support.waiting import await_that


class MqttStream:
    """A stream that somebody reads."""

    def __init__(self, state: Path, broker: str, topic: str, name: str = "s", **more: OptionValue):
        given = {"connector": "mqtt", "broker": broker, "topic": topic, **more}
        texts = [f"{k} = {v}" if isinstance(v, int) else f"{k} = '{v}'" for k, v in given.items()]
        catalog = Catalog()
        catalog.execute(f"CREATE STREAM {name} (n INT) WITH ({', '.join(texts)})")
        found = catalog.find_source(Name(name, None))
        declared = SourceDeclaration(
            name,
            "json",
            found.options,
            reader=f"entries/p/{name}",
            schema=found.schema,
            folder=str(state),
        )
        self.log = state / log_name(declared)
        self.source = find_connector("mqtt").source(declared)

    @contextmanager
    def running(self) -> Iterator[None]:
        self.source.start()
        try:
            yield
        finally:
            self.source.stop()

    def await_connected(self) -> None:
        await_that(lambda: self.source.problem is None, "it is connected")

    def await_problem(self, text: str) -> None:
        await_that(lambda: text in (self.source.problem or ""), f"it says: {text}")

    def await_payloads(self, *payloads: bytes) -> None:
        await_that(lambda: set(payloads) <= set(self.payloads), "all have come")

    @property
    def payloads(self) -> list[bytes]:
        return list(payloads_in(self.log).values())
