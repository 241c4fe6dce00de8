"""How far a query has come with its sources, as Spark's checkpoint says it.

Spark keeps small text files, each of which appears as a whole (it writes under another name):

    commits/7           batch 7 is done (see `watermark.py`)
    offsets/8           batch 8 was begun; an offset for each source, in the order of `sources`
    sources/0/12        the marker that source 0 took as its twelfth; every tenth file is
    sources/0/19.compact    called like this, and holds all markers that were ever taken,
                            as far as `source_log.py` has not removed them

They are the only truth about a query's progress: reports come late, or never when a query dies.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from narrows.connectors.entry_log import EMPTY, EntryLog
from narrows.errors import Code, NarrowsError, fail
from narrows.spark.streaming.checksums import agrees, sums_of
from narrows.spark.streaming.markers import entry_of
from narrows.spark.streaming.source_log import COMPACT, move, move_schemas, shorten
from narrows.state.entry_position import POSITION
from narrows.worker.watermark import checkpoint_watermark, last_commit

_LINE = 4 << 10
"""More bytes than the longest line of a source's log has: a path and some numbers."""


_OF_BATCHES = {"batchWatermarkMs": int, "batchTimestampMs": int, "conf": dict}
_OF_MARKERS = {"path": str, "timestamp": int, "batchId": int}
"""What Spark will not do without."""


class MarkerPosition(NamedTuple):
    """How far a query has come with the markers of a folder (`spark/streaming/markers.py`)."""

    committed: int = EMPTY
    """Everything up to this entry is published: it will never be asked for again."""
    taken: int = EMPTY
    """Up to this entry Spark has taken markers, maybe for a batch that it has yet to run."""
    newest_ms: int = 0
    """The time of change of the newest marker that Spark has taken."""


def marker_position(checkpoint: Path, folder: Path, first: int = 0) -> MarkerPosition:
    """How far the query of a checkpoint has come with the markers of a folder, the first of which
    named this entry."""
    source = _source_of(checkpoint, folder)
    if source is None:
        return MarkerPosition(first - 1, first - 1)
    count, entry, newest_ms = _newest_taken(source)
    if first + count != entry:
        raise _has_drifted(source, f"entry {entry} was taken where entry {first + count} should be")
    batch = last_commit(checkpoint)
    committed = EMPTY if batch is None else _offset(checkpoint, batch, source)
    if committed > count:
        raise _is_damaged(source / str(committed), "it is missing")
    return MarkerPosition(first + committed, entry, newest_ms)


def check_unread(log: EntryLog, position: MarkerPosition, waiting: Sequence[int]) -> None:
    """Makes sure that the log of entries, what the checkpoint says of it and the markers that wait
    belong together.

    A crash may have come between taking an entry and giving it a marker, so the newest may be
    missing. Anything else that does not fit is not what a crash leaves: somebody restored or
    removed a part of the state folder, and going on would lose rows or read them twice.
    """
    last, given = log.last(), max(position.taken, position.committed, *waiting)
    if given > last:
        raise log.is_behind(given)
    missing = sorted(set(range(position.committed + 1, last + 1)) - set(waiting))
    if missing and missing != [last]:
        raise fail(
            Code.UNREADABLE_FILE,
            f"the state in `{log.folder}` is incomplete: entries up to {last} were taken, the"
            f" checkpoint has come to entry {position.committed}, and neither that nor"
            f" `{log.folder / POSITION}` says whether entry {missing[0]} was read",
            hint="all this belongs together: restore the whole state folder, or start the pipeline"
            " anew: `narrows reset <pipeline>`",
        )


