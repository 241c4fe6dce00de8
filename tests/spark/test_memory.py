"""Reading takes bounded memory: a worker holds a block of lines, whatever the size of the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MEGABYTES = 150
LIMIT = 160
"""What reading may add to the memory of a process that has imported everything, in megabytes."""

SCRIPT = """
import resource, sys
from narrows.projection.columns import DecodeProjection
from narrows.demand import ALL, fields, items
from narrows.files.ranges import FileRange
from support.reading import read_ranges
from narrows.worker.read_spec import ReadSpec
from narrows.sql.parser.types import read_schema
import os

path, memory = sys.argv[1], lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
schema = read_schema("id BIGINT, text STRING, items ARRAY<STRUCT<x: BIGINT, y: STRING>>")
demand = fields({"id": ALL, "text": ALL, "items": items({0: fields({"x": ALL})})})
spec = ReadSpec("s", "file", "json", DecodeProjection(schema, demand), ("c0", "c1", "c2"))
before = memory()
rows = sum(b.num_rows for b in read_ranges(spec, [FileRange(path, 0, os.path.getsize(path))]))
print(rows, int(memory() - before))
"""


def test_a_large_file_in_one_partition(tmp_path: Path) -> None:
    items = ",".join(f'{{"x":{i},"y":"some text {i}"}}' for i in range(40))
    line = f'{{"id":1,"text":"{"t" * 200}","items":[{items}]}}\n'.encode()
    count = MEGABYTES * 1_000_000 // len(line)
    with (tmp_path / "large.json").open("wb") as file:
        for _ in range(count // 100):
            file.write(line * 100)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "large.json")]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows, megabytes = map(int, answer.split())
    assert rows == count // 100 * 100
    assert megabytes < LIMIT
