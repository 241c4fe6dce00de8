"""Brings this package to the executors of a cluster, where nobody has installed it."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import narrows


def ship_package(spark: SparkSession) -> None:
    """Sends our own code along. What it imports (pyarrow, pysimdjson) must be on the executors."""
    master = spark.conf.get("spark.master", "") or ""
    if master == "local" or master.startswith("local["):
        return  # the workers are this Python
    package = Path(narrows.__file__).parent
    folder = tempfile.mkdtemp(prefix="narrows-")
    # Executors fetch the file when they need it, so it must stay as long as this process does.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = shutil.make_archive(
        str(Path(folder) / "narrows"), "zip", root_dir=package.parent, base_dir=package.name
    )
    spark.addArtifacts(archive, pyfile=True)
