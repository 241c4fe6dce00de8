"""How fast the kernels decode, on one core and without Spark.

    python bench/decode.py

Each line is one shape of documents and one demand on them; MB/s are of payload bytes, the best of
some rounds. `count rows` decodes nothing: it is what parsing alone costs, so the others show what
the demanded values cost on top of it. Both kernels get a list of payloads; the native one also
lines in blocks, as readers hand them over.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

from narrows.demand import ALL, NOTHING, Demand, fields, items
from narrows.formats.decoder import Pieces, RecordDecoder
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.native import NativeJsonDecoder
from narrows.formats.kernel import is_native_usable
from narrows.projection.columns import DecodeProjection
from narrows.schema import Struct
from narrows.sql.parser.types import read_schema

BYTES = 4_000_000
"""Of documents in each measurement."""
BATCH = 1000
"""Documents in a batch."""
BLOCK = 512 << 10
"""Bytes in a block of lines."""
SECONDS = 1.5
"""For each measurement."""
ROW_TYPES = ("BIGINT", "DOUBLE", "STRING", "BOOLEAN")

ITEM = "STRUCT<x: BIGINT, y: STRING, z: DOUBLE>"
B = f"b STRUCT<c: BIGINT, items: ARRAY<{ITEM}>>"
WIDE = read_schema(
    f"a BIGINT, {B}, ts TIMESTAMP, " + ", ".join(f"col_{n} {ROW_TYPES[n % 4]}" for n in range(40))
)
SMALL = read_schema(", ".join(f"field_{n} {ROW_TYPES[n % 3]}" for n in range(8)))
SPARSE = read_schema(", ".join(f"field_{n} BIGINT" for n in range(40)))

Random = random.Random
Make = Callable[[Random], dict[str, Any]]


def scalar(kind: int, rnd: Random) -> Any:
    return (rnd.randrange(10**6), rnd.random() * 1000, f"value {rnd.randrange(1000)}", True)[kind]


def list_of(length: int, rnd: Random) -> list[dict[str, Any]]:
    return [{"x": rnd.randrange(10**6), "y": f"item {n:04}", "z": 1.5} for n in range(length)]


def wide(rnd: Random) -> dict[str, Any]:
    """1.6 kB: 43 columns and a list of 20."""
    scalars = {f"col_{n}": scalar(n % 4, rnd) for n in range(40)}
    nested = {"c": rnd.randrange(10**6), "items": list_of(20, rnd)}
    time_text = f"2026-01-01T00:00:{rnd.randrange(60):02}.123Z"
    return {"a": rnd.randrange(10**6), "b": nested, "ts": time_text, **scalars}


def long_list(rnd: Random) -> dict[str, Any]:
    return {"a": 1, "b": {"c": 1, "items": list_of(1000, rnd)}}


def small(rnd: Random) -> dict[str, Any]:
    """200 bytes: 8 fields."""
    return {f"field_{n}": scalar(n % 3, rnd) for n in range(8)} | {"tag": "x" * 25}


def sparse(rnd: Random) -> dict[str, Any]:
    """Three of four fields are missing."""
    return {f"field_{n}": rnd.randrange(10**6) for n in range(40) if rnd.random() < 0.25}


def in_b(**parts: Demand) -> Demand:
    return fields(parts)


FIRST_X = items({0: fields({"x": ALL})})
EVERY_X = items(rest=fields({"x": ALL}))
CASES: tuple[tuple[str, Struct, Make, Demand], ...] = (
    ("3 leaves of 43 columns", WIDE, wide, fields({"a": ALL, "b": in_b(c=ALL, items=FIRST_X)})),
    ("all 43 columns", WIDE, wide, ALL),
    ("x of all 20 list elements", WIDE, wide, fields({"b": in_b(items=EVERY_X)})),
    ("a timestamp", WIDE, wide, fields({"ts": ALL})),
    ("count rows", WIDE, wide, NOTHING),
    ("items[0] of 1000", WIDE, long_list, fields({"b": in_b(items=items({0: ALL}))})),
    ("2 of 8 fields", SMALL, small, fields({"field_1": ALL, "field_5": ALL})),
    ("5 of 40 sparse fields", SPARSE, sparse, fields({f"field_{n}": ALL for n in range(5)})),
)


def best_of(run: Callable[[], None]) -> float:
    """Seconds of the best round."""
    best = float("inf")
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        started = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - started)
    return best


def lists(decoder: RecordDecoder, documents: list[bytes], projection: DecodeProjection) -> float:
    batches = [documents[start : start + BATCH] for start in range(0, len(documents), BATCH)]

    def run() -> None:
        for batch in batches:
            assert decoder.decode_with_projection(batch, projection).batch.num_rows == len(batch)

    return best_of(run)


def lines(documents: list[bytes], projection: DecodeProjection) -> float:
    decoder = NativeJsonDecoder()
    data = b"".join(document + b"\n" for document in documents)
    blocks: list[Pieces] = []
    start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + BLOCK) + 1
        blocks.append([(data, start, end)])
        start = end

    def run() -> None:
        rows = sum(decoder.decode_lines(block, projection).batch.num_rows for block in blocks)
        assert rows == len(documents)

    return best_of(run)


def main() -> None:
    native = is_native_usable()
    sides = ("portable", "native", "native, lines") if native else ("portable",)
    print(f"{'MB/s':28}{'bytes':>8}" + "".join(f"{side:>15}" for side in sides))
    for name, schema, make, demand in CASES:
        rnd = random.Random(7)
        documents: list[bytes] = []
        while sum(map(len, documents[-1:])) * len(documents) < BYTES:
            documents.append(json.dumps(make(rnd), separators=(",", ":")).encode())
        projection = DecodeProjection(schema, demand)
        seconds = [lists(JsonDecoder(), documents, projection)]
        if native:
            seconds.append(lists(NativeJsonDecoder(), documents, projection))
            seconds.append(lines(documents, projection))
        total = sum(map(len, documents))
        rates = "".join(f"{total / each / 1e6:15.0f}" for each in seconds)
        print(f"{name:28}{total // len(documents):8}{rates}", flush=True)


if __name__ == "__main__":
    main()
