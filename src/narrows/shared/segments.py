"""Segments: the columns of a projection in an Arrow file.

A task of the ingest writes one; consumers map it into memory and look at the columns they need, so
that the others cost them nothing, not even a read. Names do not matter: columns are known by their
places in the projection.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from narrows.arrow.extract import Extraction
from narrows.errors import Code, NarrowsError, fail
from narrows.projection.columns import DecodeProjection

SUFFIX = ".arrow"
_ROWS_ONLY = "rows"
"""Stands for rows when the projection has no column; their number is all that somebody asks."""


@dataclass(frozen=True)
class Segment:
    """A file of an entry."""

    name: str
    rows: int
    size: int
    runs: tuple[tuple[int, int], ...] = ()
    """The rows of each file range in it: the range's number in the batch, and how many they are."""


def segment_from_json(fields: dict[str, Any]) -> Segment:
    runs = tuple((number, rows) for number, rows in fields.get("runs", ()))
    return Segment(**{**fields, "runs": runs})


class SegmentWriter:
    """Writes batches of a projection's columns. Without a row there is no file."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._path = Path(folder) / f"{uuid.uuid4().hex}{SUFFIX}"
        self._file: pa.OSFile | None = None
        self._writer: Any = None
        self._rows = 0
        self._runs: list[tuple[int, int]] = []

    def __enter__(self) -> Self:
        return self

    def write(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        columns = batch.columns or [pa.nulls(batch.num_rows, pa.bool_())]
        names = [str(place) for place in range(len(batch.columns))] or [_ROWS_ONLY]
        named = pa.RecordBatch.from_arrays(columns, names=names)
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = pa.OSFile(str(self._path), "wb")
            self._writer = pa.ipc.new_file(self._file, named.schema)
        self._writer.write_batch(named)
        self._rows += batch.num_rows

    def end_run(self, number: int) -> None:
        """Says that the rows since the last call are those of the range with this number."""
        self._runs.append((number, self._rows - sum(rows for _, rows in self._runs)))

    def finish(self) -> Segment | None:
        """The segment, on the disk; None when there were no rows."""
        if self._writer is None or self._file is None:
            return None
        self._writer.close()
        self._file.close()
        self._writer = None
        with self._path.open("rb") as written:
            os.fsync(written.fileno())
        size = self._path.stat().st_size
        return Segment(self._path.name, self._rows, size, tuple(self._runs))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None and self._file is not None:
            self._file.close()
            self._path.unlink(missing_ok=True)


def read_segment(
    folder: str | os.PathLike[str],
    segment: Segment,
    union: DecodeProjection,
    wanted: DecodeProjection,
) -> Iterator[tuple[list[pa.Array], int]]:
    """The wanted columns of a segment that holds the union's, with the number of rows, by batch.

    The columns are views of the file: they are gone with it, but not before the last reader.
    """
    path = Path(folder) / segment.name
    extraction = Extraction(union, wanted)
    # Arrow reads all fields when none is named: without columns we want one, to count rows.
    included = extraction.needs or [0]
    try:
        if path.stat().st_size != segment.size:
            raise _damaged(path, f"it has {path.stat().st_size} bytes, and had {segment.size}")
        with pa.memory_map(str(path)) as mapped:
            options = pa.ipc.IpcReadOptions(included_fields=included)
            reader = pa.ipc.open_file(mapped, options=options)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                columns = batch.columns if extraction.needs else []
                yield extraction.apply(columns, batch.num_rows), batch.num_rows
    except FileNotFoundError:
        raise _damaged(path, "it is missing") from None
    except pa.ArrowInvalid as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, reason: object) -> NarrowsError:
    return fail(
        Code.UNREADABLE_FILE,
        f"a segment of a shared stream cannot be read: `{path}`: {reason}",
        None,
        "restore the state folder, or give the stream a new start with `narrows reset`",
    )
