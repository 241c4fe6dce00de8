"""The files of a task: batches, rows that cannot be encoded, publishing and publishing again."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from narrows import Catalog
from narrows.connectors.target import RowPart, SinkTarget, WriteSpec
from narrows.formats.base import find_format
from narrows.worker.dead_letters import read_dead_letters
from narrows.worker.write import discard, publish, sweep, write_task
from support.packages import build_wheel, install

PICKY = """
from narrows.formats import Format


class PickyEncoder:
    def open(self, file):
        return PickyWriter(file)


class PickyWriter:
    def __init__(self, file):
        self._file = file

    def add(self, rows):
        values = rows[0].array.to_pylist()
        if 3 in values:
            raise ValueError("three is not to be written")
        self._file.write("".join(f"<{value}>" for value in values).encode())

    def close(self):
        self._file.write(b".")


FORMAT = Format(name="picky", sink_options=(), encoder=lambda options: PickyEncoder())
"""


@pytest.fixture
def picky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of a third party that brings an encoder, found by its entry point."""
    points = {"narrows.formats": {"picky": "picky_format:FORMAT"}}
    wheel = build_wheel(tmp_path, "picky", {"picky_format.py": PICKY}, points)
    install(wheel, tmp_path / "site", monkeypatch)


def target(folder: Path, pipeline: str = "p", **changes: object) -> SinkTarget:
    fields = {
        "pipeline": pipeline,
        "sink": "out",
        "connector": "file",
        "place": str(folder / "out"),
        "format": "json",
        "options": (),
        "parts": (RowPart("o0", "id"), RowPart("o1", "t")),
        "dead_letters": str(folder / "dead"),
        **changes,
    }
    return SinkTarget(**fields)  # type: ignore[arg-type]


def rows(*ids: int) -> pa.RecordBatch:
    texts = pa.array([f"t{i}" for i in ids])
    return pa.RecordBatch.from_arrays([pa.array(ids, pa.int64()), texts], names=["o0", "o1"])


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((folder / "out").iterdir())}


def test_a_package_brings_a_format_by_entry_point(picky: None) -> None:
    catalog = Catalog()
    catalog.execute("CREATE SINK s WITH (connector = 'file', path = 'p', format = 'picky')")
    assert not find_format("picky").supports_by_index_projection


@pytest.mark.parametrize("gathers", [False, True])
def test_a_row_that_cannot_be_encoded_is_a_dead_letter(
    picky: None, tmp_path: Path, gathers: bool
) -> None:
    spec = WriteSpec((target(tmp_path, format="picky", gathers=gathers),))
    written = write_task(spec, iter([rows(1, 2, 3, 4), rows(5)]))
    publish(spec, 7, [written])
    assert contents(tmp_path) == {"p-0000000007-00000.picky": "<1><2><4><5>."}
    (letter,) = read_dead_letters(tmp_path / "dead")
    assert letter["reason"] == "three is not to be written"
    assert json.loads(letter["payload"]) == {"id": "3", "t": "t3"}
    assert (letter["sink"], letter["pipeline"]) == ("out", "p")


@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize(("count", "sizes"), [(None, [5]), (2, [2, 2, 1]), (1, [1] * 5), (9, [5])])
def test_payloads_hold_so_many_rows_at_most(
    tmp_path: Path, gathers: bool, count: int | None, sizes: list[int]
) -> None:
    spec = WriteSpec((target(tmp_path, gathers=gathers, options=(("batch_count", count),)),))
    publish(spec, 0, [write_task(spec, iter([rows(1, 2, 3), rows(), rows(4, 5)]))])
    texts = list(contents(tmp_path).values())
    assert [len(text.splitlines()) for text in texts] == sizes
    ids = [json.loads(line)["id"] for text in texts for line in text.splitlines()]
    assert ids == [1, 2, 3, 4, 5]


