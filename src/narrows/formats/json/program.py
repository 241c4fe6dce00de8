"""The compiled form of a projection: runs the generated code over payloads and makes the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import pyarrow as pa
import simdjson

from narrows.arrow.batches import batch_of
from narrows.formats.decoder import BadPayload, Decoded
from narrows.formats.json.columns import ColumnSink
from narrows.formats.json.exact import ExactObject, MalformedError, Number, parse_exactly
from narrows.formats.json.generated import GeneratedCode
from narrows.formats.json.places import JsonPlace, places_of
from narrows.formats.json.values import CurrentRow, Mistyped, NeedsExactParseError, scalar_reader
from narrows.formats.time_columns import TimeForms
from narrows.projection.columns import DecodeProjection
from narrows.schema import is_scalar

_FAILURES = (ValueError, RuntimeError, MemoryError)
"""What simdjson raises for a payload that it cannot read."""
_MAX_LOOKED_UP_KEYS = 512
"""Looking up each key of an object takes quadratic time; beyond this the exact parser is faster."""
_TOO_MANY_MISSES = 0.5
"""Missing keys per struct from which on it is cheaper to list the keys first."""
_KEPT_VARIANTS = 8
_RELEARN_AFTER = 64
"""Batches after which keys that used to be missing may have come back."""


ReadRow = Callable[[object], None]


class _Count:
    """Counts values, and is the NULL they become."""

    __slots__ = ("total",)

    def __init__(self) -> None:
        self.total = 0

    def __call__(self, value: object) -> None:
        self.total += 1


class Program:
    """Decodes payloads under one projection. Not for two threads at a time."""

    def __init__(
        self, projection: DecodeProjection, times: TimeForms, parser: simdjson.Parser
    ) -> None:
        self._projection = projection
        self._place, self._columns = places_of(projection.schema, projection.columns)
        self._schema = pa.schema(
            (column.text, sink.target)
            for column, sink in zip(projection.columns, self._columns, strict=True)
        )
        self._times = times
        self._parser = parser
        self._mistyped = _Count()
        self._current = CurrentRow()
        self._variants: dict[frozenset[int], _Variant] = {}
        self._guarded: frozenset[int] = frozenset()
        self._batches = 0
        # Of the batch that is being decoded:
        self._payloads: Any = iter(())
        self._count = 0
        self._bad: list[BadPayload] = []
        self._unusual: list[tuple[int, int]] = []
        self._surplus = 0

    def decode(self, payloads: Sequence[bytes]) -> Decoded:
        if not isinstance(payloads, list):
            payloads = list(payloads)
        self._count = len(payloads)
        self._payloads = iter(payloads)
        self._bad, self._unusual, self._surplus = [], [], 0
        self._mistyped.total = 0
        try:
            variant = self._variant(self._guarded)
            variant.run(self._payloads)
            self._learn(variant)
            batch = self._batch()
        finally:
            for column in self._columns:
                for sink in column.all():
                    sink.values.clear()
        return Decoded(
            batch=batch,
            bad=self._bad,
            mistyped=self._mistyped.total,
            row_positions=self._row_positions(),
        )

    def _batch(self) -> pa.RecordBatch:
        if not self._columns:
            return batch_of(self._projection, (), self._count + self._surplus)
        arrays = [column.to_arrow(self._times, self._mistyped) for column in self._columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _row_positions(self) -> list[int] | None:
        if all(rows == 1 for _, rows in self._unusual):
            return None
        positions: list[int] = []
        start = 0
        for position, rows in self._unusual:
            positions.extend(range(start, position))
            positions.extend([position] * rows)
            start = position + 1
        positions.extend(range(start, self._count))
        return positions

    # --- payloads that are not one plain object ---------------------------------------------------

    def _read_unusual(self, payload: bytes, root: object) -> None:
        """Of a payload that is no object for simdjson: the rows it makes, or why it makes none."""
        if isinstance(root, simdjson.Array):
            rows = list(root)
            if all(row.__class__ is simdjson.Object for row in rows):
                self._current.payload = payload
                self._current.mistyped_before = self._mistyped.total
                try:
                    self._keep(rows, self._variant(self._guarded).row)
                except NeedsExactParseError:
                    self._read_again(payload)
                return
        self._read_exactly(payload)

    def _read_again(self, payload: bytes) -> None:
        """Of a payload that turned out to need the exact parser when it was read in part."""
        done = self._position() + self._surplus
        for column in self._columns:
            column.truncate(done)
        self._mistyped.total = self._current.mistyped_before
        self._read_exactly(payload)

    def _read_exactly(self, payload: bytes) -> None:
        try:
            rows = _rows(parse_exactly(payload))
        except MalformedError as error:
            self._bad.append(BadPayload(self._position(), str(error)))
            rows = []
        self._keep(rows, self._variant(self._guarded).exact_row)

    def _keep(self, rows: Sequence[object], read: ReadRow) -> None:
        for row in rows:
            read(row)
        self._unusual.append((self._position(), len(rows)))
        self._surplus += len(rows) - 1

    def _position(self) -> int:
        """Of the payload that is being read. Counting along would cost every row."""
        return self._count - int(self._payloads.__length_hint__()) - 1

    # --- code -------------------------------------------------------------------------------------

    def _variant(self, guarded: frozenset[int]) -> _Variant:
        found = self._variants.get(guarded)
        if found is None:
            names: dict[str, object] = {
                "parse": self._parser.parse,
                "unusual": self._read_unusual,
                "again": self._read_again,
            }
            found = _Variant(
                GeneratedCode(guarded), self._place, names, self._mistyped, self._current
            )
            if len(self._variants) == _KEPT_VARIANTS:
                self._variants.clear()
            self._variants[guarded] = found
        return found

    def _learn(self, variant: _Variant) -> None:
        """Guard the structs whose keys were often missing."""
        self._batches += 1
        rows = self._count + self._surplus
        often = [
            number
            for number, sink in enumerate(variant.source.structs)
            if len(variant.misses[number]) > _TOO_MANY_MISSES * _seen(sink, rows)
        ]
        for misses in variant.misses:
            misses.clear()
        if self._guarded and self._batches % _RELEARN_AFTER == 0:
            self._guarded = frozenset()
        elif often:
            self._guarded |= frozenset(often)


class _Variant:
    """The functions of a source, compiled, for the rows of simdjson and of the exact parser."""

    def __init__(
        self,
        source: GeneratedCode,
        place: JsonPlace,
        program_names: dict[str, object],
        mistyped: Mistyped,
        current: CurrentRow,
    ) -> None:
        self.source = source
        self._code = compile(source.write(place), "<json decoder>", "exec")
        self.misses: list[list[int]] = [[] for _ in source.structs]
        self._names = program_names | {
            "mistyped": mistyped,
            "current": current,
            "FAILURES": _FAILURES,
            "NeedsExactParseError": NeedsExactParseError,
            "islice": islice,
        }
        for number, sink in enumerate(source.sinks):
            self._names[f"l{number}"] = sink.values
            self._names[f"a{number}"] = sink.values.append
            self._names[f"x{number}"] = sink.values.extend
            if is_scalar(sink.dtype):
                self._names[f"r{number}"] = scalar_reader(sink.dtype, mistyped, current)
        for number, misses in enumerate(self.misses):
            self._names[f"miss{number}"] = misses.append
        names = self._run(_SIMDJSON)
        self.run: Callable[[Iterable[bytes]], None] = names["run"]
        self.row: ReadRow = names["row"]

    @cached_property
    def exact_row(self) -> ReadRow:
        row: ReadRow = self._run(_EXACT)["row"]
        return row

    def _run(self, kinds: dict[str, object]) -> dict[str, Any]:
        names = self._names | kinds
        exec(self._code, names)
        return names


def _seen(sink: ColumnSink | None, rows: int) -> int:
    """How many structs were looked into, at most."""
    return rows if sink is None else sink.values.count(True)


def _first_items(found: Any) -> dict[str, object]:
    """The entries of an object; of a repeated key the first counts."""
    entries: dict[str, object] = dict(found.items())
    if len(entries) != len(found):
        entries = {}
        for key, value in found.items():
            entries.setdefault(key, value)
    return entries


def _few_keys(found: Any) -> dict[str, None]:
    """The keys of an object that simdjson can look up one after the other."""
    keys: dict[str, None] = dict.fromkeys(found)
    if len(keys) > _MAX_LOOKED_UP_KEYS or "\0" in "".join(keys):
        raise NeedsExactParseError
    return keys


def _member(found: Any, key: str) -> object:
    if "\0" in key:
        raise NeedsExactParseError
    return found[key]


_SIMDJSON: dict[str, object] = {
    "Object": simdjson.Object,
    "Array": simdjson.Array,
    "elements": simdjson.Array.as_list,
    "first_items": _first_items,
    "unique": _few_keys,
    "member": _member,
}
_EXACT: dict[str, object] = {
    "Object": ExactObject,
    "Array": list,
    "elements": lambda found: found,
    "first_items": _first_items,
    "unique": dict.fromkeys,
    "member": lambda found, key: found[key],
}
"""What the names in the generated code mean for the rows of each parser."""


def _rows(value: object) -> list[object]:
    """The objects that a payload is, or why it is none."""
    if isinstance(value, ExactObject):
        return [value]
    if not isinstance(value, list):
        raise MalformedError(f"not an object: it is {_kind(value)}")
    for place, element in enumerate(value):
        if not isinstance(element, ExactObject):
            raise MalformedError(f"not an object: element {place} of the list is {_kind(element)}")
    return value


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | Number():
            return "a number"
        case str():
            return "a string"
        case _:
            return "a list"
