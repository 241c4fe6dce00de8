"""The connector of docs/connectors.md as a package that a user would install."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.packages import build_wheel, install

SOURCE = Path(__file__).with_name("toy_connector.py")
ENTRY_POINTS = {"narrows.connectors": {"sqlite": "narrows_sqlite:CONNECTOR"}}


def build_toy(folder: Path) -> Path:
    files = {"narrows_sqlite.py": SOURCE.read_text("utf-8")}
    return build_wheel(folder, "narrows_sqlite", files, ENTRY_POINTS)


def install_toy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For this process, until the test ends."""
    install(build_toy(folder), folder / "site", monkeypatch)
