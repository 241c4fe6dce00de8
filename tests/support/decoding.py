"""Decodes a few payloads that a test writes down."""

from __future__ import annotations

import json
from typing import Any

from narrows.arrow.types import arrow_type
from narrows.demand import ALL, Demand
from narrows.formats.base import find_format
from narrows.formats.decoder import Decoded
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema


def decode(schema: str, demand: Demand, *payloads: bytes | str | Any) -> Decoded:
    """Payloads that are neither bytes nor text are written as JSON."""
    projection = DecodeProjection(read_schema(schema), demand)
    written = [
        p if isinstance(p, bytes) else p.encode() if isinstance(p, str) else json.dumps(p).encode()
        for p in payloads
    ]
    decoded = find_format("json").decoder({}).decode_with_projection(written, projection)
    for column, array in zip(projection.columns, decoded.batch.columns, strict=True):
        assert array.type == arrow_type(column.dtype), column
        array.validate(full=True)
    return decoded


def columns(schema: str, demand: Demand, *payloads: bytes | str | Any) -> dict[str, list[Any]]:
    """The values of each column, by its name."""
    found: dict[str, list[Any]] = decode(schema, demand, *payloads).batch.to_pydict()
    return found


def reasons(*payloads: bytes | str | Any) -> list[str]:
    """Why payloads make no row."""
    return [bad.reason for bad in decode("a BIGINT", ALL, *payloads).bad]
