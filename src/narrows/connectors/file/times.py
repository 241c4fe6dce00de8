"""When rows of recorded files happened, by one column of theirs: no other is decoded for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from narrows.connectors.base import Decoding, LostRangeError, SourceDeclaration
from narrows.connectors.file.reader import FileReader
from narrows.demand import ALL, fields
from narrows.files.faults import DamagedFileError, LostFileError
from narrows.files.lines import Block, read_blocks
from narrows.files.ranges import FileRange, compression_of
from narrows.formats.base import find_format
from narrows.formats.decoder import Decoded
from narrows.formats.headers import decoder_for_file
from narrows.plugins.declared import Lines
from narrows.projection.columns import DecodeProjection

_LOOK_AT = 256 << 10
"""Bytes of lines that are decoded together."""
_AT_ONCE = 64 << 20
"""Bytes of a file that are due at once, about: finding that out takes time."""
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}
_LOST = (LostRangeError, LostFileError, DamagedFileError)
"""What is wrong with a file is for the task to say that reads it."""


class Due(NamedTuple):
    end: int
    """Up to where a file is due."""
    next: int | None
    """The time of the row there, in milliseconds; None where there is none."""


class RecordedTimes:
    def __init__(self, declared: SourceDeclaration, column: str) -> None:
        assert declared.schema is not None
        self._declared = declared
        self._format = find_format(declared.format)
        self._framing = self._format.framing_with(declared.options)
        self._projection = DecodeProjection(declared.schema, fields({column: ALL}))
        self._unit = str(declared.options.get("eventtime_unit", "ms"))
        takes_payloads = self._format.takes_messages
        self._decoder = self._format.decoder(declared.options) if takes_payloads else None

    def can_be_cut(self, path: str) -> bool:
        """Can it be read from a line on?"""
        return isinstance(self._framing, Lines) and compression_of(path) is None

    def first(self, read: FileRange) -> int | None:
        """The time of the first row of a range that has one; None where none has."""
        try:
            for _, decoded in self._parts(read):
                times = self._times(decoded).drop_null()
                if len(times):
                    return int(times[0].as_py())
        except _LOST:
            return None
        return None

    def due(self, read: FileRange, upto: int) -> Due:
        """How much of a range of lines is due at a time: everything before the first row that is
        later. Lines without a time are due with those before them."""
        try:
            for block, decoded in self._parts(read):
                assert block is not None
                times = self._times(decoded)
                late = pc.fill_null(pc.greater(times, upto), False).index(True).as_py()
                if late >= 0:
                    positions = decoded.row_positions
                    payload = late if positions is None else positions[late]
                    return Due(block.offset(payload), int(times[late].as_py()))
                if block.end - read.start > _AT_ONCE:
                    return Due(block.end, upto)
        except _LOST:
            pass
        return Due(read.end, None)

    def _parts(self, read: FileRange) -> Iterator[tuple[Block | None, Decoded]]:
        if not self.can_be_cut(read.path):
            options, kept = dict(self._declared.options), self._decoder
            decoding = Decoding(
                self._format,
                lambda: kept or self._format.decoder(options),
                lambda: self._format.reader(options),
                self._projection,
            )
            for part in FileReader(self._declared, decoding).parts(read):
                yield None, part.decoded
            return
        assert self._decoder is not None
        decoder, skip_before = decoder_for_file(self._decoder, read.path)
        for block in read_blocks(read, skip_before=skip_before, block_bytes=_LOOK_AT):
            yield block, decoder.decode_with_projection(block.payloads, self._projection)

    def _times(self, decoded: Decoded) -> pa.Array:
        """Milliseconds since 1970."""
        values, unit = decoded.batch.column(0), self._unit
        if pa.types.is_timestamp(values.type):
            values, unit = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64()), "us"
        per_second = _PER_SECOND[unit]
        if per_second > 1_000:
            return pc.divide(values, per_second // 1_000)
        return pc.multiply(values, 1_000 // per_second)
