"""Small files of the state folder: written as a whole, and found damaged where they are.

What else may be kept in such a file is up to whoever reads it; here is what all have in common.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from narrows.errors import Code, NarrowsError, fail
from narrows.files.atomic import write_atomically
from narrows.files.checked import seal, unseal


def write_small(path: Path, magic: str, value: object) -> None:
    """Keeps a value as JSON; `magic` says what kind of file it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, seal(magic, json.dumps(value, indent=2).encode("utf-8")))


def read_small(path: Path, magic: str, what: str, hint: str) -> Any:
    """What was kept; None when there is no such file.

    One that is damaged is an error: `what` says what is in it, `hint` how to go on.
    """
    try:
        body = unseal(magic, path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise damaged(path, what, error.strerror or error, hint) from error
    if body is None:
        raise damaged(path, what, "it is not what was written", hint)
    return json.loads(body)


def damaged(path: Path, what: str, reason: object, hint: str) -> NarrowsError:
    return fail(Code.UNREADABLE_FILE, f"{what} `{path}` is damaged: {reason}", hint=hint)


_OF_STATE = "see to it that the state folder can be written, or use another with `--state`"


@contextmanager
def disk_errors(folder: Path, sink: str | None = None) -> Iterator[None]:
    """What the system refuses in a folder of ours, or of a sink's, said in one line: a full disk,
    most likely."""
    try:
        yield
    except OSError as error:
        where = f"`{error.filename or folder}`"
        hint = _OF_STATE
        if sink is not None:
            where, hint = f"sink `{sink}`, {where}", "see to it that the sink can be written"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = "make room, and start again: it goes on from there"
        reason = error.strerror or str(error)
        raise fail(Code.UNREADABLE_FILE, f"{where}: {reason}", hint=hint) from error
