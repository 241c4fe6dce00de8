"""Small files of a sink, put together into larger ones, while its pipelines do not run.

    orders-0000000007-00000.json   4 kB
    orders-0000000008-00000.json   3 kB  ──►  orders-0000000007..0000000041-00000.json   140 kB
    ...
    orders-0000000042-00000.json         ──►  stays: this batch may be run again

**Exactly once.** A batch that is run again replaces what it published, by its name. Of files that
were put together it cannot, so `.orders.compacted` says up to which batch all is there: such a
batch writes nothing. The newest one is left: it may have been cut short while it was published.

**Whatever dies in between.** The new file is written under a hidden name. Then it is written down
which files it stands for; then these go; then it gets its name. Who finds that a compaction was cut
short does the rest: the next one, or the pipeline when it is started. So somebody who reads the
folder meanwhile may miss rows for a moment, and never sees one twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from narrows.connectors.target import SinkTarget
from narrows.errors import Code, fail
from narrows.files.atomic import sync_folder
from narrows.files.output_names import (
    OutputFile,
    compacted_name,
    is_together,
    output_file,
    together_name,
)
from narrows.files.small import disk_errors, read_small, write_small
from narrows.files.synced_file import SyncedFile
from narrows.formats.base import Join, find_format

_MAGIC = "narrows-compacted-1"
_WHAT = "the file that says which batches of a sink were put together"
_HINT = "restore it from a backup; without it such a batch could be written a second time"


class Compacted(NamedTuple):
    """How many files were put together, and how many were made of them."""

    files: int
    into: int


class _Found(NamedTuple):
    what: OutputFile
    path: Path
    size: int


@dataclass(frozen=True)
class _Record:
    """What is written down."""

    life: str
    through: int
    folder: str = ""
    made: str = ""
    into: str = ""
    of: tuple[str, ...] = ()
    """What is being done: in this folder, that file takes the place of those, under that name."""


def compact(target: SinkTarget, size: int) -> Compacted:
    """Puts files of a pipeline together that are smaller than so many bytes. Nobody else may write
    to the sink meanwhile."""
    join = find_format(target.format).joined(dict(target.options))
    if join is None or target.limit("batch_count") is not None:
        raise fail(
            Code.NOT_SUPPORTED,
            f"files of sink `{target.sink}` cannot be put together: each is a payload by itself",
            hint="that is so with `batch_count`, and with `layout = 'array'`",
        )
    place = Path(target.place)
    with disk_errors(place, target.sink):
        finish(place, target.pipeline)
        files = _files(target)
        newest = max((found.what.last for found in files), default=0)
        done = Compacted(0, 0)
        for group in _groups([found for found in files if found.what.last < newest], size):
            while len(group) > 1:
                taken = _put_together(target, group, join, newest - 1)
                done = Compacted(done.files + taken, done.into + 1) if taken > 1 else done
                group = group[taken:]
        return done


def is_compacted(target: SinkTarget, batch: int) -> bool:
    """Is all there that a batch wrote, in files that were put together? Then it must not be written
    again."""
    record = _read(Path(target.place), target.pipeline)
    return record is not None and record.life == target.life and batch <= record.through


def finish(place: Path, pipeline: str) -> None:
    """Does the rest of a compaction that was cut short."""
    record = _read(place, pipeline)
    if record is None or not record.made:
        return
    folder = place / record.folder
    made = folder / record.made
    if made.exists():
        for name in record.of:
            (folder / name).unlink(missing_ok=True)
        sync_folder(folder)
        os.replace(made, folder / record.into)
        sync_folder(folder)
    _write(place, pipeline, _Record(record.life, record.through))


# --- which files ----------------------------------------------------------------------------------


def _files(target: SinkTarget) -> list[_Found]:
    """The files of a pipeline, in all folders. What a compaction left that came to no end goes."""
    suffix = find_format(target.format).suffix
    found = []
    for folder, folders, names in os.walk(target.place):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if is_together(name, target.pipeline):
                (Path(folder) / name).unlink()
            what = output_file(name, target.pipeline, suffix)
            if what is not None:
                path = Path(folder) / name
                found.append(_Found(what, path, path.stat().st_size))
    return found


def _groups(files: Sequence[_Found], size: int) -> Iterator[list[_Found]]:
    """Files that follow each other in a folder, each too small, and together large enough."""
    group: list[_Found] = []
    for found in sorted(files, key=lambda found: (found.path.parent, found.what)):
        same = bool(group) and group[0].path.parent == found.path.parent
        if not same or found.size >= size or sum(one.size for one in group) >= size:
            yield group
            group = []
        if found.size < size:
            group.append(found)
    yield group


# --- one file of several --------------------------------------------------------------------------


def _put_together(target: SinkTarget, group: Sequence[_Found], join: Join, through: int) -> int:
    """How many of the files were taken; one that goes with no other stays as it is."""
    folder, place = group[0].path.parent, Path(target.place)
    made = folder / together_name(target.pipeline)
    file = SyncedFile(made)
    try:
        taken = join([found.path for found in group], file)
        file.close_synced()
    except BaseException:
        file.close()
        made.unlink(missing_ok=True)
        raise
    if taken == 1:
        made.unlink()
        return 1
    suffix = find_format(target.format).suffix
    what = group[0].what._replace(last=max(found.what.last for found in group[:taken]))
    record = _Record(
        target.life,
        through,
        folder.relative_to(place).as_posix(),
        made.name,
        what.name(target.pipeline, suffix),
        tuple(found.path.name for found in group[:taken]),
    )
    _write(place, target.pipeline, record)
    finish(place, target.pipeline)
    return taken


def _write(place: Path, pipeline: str, record: _Record) -> None:
    write_small(place / compacted_name(pipeline), _MAGIC, record.__dict__)


def _read(place: Path, pipeline: str) -> _Record | None:
    path = place / compacted_name(pipeline)
    if not path.exists():
        return None
    found: dict[str, Any] | None = read_small(path, _MAGIC, _WHAT, _HINT)
    if found is None:
        return None
    record = _Record(**{**found, "of": tuple(found["of"])})
    folder = PurePosixPath(record.folder)
    names = (*record.of, *([record.into] if record.into else []))
    # It lies among files that anybody may write to: nothing else is removed for it.
    plain = not folder.is_absolute() and ".." not in folder.parts
    ours = all(_is_ours(name, pipeline) for name in names)
    if not plain or not ours or (record.made and not is_together(record.made, pipeline)):
        raise fail(Code.UNREADABLE_FILE, f"{_WHAT} `{path}` names files of others", hint=_HINT)
    return record


def _is_ours(name: str, pipeline: str) -> bool:
    stem, dot, suffix = name.rpartition(".")
    return output_file(name, pipeline, dot + suffix) is not None and "/" not in name and bool(stem)
