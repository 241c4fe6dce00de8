"""Parquet: not payloads to decode, but columns to choose.

So it is a container: `read_row_groups` takes a range of a file and gives the batches that a decoder
would. Only the leaves that are demanded are read from the file, in structs, lists and maps too;
nothing is read to count rows.

A row group belongs to the byte range in which it begins, as a line does. So files are cut and
shared out like all others (`files/ranges.py`), by size, without a look into them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet

from narrows.arrow.batches import batch_of
from narrows.arrow.names import places_by_name
from narrows.arrow.nested import Projector, part_of
from narrows.demand import ALL, NOTHING, Demand, Items, Keys
from narrows.files.faults import damaged_or_unreadable, shown
from narrows.files.ranges import FileRange
from narrows.formats.decoder import Decoded, DecodedPart
from narrows.formats.parquet.row_group_bounds import bounds_of, may_hold
from narrows.projection.columns import DecodeProjection
from narrows.projection.predicate import Predicate
from narrows.schema import Array, DataType, Map, Struct

_BATCH_BYTES = 16 << 20
_BATCH_ROWS = 65_536
_BUFFER = 1 << 20


class ParquetReader:
    def read(
        self, read: FileRange, projection: DecodeProjection, predicate: Predicate | None
    ) -> Iterator[DecodedPart]:
        return read_row_groups(read, projection, predicate)


def read_row_groups(
    file_range: FileRange,
    projection: DecodeProjection,
    predicate: Predicate | None = None,
    *,
    batch_bytes: int = _BATCH_BYTES,
    batch_rows: int = _BATCH_ROWS,
) -> Iterator[DecodedPart]:
    """The rows of the row groups that begin in a range, in batches of bounded size.

    Row groups are skipped whose statistics say that the predicate holds for none of their rows.
    """
    with _opened(file_range.path) as file:
        groups = [
            group
            for group in range(file.metadata.num_row_groups)
            if file_range.start <= _start(file.metadata.row_group(group)) < file_range.end
        ]
        demand = projection.demand | projection.tested
        leaves = demanded_leaves(file.schema_arrow, projection.schema, demand)
        assert all(leaf < len(file.schema) for leaf in leaves), "a leaf is a column of the file"
        for group in groups:
            metadata = file.metadata.row_group(group)
            if predicate is not None and not may_hold(predicate, bounds_of(metadata, projection)):
                continue
            chunks = [metadata.column(leaf) for leaf in leaves]
            weight = sum(chunk.total_uncompressed_size for chunk in chunks)
            size = sum(chunk.total_compressed_size for chunk in chunks)
            rows = max(metadata.num_rows, 1)
            at_once = max(1, min(batch_rows, batch_bytes * rows // max(weight, 1)))
            for batch in _batches(file, group, leaves, at_once):
                projector = Projector(batch, projection, shown(file_range.path))
                made = batch_of(projection, projector.columns(), batch.num_rows)
                decoded = Decoded(made, mistyped=projector.mistyped)
                yield DecodedPart(decoded, size * batch.num_rows // rows)


def _start(group: pyarrow.parquet.RowGroupMetaData) -> int:
    if not group.num_columns:
        return 0
    first = group.column(0)
    pages = (first.dictionary_page_offset, first.data_page_offset)
    return min(int(page) for page in pages if page is not None)


def _batches(
    file: pyarrow.parquet.ParquetFile, group: int, leaves: list[int], rows: int
) -> Iterator[pa.RecordBatch]:
    if leaves:
        # Names with points in them are ambiguous here: then a column more is read, and not used.
        paths = [file.schema.column(leaf).path for leaf in leaves]
        yield from file.iter_batches(rows, row_groups=[group], columns=paths, use_threads=False)
        return
    left = file.metadata.row_group(group).num_rows
    while left > 0:
        count = min(rows, left)
        empty = pa.StructArray.from_buffers(pa.struct([]), count, [None])
        yield pa.RecordBatch.from_struct_array(empty)
        left -= count


@contextmanager
def _opened(path: str) -> Iterator[pyarrow.parquet.ParquetFile]:
    try:
        # Opened by us, for Arrow takes no name that is not UTF-8 but in bytes.
        with (
            pa.OSFile(os.fsencode(path), "rb") as opened,
            pyarrow.parquet.ParquetFile(
                opened,
                pre_buffer=False,
                buffer_size=_BUFFER,  # or it would hold all of a group's demanded columns at once
                coerce_int96_timestamp_unit="us",
            ) as file,
        ):
            yield file
    except (OSError, pa.ArrowException) as error:
        raise damaged_or_unreadable(path, error) from error


# --- which leaves to read -------------------------------------------------------------------------


def demanded_leaves(file: pa.Schema, schema: Struct, demand: Demand) -> list[int]:
    """The columns of a Parquet file that a demand needs, by their numbers.

    A Parquet file has a column for every leaf of its nested type, in order. Of something that is
    only asked for its presence or length one leaf is read, for leaves know about what they are in.
    """
    return sorted(_of_struct([field.type for field in file], file.names, 0, schema, demand))


def _of_struct(
    types: list[pa.DataType], names: list[str], first: int, dtype: Struct, demand: Demand
) -> Iterator[int]:
    starts = list(accumulate(map(_count, types), initial=first))
    for name, place in places_by_name(names, dtype).items():
        member = dtype.fields[dtype.ordinal(name)].type
        yield from _wanted(types[place], starts[place], member, part_of(demand, name))


def _wanted(found: pa.DataType, first: int, dtype: DataType, demand: Demand) -> list[int]:
    """The leaves of a type, the first of which has this number, that a demand on it needs."""
    if demand is NOTHING:
        return []
    if isinstance(found, pa.BaseExtensionType):
        found = found.storage_type
    leaves: list[int] = []
    children = _children(found)
    if pa.types.is_struct(found) and isinstance(dtype, Struct):
        names = [field.name for field in found]
        leaves = list(_of_struct(children, names, first, dtype, demand))
    elif pa.types.is_map(found) and isinstance(dtype, Map):
        # Both sides, for half a map is no map to Arrow.
        keys = _count(found.key_type)
        part = _anywhere(demand)
        values = _wanted(found.item_type, first + keys, dtype.value, part) or [first + keys]
        leaves = [*range(first, first + keys), *values]
    elif len(children) == 1 and isinstance(dtype, Array):
        leaves = _wanted(children[0], first, dtype.element, _anywhere(demand))
    else:
        leaves = list(range(first, first + _count(found)))
    return leaves or [first]


def _anywhere(demand: Demand) -> Demand:
    if isinstance(demand, (Items, Keys)):
        return demand.anywhere()
    return ALL if demand is ALL else NOTHING


def _count(found: pa.DataType) -> int:
    children = _children(found)
    return sum(map(_count, children)) if children else 1


def _children(found: pa.DataType) -> list[pa.DataType]:
    if isinstance(found, pa.BaseExtensionType):
        return _children(found.storage_type)
    if pa.types.is_map(found):
        return [found.key_type, found.item_type]
    if pa.types.is_struct(found):
        return [field.type for field in found]
    return [found.value_type] if pa.types.is_nested(found) else []
