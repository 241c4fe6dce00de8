"""The log in which Spark keeps the markers that it has taken, kept short and where it is.

    sources/0/12            a line: path, time of change and number of marker 12
    sources/0/19.compact    the lines of all markers that were ever taken, up to 19
    sources/0/.12.crc       a checksum that Hadoop keeps beside each file, and can do without

Spark writes a compact file every ten markers, copies the one before into it, and forgets nothing:
after a week of one marker a second each has 600 000 lines. But a marker that was read is removed,
and every marker is later than all before it. So of those that are published nobody asks again, but
for the last, by which Spark knows where it was; we keep a few more.

**While a query runs**, Spark reads a compact file when it writes the next one and when it starts,
and keeps no copy of it in memory (`CompactibleFileStreamLog`: `compact`, `allFiles`). It opens the
file first and its checksum then. So we remove the checksum first, and then put a shorter file in
place of the file: whoever opened the old one reads it to its end. A file that Spark has just
written might get its checksum behind our back; so only those are shortened whose marker is
published, which is long after.

**Where it is.** The lines have whole paths. When a state folder was moved, markers that were taken
and not read would be looked for at their old place, and taken once more at the new one. So their
paths are put right, while no query runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote

from narrows.files.atomic import sweep, write_atomically
from narrows.spark.streaming.checksums import sums_of

COMPACT = ".compact"
_KEPT = 20
_LARGE = 16 << 10
"""Bytes of a file that is worth shortening: more than the lines that are kept."""
_SCHEMA = re.compile(r'"file:[^"]*(/state/\d+/_stateSchema/[^"]*)"')
_PLAIN = "/!$&'()*+,;=:@~"
"""What stands in the path of a URI as it is, besides letters and digits."""


def shorten(source: Path, committed: int) -> None:
    """Removes what nobody asks for any more; also while a query runs."""
    for name in os.listdir(source):
        number = name.removesuffix(COMPACT)
        if not name.endswith(COMPACT) or not number.isdecimal() or int(number) > committed:
            continue
        path = source / name
        with contextlib.suppress(FileNotFoundError):  # Spark removes old ones
            if path.stat().st_size > _LARGE:
                _rewrite(path, lambda lines: lines[-_KEPT:])


def move(source: Path, folder: Path) -> None:
    """Has the lines say that their markers are in this folder. Only while no query runs."""
    sweep(source)
    names = [name for name in os.listdir(source) if name.removesuffix(COMPACT).isdecimal()]
    # The newest last: it is the one that says whether all is done.
    for name in sorted(names, key=lambda name: int(name.removesuffix(COMPACT))):
        _rewrite(source / name, lambda lines: [_moved(line, folder) for line in lines])


def move_schemas(checkpoint: Path) -> None:
    """Has what says where the schemas of remembered rows are say that they are in this checkpoint.
    Only while no query runs."""
    here = json.dumps(f"file:{checkpoint.absolute()}", ensure_ascii=False)[1:-1]
    for path in checkpoint.glob("state/*/_metadata/v2/[0-9]*"):
        _rewrite(path, lambda lines: [_SCHEMA.sub(lambda m: f'"{here}{m[1]}"', x) for x in lines])


def _moved(line: str, folder: Path) -> str:
    try:
        value = json.loads(line)
        name = PurePosixPath(unquote(value["path"])).name
    except (ValueError, TypeError, KeyError):
        return line  # whoever needs it will say that it is damaged
    return json.dumps({**value, "path": uri_of(folder / name)}, ensure_ascii=False)


def uri_of(path: Path) -> str:
    """A path as Spark writes it: it compares the texts. Java quotes no letters of any language."""
    return "file://" + "".join(
        character if ord(character) > 0x9F and not character.isspace() else quote(character, _PLAIN)
        for character in str(path)
    )


def _rewrite(path: Path, change: Callable[[Sequence[str]], Sequence[str]]) -> None:
    version, *lines = path.read_text("utf-8", "surrogateescape").split("\n")
    changed = change(lines)
    if changed != lines:
        sums_of(path).unlink(missing_ok=True)
        text = "\n".join([version, *changed])
        write_atomically(path, text.encode("utf-8", "surrogateescape"))
