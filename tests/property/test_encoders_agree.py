"""The native kernel writes what the portable encoder does. `tools/fuzz_encoders.py` tries more."""

from __future__ import annotations

import random

import pytest

from narrows.formats.kernel import PORTABLE, VARIABLE
from support.encoders import (
    assert_equal_encoders,
    assert_equal_fragments,
    make_copied_case,
    make_fragment_case,
)
from support.kernels import needs_native

pytestmark = needs_native

CASES = 80
"""Of each kind, for each of the seeds."""


@pytest.fixture(autouse=True)
def portable_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not asked of the native encoder by name is encoded by the portable one."""
    monkeypatch.setenv(VARIABLE, PORTABLE)


@pytest.mark.parametrize("seed", range(2))
def test_fragments_from_documents(seed: int) -> None:
    choose = random.Random(f"fragments {seed}").choice
    for _ in range(CASES):
        assert_equal_fragments(make_fragment_case(choose, most=10))


@pytest.mark.parametrize("seed", range(2))
def test_documents_that_are_copied(seed: int) -> None:
    choose = random.Random(f"copied {seed}").choice
    for _ in range(4 * CASES):
        assert_equal_fragments(make_copied_case(choose, most=10))


@pytest.mark.parametrize("seed", range(2))
def test_texts_from_columns(seed: int) -> None:
    choose = random.Random(f"columns {seed}").choice
    for _ in range(CASES):
        assert_equal_encoders(choose)
