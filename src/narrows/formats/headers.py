"""Files whose first line says how to read the others."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from narrows.files.lines import header_of
from narrows.formats.decoder import RecordDecoder


@runtime_checkable
class ReadsHeader(Protocol):
    """A decoder that may have to see a file's header before it can read the file's lines."""

    has_header: bool

    def with_header(self, line: bytes) -> RecordDecoder: ...


def decoder_for_file(decoder: RecordDecoder, path: str) -> tuple[RecordDecoder, int]:
    """The decoder for the lines of a file, and where they begin: `skip_before` of `read_blocks`.

    Every range of a file asks for itself. That costs a look at the file's first line, and saves
    the driver from opening every file while it plans.
    """
    if not isinstance(decoder, ReadsHeader) or not decoder.has_header:
        return decoder, 0
    header = header_of(path)
    if header is None:
        return decoder.with_header(b""), 0  # there are no lines, so it does not matter
    return decoder.with_header(header.line), header.end
