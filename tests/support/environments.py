"""Environments of their own for packages of third parties, as their users have them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import narrows


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
