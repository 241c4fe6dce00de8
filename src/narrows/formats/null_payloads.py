"""Payloads some of which are null: messages without a payload, which no format knows.

They make no rows and are not bad, but count: positions are among all payloads.
"""

from __future__ import annotations

from collections.abc import Sequence

from narrows.formats.decoder import BadPayload, Decoded, RecordDecoder
from narrows.projection.columns import DecodeProjection


def decode_present(
    decoder: RecordDecoder, payloads: Sequence[bytes | None], projection: DecodeProjection
) -> Decoded:
    """What a decoder makes of those that are not null."""
    present = [payload for payload in payloads if payload is not None]
    decoded = decoder.decode_with_projection(present, projection)
    if len(present) == len(payloads):
        return decoded
    numbers = [number for number, payload in enumerate(payloads) if payload is not None]
    rows = decoded.row_positions
    decoded.row_positions = numbers if rows is None else [numbers[row] for row in rows]
    decoded.bad = [BadPayload(numbers[bad.position], bad.reason) for bad in decoded.bad]
    return decoded
