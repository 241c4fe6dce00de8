"""Why a JVM did not start: mostly, there is none, or one that is too old."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from narrows.errors import Code, NarrowsError, fail

_LEAST = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def no_spark(log: Path) -> NarrowsError:
    """What to tell a user whose Spark ended before it began."""
    java = find_java()
    version = None if java is None else _version(java)
    needs = f"Spark needs Java {_LEAST} or newer"
    hint = f"install Java {_LEAST}, or let JAVA_HOME name the folder of one"
    if java is None or version is None:
        found = "none was found" if java is None else f"`{java}` cannot be run"
        return fail(Code.SPARK_NOT_STARTED, f"{needs}, and {found}", hint=hint)
    if version < _LEAST:
        return fail(Code.SPARK_NOT_STARTED, f"{needs}, and `{java}` is Java {version}", hint=hint)
    message = f"Spark could not be started with `{java}`"
    return fail(Code.SPARK_NOT_STARTED, message, hint=f"what it said is in `{log}`")


def find_java() -> str | None:
    """The Java that Spark takes."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def _version(java: str) -> int | None:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    found = _VERSION.search(answer.stderr + answer.stdout)
    return None if found is None else int(found[1])
