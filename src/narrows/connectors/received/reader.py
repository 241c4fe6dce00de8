"""Reads payloads of a range of a log, in a worker."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from narrows.connectors.base import Decoding, LostRangeError, Part, Position
from narrows.connectors.received.segments import (
    PAYLOAD,
    DamagedSegmentError,
    read_group,
    schema_in,
    segment_path,
)
from narrows.connectors.received.source import ReceivedRange
from narrows.formats.decoder import ArrayDecoder, Decoded

_BLOCK_PAYLOADS = 8_192
_BLOCK_BYTES = 4 << 20

Metadata = Mapping[str, Callable[[pa.RecordBatch], pa.Array | pa.Scalar]]
"""How metadata columns are made of what a log keeps."""


class ReceivedReader:
    def __init__(self, decoding: Decoding, metadata: Metadata, shown: Mapping[str, str]) -> None:
        """`shown` are columns of the log that say where a payload was found, and under which
        names."""
        self._decoding = decoding
        self._metadata = metadata
        self._shown = shown

    def parts(self, read: ReceivedRange) -> Iterator[Part]:
        if read.begin == read.stop:
            raise _lost(read, read.start, "it is damaged, or was removed", damaged=False)
        try:
            for block, first in _blocks(read):
                yield self._part(block, first)
        except FileNotFoundError:
            raise _lost(read, read.start, "its file was removed", damaged=False) from None
        except DamagedSegmentError as error:
            raise _lost(read, error.first, str(error), damaged=True) from error

    def newest(self, ranges: Sequence[ReceivedRange]) -> Iterator[Part]:
        return self.parts(replace(ranges[-1], start=ranges[-1].end - 1))

    def _part(self, block: pa.RecordBatch, first: int) -> Part:
        payloads = block.column(PAYLOAD)
        size = pc.sum(pc.binary_length(payloads)).as_py() or 0
        metadata = [self._metadata[name](block) for name in self._decoding.metadata]
        return Part(self._decode(payloads), size, _Found(block, first, self._shown), metadata)

    def _decode(self, payloads: pa.Array) -> Decoded:
        decoder, projection = self._decoding.decoder(), self._decoding.projection
        if isinstance(decoder, ArrayDecoder):
            return decoder.decode_array(payloads, projection)
        return decoder.decode_with_projection(payloads.to_pylist(), projection)


def _blocks(read: ReceivedRange) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The payloads of a range in blocks of bounded size, and the number of the first of each."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    first = read.start
    for batch in _batches(read):
        for at in range(0, batch.num_rows, _BLOCK_PAYLOADS):
            piece = batch.slice(at, _BLOCK_PAYLOADS)
            if rows and (rows + piece.num_rows > _BLOCK_PAYLOADS or size > _BLOCK_BYTES):
                yield pa.concat_batches(waiting), first
                first += rows
                waiting, rows, size = [], 0, 0
            waiting.append(piece)
            rows += piece.num_rows
            size += piece.nbytes
    if rows:
        yield pa.concat_batches(waiting) if len(waiting) > 1 else waiting[0], first


def _batches(read: ReceivedRange) -> Iterator[pa.RecordBatch]:
    """The payloads of a range, group by group."""
    with segment_path(Path(read.log), read.segment).open("rb") as file:
        schema = schema_in(file, read.start)
        data = memoryview(os.pread(file.fileno(), read.stop - read.begin, read.begin))
    at, first = 0, None
    while at < read.stop - read.begin:
        group, body = read_group(data, at, first, read.start)
        batch = pa.ipc.read_record_batch(pa.py_buffer(body), schema)
        skipped = max(0, read.start - group.first)
        yield batch.slice(skipped, min(group.end, read.end) - group.first - skipped)
        at, first = group.stop, group.end


class _Found:
    """Payloads that were decoded together, for the letters of those that are bad."""

    def __init__(self, block: pa.RecordBatch, first: int, shown: Mapping[str, str]) -> None:
        self._block = block
        self._first = first
        self._shown = shown

    def payload(self, number: int) -> bytes:
        found: bytes = self._block.column(PAYLOAD)[number].as_py()
        return found

    def position(self, number: int) -> Position:
        columns = {
            name: str(self._block.column(column)[number]) for name, column in self._shown.items()
        }
        return {**columns, "number": self._first + number}


def _lost(read: ReceivedRange, first: int, reason: str, *, damaged: bool) -> LostRangeError:
    position = {"number": first, "upto": read.end - 1}
    log = Path(read.log).name
    text = f"payloads {first} to {read.end - 1} of the log `{log}` are lost: {reason}"
    return LostRangeError(read.key, position, text, damaged=damaged)
