"""Goldens do not depend on whether the native kernel is built."""

from __future__ import annotations

import pytest

from narrows.formats.kernel import PORTABLE, VARIABLE


@pytest.fixture(autouse=True)
def portable_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, PORTABLE)
