"""The fragments of a batch: columns that nobody computes with, encoded from what was decoded.

A decoder that makes fragments by itself, without decoding their columns first, says so by handing
them over (`Decoded.fragments`); for all others this is how they are made.
"""

from __future__ import annotations

import pyarrow as pa

from narrows.formats.base import find_format
from narrows.formats.encoder import SplicingEncoder
from narrows.projection.columns import DecodeProjection


def encode_fragments(
    projection: DecodeProjection, batch: pa.RecordBatch, zone: str
) -> list[pa.Array]:
    """One BINARY column for each fragment; the batch has all columns of the projection."""
    made = []
    for fragment, places in zip(projection.fragments, projection.encoded, strict=True):
        options = {**dict(fragment.options), "timezone": zone}
        encoder = find_format(fragment.format).encoder(options)
        assert isinstance(encoder, SplicingEncoder), "or the planner would not have asked for it"
        columns = [batch.column(place) for place in places]
        made.append(encoder.fragment(fragment, columns).cast(pa.binary()))
    return made
