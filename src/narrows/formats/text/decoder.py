"""Lines of text: each is one row of one STRING column.

A line that is not UTF-8 makes no row, whether or not the column is demanded: which rows there are
must not depend on what is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from narrows.arrow.batches import batch_of
from narrows.formats.base import OptionMap
from narrows.formats.decoder import BadPayload, Decoded
from narrows.projection.columns import DecodeProjection

NOT_UTF8 = "not valid UTF-8"


class TextDecoder:
    def __init__(self, options: OptionMap | None = None) -> None:
        """Text has no options of its own."""

    def decode_with_projection(
        self, payloads: Sequence[bytes], projection: DecodeProjection
    ) -> Decoded:
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
