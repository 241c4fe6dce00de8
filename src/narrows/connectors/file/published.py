"""Publishing a batch into partitions.

A batch that is run again replaces what it had published, wherever that is: its rows may be in
other folders by then, if a query is not deterministic. To look through thousands of folders with
every batch would take long, so what is about to be published is written down first:

    .orders.published      {"batch": 42, "files": ["site=a/orders-0000000042-00000.json", ...]}
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from narrows.files.atomic import sync_folder, write_atomically
from narrows.files.output_names import BatchFiles, journal_name


def publish_partitioned(place: Path, names: BatchFiles, files: Sequence[tuple[str, str]]) -> None:
    """Gives a batch's files their names, in the folders beside them."""
    if not files and not place.is_dir():
        return  # nothing was written there, now or before
    named = {
        f"{folder}/{names.name(part)}": Path(file) for part, (file, folder) in enumerate(files)
    }
    journal = _Journal(place, names)
    before = journal.published_before()
    if not named and not before:
        return
    journal.write({*named, *before})
    for name, file in named.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, place / name)
    for name in before:
        if name not in named:
            (place / name).unlink(missing_ok=True)
    for folder in {above for name in named for above in PurePosixPath(name).parents}:
        sync_folder(place / folder)


class _Journal:
    """What the newest batch of a pipeline has published."""

    def __init__(self, place: Path, names: BatchFiles) -> None:
        self._place = place
        self._names = names
        self._path = place / journal_name(names.pipeline)
        self._batch, self._files = _journaled(self._path)

    def published_before(self) -> list[str]:
        """What the batch published when it was run before."""
        if self._batch is not None and self._batch < self._names.batch:
            return []
        if self._batch == self._names.batch:
            return [name for name in self._files if self._is_ours(name)]
        # Somebody has removed or damaged it, or has put back an older state: we have to look.
        found = (path for path in self._place.rglob("*") if self._names.owns(path.name))
        return [path.relative_to(self._place).as_posix() for path in found]

    def write(self, files: set[str]) -> None:
        if self._batch is None or self._batch <= self._names.batch:  # it stays with the newest
            journal = {"batch": self._names.batch, "files": sorted(files)}
            write_atomically(self._path, json.dumps(journal).encode("utf-8"))

    def _is_ours(self, name: str) -> bool:
        """A journal is a file like others: nothing else is removed for it."""
        path = PurePosixPath(name)
        return not path.is_absolute() and ".." not in path.parts and self._names.owns(path.name)


def _journaled(path: Path) -> tuple[int | None, list[str]]:
    """The batch and its files; no batch if that cannot be read."""
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None, []
    match found:
        case {"batch": int(batch), "files": list(files)} if all(isinstance(f, str) for f in files):
            return batch, files
    return None, []
