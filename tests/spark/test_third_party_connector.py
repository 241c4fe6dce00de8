"""The connector of docs/connectors.md, installed as a package where Spark runs: workers read its
payloads and write its rows, and nothing else knows which connector it is."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from support import toy_run
from support.environments import environment, run_in
from support.toy_package import build_toy


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("toy")
    python = environment(folder / "env", build_toy(folder))
    assert importlib.util.find_spec("narrows_sqlite") is None, "it is installed there, not here"
    found: dict[str, Any] = json.loads(run_in(python, folder, toy_run.__file__).splitlines()[-1])
    return found


FIRST = range(8)
SECOND = (*FIRST, 20, 21, 22)


@pytest.mark.parametrize(("turn", "events"), [("first", FIRST), ("second", SECOND)])
def test_every_row_is_written_once(told: dict[str, Any], turn: str, events: range) -> None:
    written = told[turn]
    assert _values(written["copied"]) == [v for v in events if v >= 2]
    assert _values(written["computed"]) == [2 * v for v in events]
    assert {row["k"] for row in written["computed"]} == {"A", "B"}


def test_pipelines_share_a_stream(told: dict[str, Any]) -> None:
    written = told["second"]
    assert _values(written["plain"]) == [v for v in SECOND if v % 2 == 0]
    sums = sorted(written["sums"], key=lambda row: row["v"])
    assert [row["sum"] for row in sums] == [sum(SECOND[: at + 1]) for at in range(len(SECOND))]
    windows = [("a", 2), ("a", 4), ("b", 1), ("b", 4)]
    assert [(row["k"], row["n"]) for row in written["windows"]] == windows
    counts = told["progress"]["plain"]["shared"]["shared"]
    assert (counts["payloads"], counts["bad"], counts["lag"]) == (12, 1, 0)


def test_metadata_comes_with_rows_and_says_when_they_happened(told: dict[str, Any]) -> None:
    """The bad payload has number 6; a window is five numbers long."""
    ids = {v: number for number, v in enumerate([*range(5), None, *range(5, 8), 20, 21, 22], 1)}
    plain = told["second"]["plain"]
    assert sorted(row["_id"] for row in plain) == [ids[v] for v in SECOND if v % 2 == 0]
    arrivals = told["first"]["arrivals"]
    assert [(row["n"], row["last"]) for row in arrivals] == [(4, 4), (4, 9)]


def test_what_is_there_can_be_queried(told: dict[str, Any]) -> None:
    even, odd = [v for v in SECOND if v % 2 == 0], [v for v in SECOND if v % 2]
    assert told["queried"] == [["a", len(even), sum(even)], ["b", len(odd), sum(odd)]]


def test_letters_counts_and_lag(told: dict[str, Any]) -> None:
    """Two pipelines took the bad payload, each in portions of its own; it is one letter."""
    (letter,) = told["letters"]
    assert (letter["payload"], letter["id"]) == ('{"v": ', 6)
    progress = told["progress"]["computed"]
    assert progress["read"]["events"]["payloads"] == 12
    assert progress["read"]["events"]["bad"] == 1
    assert progress["lag"] == {"events": {"payloads": 0}}


def _values(rows: list[dict[str, Any]]) -> list[int]:
    return sorted(row["v"] for row in rows)
