"""Partitioned files: as others read them, whatever the values are, and whatever becomes of them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from narrows import Catalog, NarrowsError
from narrows.connectors.target import RowPart, SinkTarget, WriteSpec
from narrows.worker.write import publish, write_task

SITES = ["a", "", None, "a/../../b", "..", "x=y", "100%", "\n\x7f", "ä ö", "A", "a", "{}", "~", "'"]


def spec_of(
    folder: Path, names: Sequence[str], pipeline: str = "p", **options: object
) -> WriteSpec:
    target = SinkTarget(
        pipeline=pipeline,
        sink="out",
        connector="file",
        format=str(options.pop("format", "json")),
        options=tuple({"timezone": "UTC", **options}.items()),
        parts=tuple(RowPart(f"o{place}", name) for place, name in enumerate(names)),
        place=str(folder / "out"),
        dead_letters=str(folder / "dead"),
    )
    return WriteSpec((target,))


def write(spec: WriteSpec, batch: int, *columns: Sequence[Any]) -> None:
    names = [part.column for part in spec.targets[0].parts]
    rows = pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=names)
    publish(spec, batch, [write_task(spec, iter([rows]), batch)])


def folders(folder: Path) -> list[str]:
    return sorted(
        path.parent.relative_to(folder / "out").as_posix()
        for path in (folder / "out").rglob("p-*")
        if path.is_file()
    )


def test_others_find_the_columns_again(tmp_path: Path) -> None:
    days = [date(2026, 11, 1 + place % 2) for place in range(len(SITES))]
    spec = spec_of(tmp_path, ["id", "site", "day"], partition_by="site, day", format="parquet")
    write(spec, 0, range(len(SITES)), SITES, days)
    schema = pa.schema([("site", pa.string()), ("day", pa.date32())])
    found = ds.dataset(
        tmp_path / "out", partitioning=ds.HivePartitioning(schema), format="parquet"
    ).to_table()
    rows = {row["id"]: (row["site"], row["day"]) for row in found.to_pylist()}
    assert rows == {
        place: (site or None, day)
        for place, (site, day) in enumerate(zip(SITES, days, strict=True))
    }
    assert os.listdir(tmp_path) == ["out"]


def test_names_are_those_of_hive(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, ["id", "Site"], partition_by="site")
    write(spec, 0, [1, 2, 3, 4], ["a b", "a/b", None, "ä:"])
    assert folders(tmp_path) == [
        "site=__HIVE_DEFAULT_PARTITION__",
        "site=a b",
        "site=a%2Fb",
        "site=ä%3A",
    ]
    (file,) = (tmp_path / "out" / "site=a b").iterdir()
    assert file.name == "p-0000000000-00000.json"
    assert file.read_text() == '{"id":1}\n'


def test_rows_keep_their_order_and_files_their_size(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, ["id", "k"], partition_by="k", batch_count=3)
    write(spec, 0, range(16), [place % 2 for place in range(16)])
    files = sorted((tmp_path / "out" / "k=1").iterdir())
    found = [[json.loads(line)["id"] for line in file.read_text().splitlines()] for file in files]
    assert found == [[1, 3, 5], [7, 9, 11], [13, 15]]


def test_more_partitions_than_files_may_be_open(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, ["id", "k"], partition_by="k")
    write(spec, 0, range(600), [place % 200 for place in range(600)])
    assert len(set(folders(tmp_path))) == 200
    lines = [path.read_text() for path in (tmp_path / "out").rglob("*.json")]
    assert sorted(json.loads(line)["id"] for line in "".join(lines).splitlines()) == [*range(600)]


def test_a_value_that_is_too_long_is_a_dead_letter(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, ["id", "k"], partition_by="k")
    write(spec, 0, [1, 2, 3], ["a", "x" * 254, "b"])
    assert folders(tmp_path) == ["k=a", "k=b"]
    (letters,) = (tmp_path / "dead").iterdir()
    letter = json.loads(letters.read_text())
    assert letter["reason"] == "the value of `k` is too long for the name of a folder"
    assert json.loads(letter["payload"])["id"] == "2"


@pytest.mark.parametrize("damage", ["none", "removed", "emptied", "a lie"])
def test_a_batch_that_is_run_again_replaces_what_it_published(tmp_path: Path, damage: str) -> None:
    spec, other = (spec_of(tmp_path, ["id", "k"], name, partition_by="k") for name in ("p", "q"))
    write(spec, 0, [0], ["a"])
    write(other, 1, [9], ["a"])
    write(spec, 1, [1, 2], ["a", "b"])
    journal = tmp_path / "out" / ".p.published"
    victim = tmp_path / "mine.json"
    victim.write_text("the user's")
    if damage == "removed":
        journal.unlink()
    elif damage == "emptied":
        journal.write_bytes(b"")
    elif damage == "a lie":
        said = json.loads(journal.read_bytes())
        said["files"] += ["../mine.json", str(victim), "k=a/q-0000000001-00000.json"]
        journal.write_text(json.dumps(said))
    write(spec, 1, [1, 2], ["c", "c"])
    found = {
        path.relative_to(tmp_path / "out").as_posix(): path.read_text()
        for path in (tmp_path / "out").rglob("*.json")
    }
    assert found == {
        "k=a/p-0000000000-00000.json": '{"id":0}\n',
        "k=a/q-0000000001-00000.json": '{"id":9}\n',
        "k=c/p-0000000001-00000.json": '{"id":1}\n{"id":2}\n',
    }
    assert victim.read_text() == "the user's"


def test_a_template_may_name_a_partition(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, ["id", "k"], partition_by="K", format="text", template="{k}: {id}")
    write(spec, 0, [1], ["a"])
    assert (tmp_path / "out" / "K=a" / "p-0000000000-00000.text").read_text() == "a: 1\n"


@pytest.mark.parametrize(
    ("columns", "partition_by", "expected"),
    [
        ("a", "A", "all its columns are in `partition_by`, and nothing is left for the files"),
        ("a", "b", "names the column `b`, which the query does not give"),
        ("a, s", "s", "names the column `s`, which is nested"),
        ("a", "a,", "there is no column between two commas"),
    ],
)
def test_what_cannot_be_partitioned(columns: str, partition_by: str, expected: str) -> None:
    catalog = Catalog()
    with pytest.raises(NarrowsError, match=expected):
        catalog.execute(f"""
            CREATE STREAM t (a BIGINT, s STRUCT<x: INT>) WITH (connector = 'file', path = 'in');
            CREATE SINK out WITH (connector = 'file', path = 'o', partition_by = '{partition_by}');
            CREATE PIPELINE p INTO out AS SELECT {columns} FROM t;
        """)
