"""The JSON encoder of the native kernel: writes what `JsonEncoder` writes, byte for byte.

Rows that have something uncommon in them - times in a region's zone, years before 0, types that
Spark does not have, fields that only some of them have - it leaves to the portable encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

import pyarrow as pa

from narrows.arrow.times import find_zone
from narrows.formats.encoder import Encoded, RowColumns, Values
from narrows.formats.json.encoder import JsonEncoder, JsonWriter, field_start
from narrows.formats.kernel import load_native
from narrows.projection.fragments import Fragment

_Part = tuple[bool, str, pa.Array]
"""Whether it is encoded already; what stands before its values or, if it is, for NULL; values."""


@dataclass(frozen=True)
class NativeJsonEncoder:
    portable: JsonEncoder

    def open(self, file: IO[bytes]) -> JsonWriter:
        return JsonWriter(self, self.portable.layout, file)

    def fragment(self, fragment: Fragment, columns: Sequence[pa.Array]) -> pa.Array:
        starts = [field_start(field.name) for field in fragment.fields]
        parts = [(False, s, c) for s, c in zip(starts, columns, strict=True)]
        texts = self._encode(parts, None)
        return self.portable.fragment(fragment, columns) if texts is None else texts

    def objects(self, rows: RowColumns, end: str) -> pa.Array:
        if any(isinstance(part, Values) and part.changed is not None for part in rows):
            return self.portable.objects(rows, end)
        texts = self._encode([self._part(part) for part in rows], "}" + end)
        return self.portable.objects(rows, end) if texts is None else texts

    def messages(self, rows: RowColumns) -> pa.Array:
        return self.objects(rows, "")

    def _part(self, part: Values | Encoded) -> _Part:
        if isinstance(part, Encoded):
            nulls = self.portable.null_fields(part.fragment) if part.array.null_count else ""
            return True, nulls, part.array
        return False, field_start(part.name), part.array

    def _encode(self, parts: list[_Part], object_end: str | None) -> pa.Array | None:
        """The text of each row; None where the kernel cannot tell."""
        encode = load_native().encode
        try:
            found = encode(parts, self.portable.omit_null_columns, self._zone, object_end)
        except OverflowError as error:
            raise ValueError("more than 2 GB of text in a batch") from error
        return None if found is None else pa.array(found)

    @cached_property
    def _zone(self) -> int | None:
        """Seconds east of UTC; None if the zone is a region."""
        zone: Any = find_zone(self.portable.zone)
        return zone if isinstance(zone, int) else None
