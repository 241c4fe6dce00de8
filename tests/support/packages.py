"""Packages of third parties, as they come to a user: wheels with entry points."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import narrows
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


def environment(folder: Path, wheel: Path) -> Path:
    """An environment that has what this one has, and the package."""
    venv.create(folder, symlinks=True, with_pip=False)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    ours = [str(Path(narrows.__file__).parents[1]), sysconfig.get_path("purelib")]
    (site / "ours.pth").write_text("\n".join(ours))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True)
    return python


def run_in(python: Path, folder: Path, *arguments: str) -> str:
    """What that Python prints, started in a folder; whatever drives Spark here is unknown to it."""
    hidden = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYSPARK_GATEWAY_PORT")
    inherited = {key: value for key, value in os.environ.items() if key not in hidden}
    done = subprocess.run(
        [str(python), *arguments],
        cwd=folder,
        env=inherited,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
