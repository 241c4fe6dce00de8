"""Encoding alone, on one core: JSON to JSON and columns to JSON, with both kernels.

    python bench/encode.py [--megabytes 20] [--columns 15000]

MB/s of payloads read, in processor time, so that a busy machine disturbs less; the best of a few.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import wide_data
from narrows.demand import ALL, NOTHING
from narrows.formats.encoder import Values
from narrows.formats.fragments import encode_fragments
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.encoder import JsonEncoder
from narrows.formats.json.native import NativeJsonDecoder
from narrows.formats.json.native_encoder import NativeJsonEncoder
from narrows.projection.columns import DecodeProjection
from narrows.projection.fragments import Fragment, FragmentField
from narrows.schema import STRING, Field, Struct
from narrows.sql.parser.types import read_schema
from wide_select import write

ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=20)
    parser.add_argument("--columns", type=int, default=15_000)
    options = parser.parse_args()
    folder = Path(tempfile.gettempdir())
    narrow = folder / "narrows-bench-encode"
    wide_data.write(narrow, options.megabytes, files=1)
    names = [f"col_{number:05d}" for number in range(options.columns)]
    wide = write(folder / "narrows-wide", names, 96)
    shuffled = random.Random(3).sample(names, len(names))
    of_wide = Struct(tuple(Field(name, STRING) for name in names))
    of_narrow = read_schema(wide_data.schema())
    cases = [
        ("43 columns and a list, all", narrow, of_narrow, of_narrow.names),
        (f"{len(names)} strings, all", wide, of_wide, names),
        (f"{len(names)} strings, all, in another order", wide, of_wide, shuffled),
        (f"{len(names)} strings, ten", wide, of_wide, names[:: max(1, len(names) // 10)]),
    ]
    print("| | native, MB/s | portable, MB/s |\n|---|---|---|")
    for name, data, schema, chosen in cases:
        block = next(data.glob("*.json")).read_bytes()
        block = block[: block.index(b"\n", min(len(block) - 1, options.megabytes * 10**6)) + 1]
        native, portable = transcoding(block, schema, chosen)
        print(f"| JSON to JSON: {name} | {native:.0f} | {portable:.0f} |", flush=True)
    block = next(narrow.glob("*.json")).read_bytes()
    native, portable = encoding(block, of_narrow)
    print(f"| columns to JSON: 43 columns and a list | {native:.0f} | {portable:.0f} |")


def transcoding(block: bytes, schema: Struct, names: list[str]) -> tuple[float, float]:
    types = {field.name: field.type for field in schema}
    fields = tuple(FragmentField((name,), name, types[name]) for name in names)
    projection = DecodeProjection(schema, NOTHING, fragments=(Fragment("json", (), fields),))
    lines = block.split(b"\n")[:-1]
    native, portable = NativeJsonDecoder(), JsonDecoder()
    encoder = JsonEncoder()

    def through_columns() -> object:
        batch = portable.decode_with_projection(lines, projection).batch
        columns = [batch.column(place) for place in projection.encoded[0]]
        return encoder.fragment(projection.fragments[0], columns)

    pieces = [(block, 0, len(block))]
    made = native.decode_lines(pieces, projection)
    assert made.fragments is not None
    made_portably = encode_fragments(
        projection, portable.decode_with_projection(lines, projection).batch, "UTC"
    )
    assert made.fragments[0].equals(made_portably[0])
    return (
        len(block) / 1e6 / best(lambda: native.decode_lines(pieces, projection)),
        len(block) / 1e6 / best(through_columns),
    )


def encoding(block: bytes, schema: Struct) -> tuple[float, float]:
    lines = block.split(b"\n")[:-1]
    batch = JsonDecoder().decode_with_projection(lines, DecodeProjection(schema, ALL)).batch
    rows = [Values(f.name, column) for f, column in zip(schema, batch.columns, strict=True)]
    portable = JsonEncoder()

    def rate(encoder: JsonEncoder | NativeJsonEncoder) -> float:
        return len(block) / 1e6 / best(lambda: encoder.objects(rows, "\n"))

    return rate(NativeJsonEncoder(portable)), rate(portable)


def best(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


if __name__ == "__main__":
    main()
