"""Small files that are put together: every row is there once, whatever is cut short, whichever
batches are run again, and nobody who looks ever sees a row twice."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.connectors.base import find_connector
from narrows.connectors.file.compaction import Compacted, compact
from narrows.connectors.letters import unpublished
from narrows.connectors.target import SinkTarget
from narrows.errors import NarrowsError

LARGE = 1 << 20


class Crash(BaseException):
    """What nobody catches."""


class Output:
    """A sink, the rows that its batches have, and those that stand in its folder."""

    def __init__(self, folder: str, *, partitioned: bool = False, life: str = "one") -> None:
        options = (("path", folder), ("partition_by", "k")) if partitioned else (("path", folder),)
        self.place = Path(folder)
        self.partitioned = partitioned
        self.target = SinkTarget(
            "p", "out", "file", "json", options, (), folder, f"{folder}/letters", life=life
        )
        self.sink = find_connector("file").sink(self.target)

    def publish(self, batch: int, files: int) -> None:
        """A batch with two rows in each file; the same each time that it is run."""
        written = []
        for number in range(files):
            path = unpublished(self.target.place, "p")
            rows = [{"row": f"{batch}/{number}/{row}"} for row in range(2)]
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
            written.append([str(path), f"k={number % 2}" if self.partitioned else ""])
        self.sink.publish(batch, [{"files": written, "letters": []}])

    def seen(self) -> Counter[str]:
        """What somebody finds who reads the folder, as everybody reads folders."""
        found: Counter[str] = Counter()
        for path in self.place.rglob("*.json"):
            if not path.name.startswith("."):
                lines = path.read_text("utf-8").splitlines()
                found.update(json.loads(line)["row"] for line in lines)
        return found


def owed(batches: list[int]) -> Counter[str]:
    return Counter(
        f"{batch}/{number}/{row}"
        for batch, files in enumerate(batches)
        for number in range(files)
        for row in range(2)
    )


@contextmanager
def crash_after(steps: int, look: Callable[[], None]) -> Iterator[None]:
    """Looks before each change of a name, and dies at one of them."""
    left = steps

    def one(change: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            look()
            if left == 0:
                raise Crash
            left -= 1
            return change(*args, **kwargs)

        return run

    module = "narrows.connectors.file.compaction"
    with (
        patch(f"{module}.os.replace", one(__import__("os").replace)),
        patch(f"{module}.Path.unlink", one(Path.unlink)),
    ):
        yield


@settings(max_examples=25)  # each writes and reads some dozens of files
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 12), st.integers(1, 120), st.integers(0, 3)), max_size=4),
    st.booleans(),
)
def test_every_row_is_there_once(
    batches: list[int], compactions: list[tuple[int, int, int]], partitioned: bool
) -> None:
    """After some batches a compaction dies; then some of the last batches are run again."""
    with tempfile.TemporaryDirectory() as folder:
        output = Output(folder, partitioned=partitioned)

        def never_twice() -> None:
            assert not [row for row, count in output.seen().items() if count > 1]

        for batch, files in enumerate(batches):
            output.publish(batch, files)
            if batch < len(compactions):
                steps, size, again = compactions[batch]
                try:
                    with crash_after(steps, never_twice):
                        compact(output.target, size)
                except Crash:
                    never_twice()
                output = Output(folder, partitioned=partitioned)
                output.sink.sweep()
                assert output.seen() == owed(batches[: batch + 1])
                for number in range(max(0, batch - again), batch + 1):
                    output.publish(number, batches[number])
                assert output.seen() == owed(batches[: batch + 1])
        compact(output.target, LARGE)
        assert output.seen() == owed(batches)
        assert not [path for path in Path(folder).rglob(".*") if path.name.endswith("together")]


def test_what_becomes_of_the_files(tmp_path: Path) -> None:
    output = Output(str(tmp_path))
    for batch in range(4):
        output.publish(batch, 2)
    (tmp_path / "mine.json").write_text("not ours\n")
    assert compact(output.target, LARGE) == Compacted(6, 1)
    names = sorted(path.name for path in tmp_path.glob("p-*"))
    assert names == [
        "p-0000000000..0000000002-00000.json",
        "p-0000000003-00000.json",
        "p-0000000003-00001.json",
    ]
    output.publish(4, 1)
    assert compact(output.target, LARGE) == Compacted(3, 1)
    assert compact(output.target, LARGE) == Compacted(0, 0), "there is nothing left to do"
    assert (tmp_path / "mine.json").read_text() == "not ours\n"
    text = (tmp_path / "p-0000000000..0000000003-00000.json").read_text()
    rows = [json.loads(line)["row"] for line in text.splitlines()]
    assert rows == sorted(rows), "batch by batch, part by part"


def test_another_life_writes_its_batches(tmp_path: Path) -> None:
    """Somebody has removed the state: the batches of the new one are others."""
    output = Output(str(tmp_path))
    for batch in range(3):
        output.publish(batch, 1)
    compact(output.target, LARGE)
    Output(str(tmp_path), life="another").publish(0, 1)
    assert (tmp_path / "p-0000000000-00000.json").exists()


@pytest.mark.parametrize("options", [(("batch_count", 10),), (("layout", "array"),)])
def test_what_stays_as_it_is(tmp_path: Path, options: tuple[tuple[str, Any], ...]) -> None:
    target = SinkTarget("p", "out", "file", "json", options, (), str(tmp_path), "")
    with pytest.raises(NarrowsError, match="each is a payload by itself"):
        compact(target, LARGE)


def _target(folder: Path, form: str, *options: tuple[str, Any]) -> SinkTarget:
    return SinkTarget("p", "out", "file", form, options, (), str(folder), "")


def test_headers_of_csv_stand_once(tmp_path: Path) -> None:
    texts = ['"a\n1",b\n1,2\n', '"a\n1",b\n3,4\n', "a,c\n5,6\n", "a,c\n7,8\n", "a,c\n9,9\n"]
    for number, text in enumerate(texts):
        (tmp_path / f"p-{number:010d}-00000.csv").write_text(text)
    assert compact(_target(tmp_path, "csv", ("header", True)), LARGE) == Compacted(4, 2)
    found = [path.read_text() for path in sorted(tmp_path.glob("p-*"))]
    assert found == ['"a\n1",b\n1,2\n3,4\n', "a,c\n5,6\n7,8\n", "a,c\n9,9\n"]


def test_parquet_of_one_schema_each(tmp_path: Path) -> None:
    tables = [pa.table({"a": [n, n + 1]}) for n in range(3)]
    tables += [pa.table({"a": [n], "b": ["x"]}) for n in range(4)]
    for number, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"p-{number:010d}-00000.parquet")
    assert compact(_target(tmp_path, "parquet"), LARGE) == Compacted(6, 2)
    first, second, _ = (pq.read_table(path) for path in sorted(tmp_path.glob("p-*")))
    assert first.to_pydict() == {"a": [0, 1, 1, 2, 2, 3]}
    assert second.to_pydict() == {"a": [0, 1, 2], "b": ["x"] * 3}


def test_a_record_that_names_files_of_others_is_refused(tmp_path: Path) -> None:
    from narrows.files.small import write_small

    made = {"life": "", "through": 1, "folder": "..", "made": "", "into": "", "of": ["passwd"]}
    write_small(tmp_path / ".p.compacted", "narrows-compacted-1", made)
    with pytest.raises(NarrowsError, match="names files of others"):
        compact(_target(tmp_path, "json"), LARGE)
