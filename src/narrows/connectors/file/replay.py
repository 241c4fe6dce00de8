"""A payload that is put back: one more file in the folder of its stream."""

from __future__ import annotations

from pathlib import Path

from narrows.connectors.base import SourceDeclaration
from narrows.errors import Code, fail
from narrows.files.atomic import write_atomically
from narrows.formats.base import find_format


def put_back(declared: SourceDeclaration, name: str, payload: bytes) -> None:
    """A file is known by its path: one that is put back again is not taken again."""
    folder = Path(str(declared.options["path"]))
    if not folder.is_dir():
        raise fail(
            Code.NOT_SUPPORTED,
            f"nothing can be put back into `{declared.name}`: `{folder}` is not a folder",
            hint="only streams whose `path` is a folder take files that were not there",
        )
    target = folder / f"replayed-{name}{find_format(declared.format).suffix}"
    if not target.exists():
        write_atomically(target, payload + b"\n")
