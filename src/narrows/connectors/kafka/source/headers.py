"""The headers of messages, as a column: lists of names and values, NULL for who has none."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

Headers = Sequence[tuple[str, bytes | None]]

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def header_array(headers: Sequence[Headers | None]) -> pa.Array:
    rows = [
        None if found is None else [{"key": key, "value": value} for key, value in found]
        for found in headers
    ]
    return pa.array(rows, HEADERS)
