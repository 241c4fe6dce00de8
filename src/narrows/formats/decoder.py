"""What a record decoder is, and which ones there are.

A decoder turns payloads into the columns of a `DecodeProjection`. A payload that cannot be read
makes no row: it is reported, with its place among the payloads, and whoever reads the source
decides what becomes of it (`on_error`). A value of the wrong type is NULL and counted.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import pyarrow as pa

from narrows.files.lines import FileLines
from narrows.files.ranges import FileRange
from narrows.projection.columns import DecodeProjection


@dataclass(frozen=True)
class BadPayload:
    """A payload that makes no row: where it stood among the payloads, and why."""

    position: int
    reason: str


@dataclass
class Decoded:
    """The rows of some payloads."""

    batch: pa.RecordBatch
    """One column for each of the projection's, in its order; one row for each decoded record. With
    `fragments`, only those that are shipped or tested."""
    bad: Sequence[BadPayload] = ()
    mistyped: int = 0
    """Values that were there but not of the declared type, and so read as NULL."""
    row_positions: Sequence[int] | None = field(default=None)
    """For each row the position of its payload; None when row i came from payload i."""
    fragments: Sequence[pa.Array] | None = None
    """The projection's fragments, if the decoder makes them; else whoever ships the rows does."""


class RecordDecoder(Protocol):
    """Decodes one format. Stateless between calls but for caches keyed by the projection."""

    def decode_with_projection(
        self, payloads: Sequence[bytes], projection: DecodeProjection
    ) -> Decoded: ...


@runtime_checkable
class ArrayDecoder(Protocol):
    """A decoder that takes payloads where they are: in an Arrow array of BINARY without NULLs."""

    def decode_array(self, payloads: pa.Array, projection: DecodeProjection) -> Decoded: ...


Pieces = Sequence[tuple[bytes, int, int]]
"""Parts of a file that are whole lines: bytes, and from where to where the part goes in them."""


@runtime_checkable
class LineDecoder(Protocol):
    """A decoder that finds the lines by itself. Blank ones are no payloads, line ends no part of
    them; positions count what is left, as in `Block.payloads`."""

    def decode_lines(self, pieces: Pieces, projection: DecodeProjection) -> Decoded: ...


class DecodedLines(NamedTuple):
    """Some lines of a file, decoded."""

    decoded: Decoded
    size: int
    """How many bytes of the file they are, line ends included."""
    lines: FileLines
    """Where those stood that are bad."""


@runtime_checkable
class RangeDecoder(Protocol):
    """A decoder that reads the lines of a file that is not compressed by itself, as `read_blocks`
    and `decode_lines` would together: in blocks of about so many bytes and at most so many
    payloads."""

    def decode_range(
        self,
        read: FileRange,
        projection: DecodeProjection,
        *,
        block_bytes: int,
        block_payloads: int,
    ) -> Iterator[DecodedLines]: ...


MakeDecoder = Callable[[Mapping[str, object]], RecordDecoder]
"""Makes a decoder from the options of its source."""

_DECODERS: dict[str, MakeDecoder] = {}
_MODULES = {
    "csv": "narrows.formats.csv.decoder",
    "json": "narrows.formats.json.decoder",
    "text": "narrows.formats.text.decoder",
}
"""The decoders that come with Narrows register when they are imported, which is when somebody
asks for one: a worker that reads JSON need not load the others."""


def register_decoder(format: str, make: MakeDecoder) -> None:
    _DECODERS[format] = make


def decoder_for(format: str, options: Mapping[str, object] | None = None) -> RecordDecoder:
    if format not in _DECODERS and format in _MODULES:
        importlib.import_module(_MODULES[format])
    return _DECODERS[format](options or {})
