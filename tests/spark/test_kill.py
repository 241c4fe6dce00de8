"""Pipelines of every kind that are killed hard write every row exactly once all the same.

The short form of `tools/kill.py`: a worker and the JVM under its driver, then what starts workers
and the driver.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.all_kinds import SHARED
from support.killing import Killing, Life

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it looks at /proc")

LIVES = (
    Life(["kept", "quick", "windowed", "distinct", "joined", "filled"], ["busy worker"], "jvm"),
    Life(["once_each", "counted", "tallied", "filled", "passed", *SHARED], ["daemon"], "driver"),
)


def test_every_row_exactly_once(tmp_path: Path) -> None:
    killing = Killing(tmp_path / "run", seed=5)
    for life in LIVES:
        killing.live(life, every=2.0)
    assert killing.killed == {"busy worker": 1, "jvm": 1, "daemon": 1, "driver": 1}
    assert killing.finish() == []
    said = (tmp_path / "run" / "log").read_text()
    assert "Spark's Java process has ended, or cannot be reached any more" in said
