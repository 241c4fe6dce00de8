"""What a decoder is: payloads in, columns out. And what reads files that have no payloads.

A decoder turns payloads into the columns of a `DecodeProjection`. A payload that cannot be read
makes no row: it is reported, with its place among the payloads, and whoever reads the source
decides what becomes of it (`on_error`). A value of the wrong type is NULL and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from narrows.files.ranges import FileRange
from narrows.projection.columns import DecodeProjection

if TYPE_CHECKING:  # a format's declaration, which the planner loads, names these protocols
    import pyarrow as pa

    from narrows.files.lines import FileLines
    from narrows.projection.predicate import Predicate


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


@runtime_checkable
class MessageDecoder(Protocol):
    """A decoder that takes payloads where a client library has them: `narrows_kernel.Messages`. One
    that is null makes no row, and is not bad."""

    def decode_messages(self, messages: Any, projection: DecodeProjection) -> Decoded: ...


Pieces = Sequence[tuple[bytes, int, int]]
"""Parts of a file that are whole lines: bytes, and from where to where the part goes in them."""


@runtime_checkable
class LineDecoder(Protocol):
    """A decoder that finds the lines by itself. Blank ones are no payloads, line ends no part of
    them; positions count what is left, as in `Block.payloads`."""

    def decode_lines(self, pieces: Pieces, projection: DecodeProjection) -> Decoded: ...


class DecodedPart(NamedTuple):
    """Some rows of a file."""

    decoded: Decoded
    size: int
    """How many bytes of the file were read for them; line ends are included."""
    lines: FileLines | None = None
    """Where payloads stood that are bad; None where there are no payloads but only rows."""


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
    ) -> Iterator[DecodedPart]: ...


class ContainerReader(Protocol):
    """Reads files that are no payloads one after the other, but have a structure of their own."""

    def read(
        self, read: FileRange, projection: DecodeProjection, predicate: Predicate | None
    ) -> Iterator[DecodedPart]:
        """The rows of a range of a file, in batches of bounded size.

        Files are cut into ranges by size, without a look into them. What a range holds is what
        begins in it. Rows for which the predicate does not hold may be left out, which pays where
        many can be skipped at once; they are tested again in any case.
        """