def test_a_batch_that_is_written_again_replaces_itself(tmp_path: Path) -> None:
    spec = WriteSpec((target(tmp_path, options=(("batch_count", 1),)),))
    publish(spec, 0, [write_task(spec, iter([rows(1, 2)])), write_task(spec, iter([]))])
    publish(spec, 0, [write_task(spec, iter([rows(1)])), write_task(spec, iter([rows(2)]))])
    publish(spec, 1, [write_task(spec, iter([rows(9)]))])
    assert list(contents(tmp_path)) == [
        "p-0000000000-00000.json",
        "p-0000000000-00001.json",
        "p-0000000001-00000.json",
    ]


def test_nothing_is_left_of_a_failed_task(tmp_path: Path) -> None:
    spec = WriteSpec((target(tmp_path), target(tmp_path, place=str(tmp_path / "out2"))))

    def failing() -> object:
        yield rows(1)
        raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        write_task(spec, failing())  # type: ignore[arg-type]
    discard(spec, [write_task(spec, iter([rows(2)]))])
    assert contents(tmp_path) == {}
    assert list((tmp_path / "out2").iterdir()) == []


# --- several pipelines in one folder --------------------------------------------------------------

NAMES = (
    "p",
    "p-0000000000",
    "*",
    "[x]",
    "?",
    "p*",
    "../out",
    "..",
    "p-0000000000-00000",
    "_p",
    "\n",
)


def test_no_pipeline_removes_the_files_of_another(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    own = ("p-0000000000-00009.json.bak", "p-0000000000-x.json", "p-0000000000-9.json", "mine.json")
    for name in own:
        (tmp_path / "out" / name).write_text("the user's")
    for number, pipeline in enumerate(NAMES):
        spec = WriteSpec((target(tmp_path, pipeline, options=(("batch_count", 1),)),))
        for ids in ((number, 77), (number,)):  # the second time, what was 77 must go
            publish(spec, 0, [write_task(spec, iter([rows(*ids)]))])
    texts = contents(tmp_path)
    assert [texts.pop(name) for name in own] == ["the user's"] * len(own)
    written = sorted(json.loads(text)["id"] for text in texts.values())
    assert written == list(range(len(NAMES)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert "p-0000000000-00000.json" in texts


def test_dead_letters_of_sinks_are_told_apart_too(picky: None, tmp_path: Path) -> None:
    for pipeline in NAMES:
        spec = WriteSpec((target(tmp_path, pipeline, format="picky"),))
        for _ in range(2):
            publish(spec, 0, [write_task(spec, iter([rows(3)]))])
    letters = read_dead_letters(tmp_path / "dead")
    assert sorted(letter["pipeline"] for letter in letters) == sorted(NAMES)


def test_what_was_never_published_goes_with_its_own_pipeline(tmp_path: Path) -> None:
    specs = [WriteSpec((target(tmp_path, pipeline),)) for pipeline in NAMES]
    for number, spec in enumerate(specs):
        write_task(spec, iter([rows(number)]))
    own = ".p-notes.writing"
    (tmp_path / "out" / own).write_text("the user's")
    for number, spec in enumerate(specs):
        sweep(spec)
        left = contents(tmp_path)
        assert left.pop(own) == "the user's"
        ids = sorted(json.loads(text)["id"] for text in left.values())
        assert ids == list(range(number + 1, len(NAMES)))


def test_a_pipeline_in_another_case_is_the_same(tmp_path: Path) -> None:
    for name in ("Orders", "orders"):
        spec = WriteSpec((target(tmp_path, name),))
        publish(spec, 0, [write_task(spec, iter([rows(1)]))])
    assert list(contents(tmp_path)) == ["orders-0000000000-00000.json"]


def test_sinks_of_two_formats_in_one_folder(tmp_path: Path) -> None:
    spec = WriteSpec((target(tmp_path), target(tmp_path, format="csv", parts=(RowPart("o0"),))))
    publish(spec, 0, [write_task(spec, iter([rows(1)]))])
    assert list(contents(tmp_path)) == ["p-0000000000-00000.csv", "p-0000000000-00000.json"]
