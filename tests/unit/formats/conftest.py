"""Tests of JSON hold for both kernels."""

from __future__ import annotations

import pytest

from narrows.formats.kernel import NATIVE, PORTABLE, VARIABLE
from support.kernels import needs_native


@pytest.fixture(params=[PORTABLE, pytest.param(NATIVE, marks=needs_native)])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The kernel that decodes JSON in this test."""
    name: str = request.param
    monkeypatch.setenv(VARIABLE, name)
    return name
