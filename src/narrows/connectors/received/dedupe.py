"""Payloads that come twice: of those with the same id only the first is written.

    dedupe_by = 'vehicle, header.id'

The id is what columns of the payload say, decoded as the stream's format has it. So it is a matter
of the payload alone, whoever sent it, by whatever way. A payload without one - a column is NULL, or
the payload cannot be decoded - is never the same as another. How far back ids are known is
`dedupe_last`; see `keys.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from narrows.connectors.base import SourceDeclaration
from narrows.connectors.received.keys import ID, key_of
from narrows.demand import ALL, Demand, fields, union_all
from narrows.errors import InternalError
from narrows.formats.base import find_format
from narrows.formats.decoder import ArrayDecoder, Decoded
from narrows.projection.columns import DecodeProjection


@dataclass(frozen=True)
class Dedupe:
    """How payloads of a stream are told apart. It is JSON, for those who keep it."""

    by: tuple[str, ...]
    last: int
    format: str
    options: Mapping[str, Any]
    """Those of the format."""
    schema: str
    """All columns of the stream, as SQL has them."""

    @staticmethod
    def of(declared: SourceDeclaration) -> Dedupe | None:
        """None where all payloads are taken."""
        given = declared.options.get("dedupe_by")
        if given is None:
            return None
        if declared.schema is None:
            raise InternalError("nobody has said which columns there are")
        names = {spec.name for spec in find_format(declared.format).source_options or ()}
        return Dedupe(
            tuple(part.strip() for part in str(given).split(",")),
            int(str(declared.options["dedupe_last"])),
            declared.format,
            {name: value for name, value in declared.options.items() if name in names},
            ", ".join(field.sql() for field in declared.schema),
        )

    @staticmethod
    def from_json(kept: Mapping[str, Any] | None) -> Dedupe | None:
        return None if kept is None else Dedupe(**{**kept, "by": tuple(kept["by"])})

    def ids(self) -> PayloadIds:
        return PayloadIds(self)


class PayloadIds:
    """Finds the ids of payloads; for one thread."""

    def __init__(self, dedupe: Dedupe) -> None:
        from narrows.sql.parser.types import read_schema  # on the driver, where it is loaded anyway

        # Times that name no zone are in one that does not change with who reads.
        options = {**dedupe.options, "timezone": "UTC"}
        self._decoder = find_format(dedupe.format).decoder(options)
        demand = union_all(map(_demand, dedupe.by))
        self._projection = DecodeProjection(read_schema(dedupe.schema), demand)
        self._what = ",".join(dedupe.by)

    def __call__(self, payloads: Sequence[bytes]) -> list[bytes | None]:
        decoded = self._decode(payloads)
        columns = [column.to_pylist() for column in decoded.batch.columns]
        rows = list(zip(*columns, strict=True))
        places = range(len(payloads)) if decoded.row_positions is None else decoded.row_positions
        found: list[list[tuple[Any, ...]]] = [[] for _ in payloads]  # a payload may have more rows
        for place, row in zip(places, rows, strict=True):
            found[place].append(row)
        return [self._id(values) for values in found]

    def _id(self, rows: Sequence[tuple[Any, ...]]) -> bytes | None:
        if not rows or any(None in row for row in rows):
            return None
        return key_of(ID, f"{self._what} {rows!r}".encode("utf-8", "replace"))

    def _decode(self, payloads: Sequence[bytes]) -> Decoded:
        if isinstance(self._decoder, ArrayDecoder):
            return self._decoder.decode_array(pa.array(payloads, pa.binary()), self._projection)
        return self._decoder.decode_with_projection(payloads, self._projection)


def _demand(path: str) -> Demand:
    """`header.id`, and nothing beside it."""
    first, _, rest = path.partition(".")
    return fields({first: _demand(rest) if rest else ALL})
