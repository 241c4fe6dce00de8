"""Topic to topic, exactly once, while driver, workers and broker are killed: a short form.

`tools/kafka_kill.py` is the long one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_broker import missing
from kafka_kill import Kill


@pytest.mark.skipif(missing() is not None, reason=f"no broker: {missing()}")
def test_every_row_once_and_in_order(tmp_path: Path) -> None:
    assert len(Kill(tmp_path).run(kills=2, restarts=1, rows=4_000)) == 3
