"""Classes of Spark, kept ready for the next JVM: reading them is half of what a start costs.

A JVM can write down the classes that it has loaded, as it has them in memory, and the next one maps
that file instead of reading thousands of classes out of jars (Java calls it class data sharing).
The first embedded Spark of a machine leaves such a file behind when it ends; those that come after
it start with half of the CPU time.

    ~/.cache/narrows/spark-3f9a0c52.jsa               for this Java and this Spark
    ~/.cache/narrows/spark-3f9a0c52.5d20.writing      a JVM writes it when it ends, or was killed

Java itself checks that the file fits its version and its jars, and goes on without it if not.
`NARROWS_CLASS_ARCHIVE=off` switches this off.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

import pyspark

from narrows.files.atomic import make_private
from narrows.spark.run.java import find_java

SWITCH = "NARROWS_CLASS_ARCHIVE"
_QUIET = ("-Xlog:disable", "-Xlog:all=warning:stderr")
"""What Java has to say about it belongs where all else goes that it says."""
_WRITING = ".writing"
_DAY = 86_400.0
_UNUSED, _ABANDONED = 30 * _DAY, _DAY


def archive_options(class_path: str = "") -> Sequence[str]:
    """What a JVM is told, so that it starts with the classes of an earlier one, or keeps its own
    for later ones. `class_path` is what stands before Spark's jars."""
    with contextlib.suppress(OSError, RuntimeError):  # no home, no room: it starts without
        archive = archive_path(class_path)
        if archive is None:
            return ()
        make_private(archive.parent)
        _adopt(archive)
        if archive.exists():
            return (f"-XX:SharedArchiveFile={archive}", *_QUIET)
        writing = archive.with_suffix(f".{secrets.token_hex(4)}{_WRITING}")
        return (f"-XX:ArchiveClassesAtExit={writing}", *_QUIET)
    return ()


def archive_path(class_path: str = "") -> Path | None:
    """Where the classes of this Spark are kept; None if they cannot be."""
    java = find_java()
    if java is None or os.environ.get(SWITCH) == "off":
        return None
    java = os.path.realpath(java)
    base = Path(java).parents[1] / "lib" / "server" / "classes.jsa"
    if not base.exists():  # classes are kept beside those of Java itself, and there are none
        return None
    spark = os.environ.get("SPARK_HOME") or os.path.dirname(pyspark.__file__)
    parts = (java, str(base.stat().st_mtime_ns), spark, pyspark.__version__, class_path)
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = Path(home) / "narrows" / f"spark-{key}.jsa"
    # It becomes one of several words in an option.
    return None if set(str(path)) & set(" \t\n\"'\\") else path


def _adopt(archive: Path) -> None:
    """Gives what a JVM has written its name, and removes what nobody will use."""
    for path in archive.parent.glob("spark-*"):
        age = time.time() - path.stat().st_mtime
        if path.suffix == _WRITING and path.name.startswith(archive.stem) and _is_whole(path):
            path.replace(archive)
        elif age > (_ABANDONED if path.suffix == _WRITING else _UNUSED) and path != archive:
            path.unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    """Java writes the first bytes last."""
    with path.open("rb") as file:
        return any(file.read(4))
