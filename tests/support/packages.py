"""Packages of third parties, as they come to a user: wheels with entry points."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from narrows.catalog.registry import CONNECTORS, FORMATS

EntryPoints = Mapping[str, Mapping[str, str]]
"""By group and name: `module:attribute`."""


def build_wheel(
    folder: Path, name: str, files: Mapping[str, str], entry_points: EntryPoints
) -> Path:
    """A wheel of pure Python; nothing has to be downloaded to make it."""
    info = f"{name}-1.0.dist-info"
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in named.items())
        for group, named in entry_points.items()
    )
    contents = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": points,
    }
    record = "".join(f"{path},,\n" for path in [*contents, f"{info}/RECORD"])
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**contents, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    return wheel


def install(wheel: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installs it for this process, and until the test ends."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    monkeypatch.syspath_prepend(str(site))
    for registry in (FORMATS, CONNECTORS):
        monkeypatch.setattr(registry, "_loaded", {})
