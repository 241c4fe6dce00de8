"""The API answers everything as its OpenAPI says. `tools/fuzz_service.py` asks for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.fake_session import fake_sessions
from support.service import served
from support.service_fuzz import fuzz


# Hypothesis looks at the recursion limit, which the parser raises for a moment, in another thread.
@pytest.mark.filterwarnings("ignore:The recursion limit will not be reset")
def test_whatever_is_asked_is_answered_as_described(tmp_path: Path) -> None:
    with served(tmp_path / "state", fake_sessions()[0], allowed=[tmp_path]) as api:
        done = fuzz(api, str(tmp_path), examples=6)
    assert done.operations > 40
    assert done.requests > 300
