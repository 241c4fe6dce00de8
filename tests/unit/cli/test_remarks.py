"""Bad input is not passed over in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from narrows.cli.remarks import print_refused, print_remarks, remarks
from narrows.planner.catalog import Catalog
from narrows.sql.scope import Name
from narrows.state.folder import StateFolder
from narrows.worker.count_files import CountsPart, total_counts
from narrows.worker.counts import ReadCounts


def _remarks(tmp_path: Path, counts: ReadCounts, on_error: str = "dead_letter") -> list[str]:
    catalog = Catalog()
    catalog.execute(
        f"CREATE STREAM s (a INT) WITH (connector = 'file', path = 'x', on_error = '{on_error}')"
    )
    return list(remarks(catalog.find_source(Name("s", None)), StateFolder(tmp_path), counts))


def test_nothing_is_said_of_good_input(tmp_path: Path) -> None:
    assert _remarks(tmp_path, ReadCounts(payloads=5)) == []


def test_bad_payloads_and_where_they_are(tmp_path: Path) -> None:
    (line,) = _remarks(tmp_path, ReadCounts(payloads=5, bad=1))
    assert line == (
        "warning: 1 of 5 payloads of `s` could not be read:"
        f" see `narrows dead-letters s --state {tmp_path}`"
    )


def test_dropped_payloads_are_nowhere(tmp_path: Path) -> None:
    (line,) = _remarks(tmp_path, ReadCounts(payloads=5, bad=5), "drop")
    assert line.endswith("could not be read, and nobody keeps them: `on_error = 'drop'`")


def test_values_of_the_wrong_type(tmp_path: Path) -> None:
    (line,) = _remarks(tmp_path, ReadCounts(payloads=5, mistyped=2))
    assert line == "warning: 2 values of `s` are not of the declared type: read as NULL"


@pytest.mark.parametrize("payloads", [4, 40])
def test_a_hint_where_most_are_bad(tmp_path: Path, payloads: int) -> None:
    folder = StateFolder(tmp_path).dead_letters("s")
    folder.mkdir(parents=True)
    letters = [{"payload": line} for line in ("{", '  "a": 1,', '  "b": 2', "}")]
    text = "".join(json.dumps(letter) + "\n" for letter in letters)
    (folder / "x.ndjson").write_text(text, "utf-8")
    lines = _remarks(tmp_path, ReadCounts(payloads=payloads, bad=4))
    assert any("over several lines" in line for line in lines) == (payloads == 4)


def test_late_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_remarks(Catalog(), StateFolder(tmp_path), {}, {"p": 2, "q": 0})
    said = "warning: 2 rows of pipeline `p` came too late for their windows\n"
    assert capsys.readouterr().err == said


def test_what_was_counted_before_is_not_new(tmp_path: Path) -> None:
    CountsPart(str(tmp_path), 0, "a").add(ReadCounts(payloads=3, bad=1))
    before = total_counts(tmp_path)
    CountsPart(str(tmp_path), 0, "b").add(ReadCounts(payloads=4))
    assert total_counts(tmp_path).since(before) == ReadCounts(payloads=4)


def test_rows_that_a_sink_could_not_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_refused(StateFolder(tmp_path), "p", "out", 0)
    print_refused(StateFolder(tmp_path), "p", "out", 2)
    assert capsys.readouterr().err == (
        "warning: 2 rows of pipeline `p` could not be written to `out`:"
        f" see `narrows dead-letters out --state {tmp_path}`\n"
    )