def check_checkpoint(checkpoint: Path) -> None:
    """Says which file is wrong, if one is that Spark will start with: it does not say it well.

    Only while no query runs: checksums of files that are gone are removed, for Spark would take
    them for those of another query.
    """
    for kind in ("offsets", "commits"):
        for path in (checkpoint / kind).glob(".*.crc"):
            if not path.with_name(path.name[1:].removesuffix(".crc")).exists():
                path.unlink()
    move_schemas(checkpoint)
    checkpoint_watermark(checkpoint)  # reads the newest commit
    for number in sorted(_numbers(checkpoint / "commits"))[-1:]:
        _check_sums(checkpoint / "commits" / str(number))
    begun = max(_numbers(checkpoint / "offsets"), default=None)
    if begun is None:
        return
    for number in range(max(0, begun - 1), begun + 1):  # Spark looks at the one before as well
        _check_offsets(checkpoint / "offsets" / str(number))
    for source in _numbers(checkpoint / "sources"):
        _check_source(checkpoint, checkpoint / "sources" / str(source))
    metadata = checkpoint / "metadata"
    _check_sums(metadata)
    try:
        uuid.UUID(_parsed(metadata, "\n".join(_lines(metadata)))["id"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _is_damaged(metadata, "it is not what Spark wrote") from error


def _check_sums(path: Path) -> None:
    """Only while no query runs: Spark renames a file, and then its checksums."""
    try:
        same = agrees(path)
    except OSError as error:
        raise _is_damaged(path, error) from error
    if not same:
        raise _is_damaged(path, f"it is not what its checksums in `{sums_of(path)}` say")


def _check_offsets(path: Path) -> None:
    _check_sums(path)
    if len(lines := _lines(path)) < 3:
        raise _is_damaged(path, "it was cut off")
    _has(path, _parsed(path, lines[1]), _OF_BATCHES)
    for line in lines[2:]:
        if line != "-":
            _value(path, line)


def _check_source(checkpoint: Path, source: Path) -> None:
    """What Spark reads of the log of a source of files: all since it was last put together."""
    names = [name for name in os.listdir(source) if name.removesuffix(COMPACT).isdecimal()]
    names.sort(key=lambda name: int(name.removesuffix(COMPACT)))
    compact = [place for place, name in enumerate(names) if name.endswith(COMPACT)]
    if _is_log(checkpoint, source):
        for name in names[compact[-1] if compact else 0 :]:
            _check_sums(source / name)
            for line in _lines(source / name)[1:]:
                _has(source / name, _parsed(source / name, line), _OF_MARKERS)


def _has(path: Path, found: dict[str, Any], wanted: Mapping[str, type]) -> None:
    for name, kind in wanted.items():
        if not isinstance(found.get(name), kind):
            raise _is_damaged(path, f"it does not say `{name}`")


def relocate(checkpoint: Path, folder: Path, parts: int = 4) -> None:
    """Has the checkpoint look in this folder for what it has taken there, should the state folder
    have been moved. A folder is known by the last parts of its path. Only while no query runs."""
    source = _source_of(checkpoint, folder, parts)
    newest = None if source is None else _newest_line(source)
    if source is not None and newest is not None:
        there = str(_path(newest[1]).parent).removeprefix("file:")
        if os.path.normpath(there) != str(folder.absolute()):
            move(source, folder.absolute())


def forget_taken(checkpoint: Path, folder: Path, committed: int) -> None:
    """Has the checkpoint forget the markers of a folder that were published long ago, up to the one
    that was taken as this."""
    source = _source_of(checkpoint, folder)
    if source is not None:
        shorten(source, committed)


def check_markers(checkpoint: Path, folder: Path, batch: int, first: int = 0) -> None:
    """Makes sure that a batch reads the entries that come next, all of them, and no others.

    Spark counts the markers that it takes, and entries are counted in the same way, from the first.
    Should it ever pass over one, rows would be lost in silence: so it stops.
    """
    source = _source_of(checkpoint, folder)
    if source is None:
        return
    before = _offset(checkpoint, batch - 1, source) if batch else EMPTY
    for count in range(before + 1, _offset(checkpoint, batch, source) + 1):
        entry, _ = _taken(source, count)
        if entry != first + count:
            wanted = first + count
            raise _has_drifted(source, f"batch {batch} reads entry {entry} in place of {wanted}")


# --- Spark's files --------------------------------------------------------------------------------


def _offset(checkpoint: Path, batch: int, source: Path) -> int:
    """How many markers of a source had been taken with a batch, counted from 0."""
    # A version and the settings come first; a source that has given nothing yet has a dash.
    place = 2 + int(source.name)
    lines = _lines(checkpoint / "offsets" / str(batch))
    if len(lines) <= place:
        raise _is_damaged(checkpoint / "offsets" / str(batch), "it was cut off")
    if lines[place] == "-":
        return EMPTY
    path = checkpoint / "offsets" / str(batch)
    try:
        return int(_parsed(path, lines[place])["logOffset"])
    except (KeyError, ValueError, TypeError) as error:
        raise _is_damaged(path, f"it has no offset of source {source.name}") from error


def _source_of(checkpoint: Path, folder: Path, parts: int = 4) -> Path | None:
    """The log of the source that takes the markers of a folder; None before it has taken one."""
    # By the end of the path alone: a state folder may have been moved.
    wanted = folder.absolute().parts[-parts:]
    for number in _numbers(checkpoint / "sources"):
        source = checkpoint / "sources" / str(number)
        newest = _newest_line(source) or _newest_known(checkpoint, source)
        if newest is not None and _path(newest[1]).parent.parts[-parts:] == wanted:
            return source
    return None


def _newest_known(checkpoint: Path, source: Path) -> tuple[int, dict[str, Any]] | None:
    """What the log of a source of files ends with, if offsets tell of it. Spark, which may be at
    work, writes it before them: so they are read first."""
    if not _is_log(checkpoint, source):
        return None
    newest = _newest_line(source)
    if newest is None:
        raise _is_damaged(_newest_file(source) or source, "it names no file that was taken")
    return newest


def _is_log(checkpoint: Path, source: Path) -> bool:
    """Is it a source of files, of which something was taken?"""
    begun = max(_numbers(checkpoint / "offsets"), default=None)
    lines = () if begun is None else _lines(checkpoint / "offsets" / str(begun))
    place = 2 + int(source.name)
    return len(lines) > place and '"logOffset"' in lines[place]


def _newest_taken(source: Path) -> tuple[int, int, int]:
    newest = _newest_line(source)
    assert newest is not None, "there was one when the source was looked for"
    count, line = newest
    return count, _entry(source, line), int(line["timestamp"])


def _taken(source: Path, count: int) -> tuple[int, int]:
    """The entry whose marker was taken as that one, and the marker's time of change."""
    for path in (source / str(count), source / f"{count}{COMPACT}"):
        if path.exists():
            line = _last_line(path)
            if line is not None:
                return _entry(source, line), int(line["timestamp"])
    raise _has_drifted(source, f"nothing is known of marker {count}")


def _newest_line(source: Path) -> tuple[int, dict[str, Any]] | None:
    newest = _newest_file(source)
    line = None if newest is None else _last_line(newest)
    return None if newest is None or line is None else (int(newest.stem), line)


def _newest_file(source: Path) -> Path | None:
    names = os.listdir(source) if source.is_dir() else ()
    found = [name for name in names if name.removesuffix(COMPACT).isdecimal()]
    newest = max(found, key=lambda name: int(name.removesuffix(COMPACT)), default=None)
    return None if newest is None else source / newest


def _last_line(path: Path) -> dict[str, Any] | None:
    """What a source's log says last; of a file with a million lines only the end is read."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LINE))
        last = file.read().rpartition(b"\n")[2]
    if not last.startswith(b"{"):
        return None
    try:
        return _parsed(path, last.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _is_damaged(path, error) from error


def _entry(source: Path, line: dict[str, Any]) -> int:
    entry = entry_of(_path(line).name)
    if entry is None:
        raise _has_drifted(source, f"`{_path(line).name}` is no marker")
    return entry


def _path(line: dict[str, Any]) -> Path:
    """The path of a marker, which Spark keeps as a URI; it is absent from what is not a marker."""
    return Path(unquote(str(line.get("path", ""))))


def _numbers(folder: Path) -> list[int]:
    try:
        return [int(name) for name in os.listdir(folder) if name.isdecimal()]
    except FileNotFoundError:
        return []


def _lines(path: Path) -> Sequence[str]:
    try:
        return path.read_text("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise _is_damaged(path, error) from error


def _parsed(path: Path, line: str) -> dict[str, Any]:
    parsed = _value(path, line)
    if not isinstance(parsed, dict):
        raise _is_damaged(path, "it is not what Spark wrote")
    return parsed


def _value(path: Path, line: str) -> object:
    try:
        return json.loads(line)
    except ValueError as error:
        raise _is_damaged(path, error) from error


def _is_damaged(path: Path, reason: object) -> NarrowsError:
    return fail(
        Code.UNREADABLE_FILE,
        f"the checkpoint file `{path}` is damaged: {reason}",
        hint="restore the state folder from a backup, or start the pipeline anew:"
        " `narrows reset <pipeline>`",
    )


def _has_drifted(source: Path, reason: str) -> NarrowsError:
    return fail(
        Code.UNREADABLE_FILE,
        f"the checkpoint `{source.parent.parent}` and the log of entries do not fit: {reason}",
        hint="they belong together: restore the whole state folder, or start the pipeline anew:"
        " `narrows reset <pipeline>`",
    )
