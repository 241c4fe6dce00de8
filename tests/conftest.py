"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes depends on what else the machine does, and is no fault of the code.
settings.register_profile("narrows", deadline=None)
settings.load_profile("narrows")
