"""The native kernel decodes what the portable one does. `tools/fuzz_kernels.py` tries a million."""

from __future__ import annotations

import random

import pytest

from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.native import NativeJsonDecoder
from support.kernels import assert_equal_kernels, make_case, needs_native

pytestmark = needs_native

CASES = 250
"""Of eight documents on average."""


@pytest.mark.parametrize("seed", range(4))
def test_kernels_agree(seed: int) -> None:
    choose = random.Random(f"kernels {seed}").choice
    for _ in range(CASES // 4):
        case = make_case(choose, most=16)
        assert_equal_kernels(case, JsonDecoder(case.zone), NativeJsonDecoder(case.zone))
