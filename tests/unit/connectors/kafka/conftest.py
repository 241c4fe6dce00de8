"""One broker for all tests of the connector."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.kafka import DEADLINE  # noqa: F401 (which makes the tools importable)

from kafka_broker import Broker, missing


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    reason = missing()
    if reason is not None:
        pytest.skip(f"no broker: {reason}")
    with Broker(tmp_path_factory.mktemp("kafka")) as started:
        yield started
