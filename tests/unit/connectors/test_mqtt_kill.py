"""What receives and reads MQTT is killed meanwhile: a short form of `tools/mqtt_kill.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosquitto_broker import missing
from mqtt_kill import OUTPUTS, Kill


@pytest.mark.skipif(missing() is not None, reason=f"no broker: {missing()}")
def test_nothing_that_was_acknowledged_is_missing(tmp_path: Path) -> None:
    kill = Kill(tmp_path, bare=True)
    assert kill.run(kills=2, rows=3_000, restarts=1).keys() == OUTPUTS.keys()
