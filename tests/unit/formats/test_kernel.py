"""Which kernel is chosen, and what it says when it cannot be."""

from __future__ import annotations

import pytest

from narrows.errors import NarrowsError
from narrows.formats import kernel as kernels
from narrows.formats.base import find_format
from narrows.formats.decoder import LineDecoder
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.kernel import NATIVE, PORTABLE, VARIABLE, chosen_kernel
from support.kernels import needs_native


@pytest.fixture
def not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the native kernel were not installed."""
    monkeypatch.setattr(kernels, "_MODULE", "narrows_kernel_that_nobody_has")


def test_the_portable_one_can_be_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, PORTABLE)
    assert chosen_kernel() == PORTABLE
    assert isinstance(find_format("json").decoder({}), JsonDecoder)


@needs_native
def test_the_native_one_is_used_where_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert chosen_kernel() == NATIVE
    assert isinstance(find_format("json").decoder({}), LineDecoder)


@pytest.mark.usefixtures("not_built")
def test_without_the_native_one_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert chosen_kernel() == PORTABLE
    assert isinstance(find_format("json").decoder({}), JsonDecoder)
    monkeypatch.setenv(VARIABLE, NATIVE)
    with pytest.raises(NarrowsError, match="which is not installed"):
        chosen_kernel()


def test_another_version_of_the_native_one_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(kernels, "_PROTOCOL", -1)
    assert chosen_kernel() == PORTABLE


def test_an_unknown_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "quantum")
    with pytest.raises(NarrowsError, match="there is no kernel `quantum`"):
        chosen_kernel()
