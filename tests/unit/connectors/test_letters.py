"""Rows that a sink set aside, counted for whoever looks at progress."""

from __future__ import annotations

from pathlib import Path

from narrows.connectors.letters import PublishedLetters
from narrows.files.output_names import BatchFiles, unpublished_name


def write(folder: Path, pipeline: str, batch: int, rows: int) -> None:
    (folder / BatchFiles(pipeline, batch, ".ndjson").name(0)).write_text("{}\n" * rows)


def test_letters_of_a_pipeline_are_counted(tmp_path: Path) -> None:
    letters = PublishedLetters(tmp_path / "none", "p")
    assert letters.count() == 0
    letters = PublishedLetters(tmp_path, "p")
    write(tmp_path, "p", 0, 2)
    write(tmp_path, "p", 7, 3)
    write(tmp_path, "p-0000000000", 7, 100)  # another pipeline
    (tmp_path / unpublished_name("p")).write_text("{}\n")
    assert letters.count() == letters.count() == 5
    write(tmp_path, "p", 7, 1)  # the batch is run again
    assert letters.count() == 3
    (tmp_path / BatchFiles("p", 0, ".ndjson").name(0)).unlink()
    assert letters.count() == 1
