"""What holds for all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

# How long an example takes depends on what else the machine does, and is no fault of the code.
settings.register_profile("narrows", deadline=None)
settings.load_profile("narrows")

pytest.register_assert_rewrite("support.conformance")

from support.kafka import broker, topics  # noqa: E402, F401
from support.mosquitto import mosquitto  # noqa: E402, F401
