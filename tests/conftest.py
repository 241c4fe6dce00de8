"""What holds for all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

EXPLORE = "NARROWS_EXPLORE"
"""With this in the environment every run tries other examples; without, the same, so that whoever
changes something learns what that has broken, and nothing else."""

# How long an example takes depends on what else the machine does, and is no fault of the code.
settings.register_profile("narrows", deadline=None, derandomize=EXPLORE not in os.environ)
settings.load_profile("narrows")

# A JVM that compiles for the long run has not begun to gain by it when its tests are over.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")

pytest.register_assert_rewrite("support.conformance")

from support.kafka import broker, topics  # noqa: E402, F401
from support.mosquitto import mosquitto  # noqa: E402, F401
