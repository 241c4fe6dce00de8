"""The native JSON kernel: the module `narrows_kernel`, written in Rust, where it is installed.

It decodes whole batches without the interpreter. Payloads of which it is not sure - what is no
valid JSON, and values in uncommon forms: a time in `Europe/Paris`, half a surrogate pair - it
leaves alone, and the portable kernel decodes those. So what is bad, why, and what odd values mean
is decided in one place, and the two kernels can differ only in what is common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import pyarrow as pa

from narrows.arrow.batches import batch_of
from narrows.files.faults import shrunk, unreadable
from narrows.files.lines import read_blocks
from narrows.files.ranges import FileRange
from narrows.formats.decoder import BadPayload, Decoded, DecodedPart, Pieces
from narrows.formats.fragments import encode_fragments
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.native_program import describe
from narrows.formats.kept import Kept
from narrows.formats.kernel import load_native
from narrows.formats.null_payloads import decode_present
from narrows.projection.columns import DecodeProjection


class NativeJsonDecoder:
    """Decodes as `JsonDecoder` does, several times as fast. Not for two threads at a time."""

    def __init__(self, zone: str = "UTC") -> None:
        self._portable = JsonDecoder(zone)
        self._zone_name = zone
        fixed = self._portable.zone
        zone_offset = fixed if isinstance(fixed, int) else None
        self._kernel = kernel = load_native()
        self._programs = Kept(lambda projection: _Program(projection, zone_offset, kernel))

    def decode_with_projection(
        self, payloads: Sequence[bytes], projection: DecodeProjection
    ) -> Decoded:
        program = self._programs.of(projection)
        try:
            found = program.decoder.decode(payloads)
        except OverflowError:  # more than Arrow's offsets can count
            return self._portable.decode_with_projection(payloads, projection)
        left = [payloads[position] for position in found.left]
        return self._decoded(found, program, projection, left)

    def decode_array(self, payloads: pa.Array, projection: DecodeProjection) -> Decoded:
        payloads.validate()  # the Arrow C interface does not tell how long a buffer is
        program = self._programs.of(projection)
        try:
            found = program.decoder.decode_array(payloads)
        except OverflowError:  # more than Arrow's offsets can count
            return self._portable.decode_with_projection(payloads.to_pylist(), projection)
        left = [payloads[position].as_py() for position in found.left]
        return self._decoded(found, program, projection, left)

    def decode_messages(self, messages: Any, projection: DecodeProjection) -> Decoded:
        program = self._programs.of(projection)
        try:
            found = program.decoder.decode_messages(messages)
        except OverflowError:  # more than Arrow's offsets can count
            return decode_present(self._portable, messages.payloads(), projection)
        left = [messages.payload(position) for position in found.left]
        return self._decoded(found, program, projection, left)

    def decode_lines(self, pieces: Pieces, projection: DecodeProjection) -> Decoded:
        program = self._programs.of(projection)
        found = program.decoder.decode_lines(pieces)
        left = []
        for _, number, start, end in found.left_lines:
            piece, offset, _ = pieces[number]
            left.append(piece[offset + start : offset + end])
        return self._decoded(found, program, projection, left)

    def decode_range(
        self,
        read: FileRange,
        projection: DecodeProjection,
        *,
        block_bytes: int,
        block_payloads: int,
    ) -> Iterator[DecodedPart]:
        program = self._programs.of(projection)
        try:
            reader = self._kernel.LineReader(read.path, read.start, read.end)
            while True:
                start = reader.offset
                found = program.decoder.decode_file(reader, block_bytes, block_payloads)
                if not found.payloads:
                    return
                # The last line may end behind the range, and the file's last one without LF.
                block = FileRange(read.path, start, min(reader.offset, read.end))
                lines = _Lines(block, found.left_payloads)
                decoded = self._decoded(found, program, projection, lines.payloads)
                yield DecodedPart(decoded, reader.offset - start, lines)
        except EOFError as error:
            raise shrunk(read.path) from error
        except OSError as error:
            raise unreadable(read.path, error) from error

    def _decoded(
        self, found: Any, program: _Program, projection: DecodeProjection, left: list[bytes]
    ) -> Decoded:
        batch = program.batch(found)
        unusual = dict(found.unusual)
        if not left:
            positions = _positions(found.payloads, unusual) if unusual else None
            return program.with_fragments(Decoded(batch, [], found.mistyped, positions))
        other = self._portable.decode_with_projection(left, projection)
        if program.transcodes:
            fragments = encode_fragments(projection, other.batch, self._zone_name)
            arrays = [*other.batch.columns[: projection.observed], *fragments]
            other.batch = pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
        return program.with_fragments(_merge(found, batch, other))


class _Lines:
    """The payloads of a block. The kernel hands over those that it left, among which is nearly all
    that is bad; for others - an event time that is missing - the block is read once more."""

    def __init__(self, block: FileRange, left: Sequence[tuple[int, int, bytes]]) -> None:
        self.payloads = [payload for _, _, payload in left]
        self._left = {position: (offset, payload) for position, offset, payload in left}
        self._block = block

    def payload(self, position: int) -> bytes:
        return self._line(position)[1]

    def offset(self, position: int) -> int:
        return self._line(position)[0]

    def _line(self, position: int) -> tuple[int, bytes]:
        found = self._left.get(position)
        return found if found is not None else self._read_again[position]

    @cached_property
    def _read_again(self) -> list[tuple[int, bytes]]:
        return [
            (block.offset(place), payload)
            for block in read_blocks(self._block)
            for place, payload in enumerate(block.payloads)
        ]


class _Program:
    """A projection as the kernel knows it."""

    def __init__(self, projection: DecodeProjection, zone: int | None, kernel: Any) -> None:
        description = describe(projection, zone)
        self._projection = projection
        self.transcodes = description.transcodes
        self._schema = description.schema
        self.decoder = kernel.Decoder(
            description.columns,
            description.reads,
            description.places,
            description.outputs,
            (description.forms, description.texts, description.fragments),
            zone,
        )

    def batch(self, found: Any) -> pa.RecordBatch:
        """The columns that were built, then the fragments."""
        if not self._schema:
            return batch_of(self._projection, (), found.rows)
        rows = pa.array(found)
        arrays = [
            _named(rows.field(place), column.type) for place, column in enumerate(self._schema)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def with_fragments(self, decoded: Decoded) -> Decoded:
        """Columns and fragments apart, if the kernel makes them."""
        if self.transcodes:
            decoded.fragments = decoded.batch.columns[self._projection.observed :]
            decoded.batch = decoded.batch.select(list(range(self._projection.observed)))
        return decoded


def _named(array: pa.Array, target: pa.DataType) -> pa.Array:
    """The array with the names of its type, which the kernel leaves out when it cannot hand them
    over: C strings end at the first zero."""
    if array.type == target:
        return array
    absent = array.is_null()
    if pa.types.is_struct(target):
        members = [_named(array.field(place), m.type) for place, m in enumerate(target)]
        return pa.StructArray.from_arrays(members, fields=list(target), mask=absent)
    if pa.types.is_map(target):
        parts = array.keys, _named(array.items, target.item_type)
        return pa.MapArray.from_arrays(array.offsets, *parts, type=target, mask=absent)
    values = _named(array.values, target.value_type)
    return pa.ListArray.from_arrays(array.offsets, values, type=target, mask=absent)


# --- putting together what two kernels decoded ----------------------------------------------------


def _positions(payloads: int, unusual: dict[int, int]) -> list[int]:
    """The position of the payload of each row; unusual ones make another number than one."""
    return list(
        chain.from_iterable(
            (position,) * unusual[position] if position in unusual else (position,)
            for position in range(payloads)
        )
    )


def _merge(found: Any, batch: pa.RecordBatch, other: Decoded) -> Decoded:
    """The rows of both kernels in the order of their payloads."""
    left: list[int] = found.left
    rows_of = dict.fromkeys(left, 0)
    places = other.row_positions
    for place in range(other.batch.num_rows) if places is None else places:
        rows_of[left[place]] += 1
    unusual = dict(found.unusual) | rows_of
    positions = _positions(found.payloads, unusual)
    native = iter(range(batch.num_rows))
    portable = iter(range(batch.num_rows, batch.num_rows + other.batch.num_rows))
    order = [next(portable if position in rows_of else native) for position in positions]
    return Decoded(
        batch=_rearranged(batch, other.batch, order),
        bad=[BadPayload(left[bad.position], bad.reason) for bad in other.bad],
        mistyped=found.mistyped + other.mistyped,
        row_positions=None if all(rows == 1 for rows in unusual.values()) else positions,
    )


def _rearranged(one: pa.RecordBatch, other: pa.RecordBatch, order: list[int]) -> pa.RecordBatch:
    if not other.num_rows:
        return one
    if not one.num_columns:
        rows = pa.StructArray.from_buffers(pa.struct([]), len(order), [None])
        return pa.RecordBatch.from_struct_array(rows)
    both = pa.concat_batches([one, other])
    return both.take(pa.array(order, pa.int64()))
