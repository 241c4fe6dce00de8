"""Lines of text: each is one row of one STRING column.

A line that is not UTF-8 makes no row, whether or not the column is demanded: which rows there are
must not depend on what is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from narrows.arrow.batches import batch_of
from narrows.errors import Code, fail
from narrows.formats.decoder import BadPayload, Decoded, register_decoder
from narrows.projection.columns import DecodeProjection
from narrows.schema import STRING, Struct

NOT_UTF8 = "not valid UTF-8"


class TextDecoder:
    def __init__(self, options: Mapping[str, object] | None = None) -> None:
        """Text has no options of its own."""

    @staticmethod
    def check_schema(schema: Struct) -> None:
        """Refuses a schema that lines of text do not have."""
        if [column.type for column in schema] != [STRING]:
            columns = ", ".join(column.sql() for column in schema)
            message = f"format `text` has one column, a STRING, not ({columns})"
            raise fail(Code.WRONG_TYPE, message, None, "declare `(line STRING)`")

    def decode_with_projection(
        self, payloads: Sequence[bytes], projection: DecodeProjection
    ) -> Decoded:
        self.check_schema(projection.schema)
        lines = pa.array(payloads, pa.binary())
        try:
            texts = lines.cast(pa.string())
        except pa.ArrowInvalid:
            return self._without_bad(payloads, projection)
        return Decoded(batch_of(projection, [texts] if projection.columns else [], len(payloads)))

    def _without_bad(self, payloads: Sequence[bytes], projection: DecodeProjection) -> Decoded:
        good = [position for position, payload in enumerate(payloads) if is_utf8(payload)]
        wrong = sorted(set(range(len(payloads))).difference(good))
        decoded = self.decode_with_projection([payloads[p] for p in good], projection)
        decoded.bad = [BadPayload(position, NOT_UTF8) for position in wrong]
        decoded.row_positions = good
        return decoded


def is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


register_decoder("text", TextDecoder)
