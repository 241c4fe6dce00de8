"""A damaged state folder is named, or heals: one way of damage for each kind of file. All ways are
tried by `tools/damage_state.py`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.damage import DAMAGES
from support.damaged_state import (
    BASE,
    GROUPS,
    KEYED,
    QUERIED,
    QUICK,
    WINDOWS,
    StateUnderTest,
    check_case,
)

KINDS = {
    f"checkpoints/{QUERIED}/metadata": "truncated",
    f"checkpoints/{QUERIED}/offsets/1": "flipped",
    f"checkpoints/{QUERIED}/commits/1": "truncated",
    f"checkpoints/{QUERIED}/commits/.1.crc": "flipped",
    f"checkpoints/{QUERIED}/sources/0/1": "flipped",
    f"entries/{BASE}/s/000000000001-000000000001.entries": "truncated",
    f"entries/{BASE}/s/position": "missing",
    f"entries/{QUICK}/s/position": "truncated",
    f"pipelines/{BASE}.json": "flipped",
    f"statistics/{BASE}/s/00000000000000000001-0.json": "emptied",
    "projections/c.json": "flipped",
    "tables/t.json": "truncated",
    f"windows/{WINDOWS}/steps/1.json": "flipped",
    f"windows/{GROUPS}/steps/1.json": "truncated",
    f"remembered/{KEYED}/0/steps/1.json": "flipped",
}
HEALS = {
    f"checkpoints/{QUERIED}/commits/1": "missing",
    f"newest/{WINDOWS}/e/0.json": "truncated",
    "version": "missing",
}


@pytest.fixture(scope="module")
def under_test(
    small_data: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> StateUnderTest:
    return StateUnderTest(small_data, tmp_path_factory.mktemp("state"))


def test_all_kinds_of_files_are_known(under_test: StateUnderTest) -> None:
    """Whoever keeps something new says here what becomes of it when it is damaged."""
    kinds = {kind.split("/")[0] for kind in under_test.kinds()}
    known = {"checkpoints", "entries", "pipelines", "statistics", "tables", "projections"}
    assert kinds - known == {
        "dead_letters",
        "lock",
        "newest",
        "remembered",
        "shared",
        "version",
        "windows",
    }


@pytest.mark.parametrize(("name", "way"), KINDS.items())
def test_damage_is_told_or_heals(under_test: StateUnderTest, name: str, way: str) -> None:
    said = check_case(under_test, name, DAMAGES[way])
    assert said == "healed" or said.startswith("told: ")


@pytest.mark.parametrize(("name", "way"), HEALS.items())
def test_what_heals(under_test: StateUnderTest, name: str, way: str) -> None:
    assert check_case(under_test, name, DAMAGES[way]) == "healed"


def test_dead_letters_are_told(under_test: StateUnderTest) -> None:
    (name, *_) = [kind for kind in under_test.kinds() if kind.startswith("dead_letters/s/")]
    damage: Callable[[Path], None] = DAMAGES["truncated"]
    assert check_case(under_test, name, damage).startswith("told: the file of dead letters")


@pytest.mark.parametrize(
    ("where", "way"),
    [
        (f"windows/{GROUPS}", "flipped"),
        (f"windows/{GROUPS}", "missing"),
        (f"remembered/{KEYED}/0", "flipped"),
        (f"remembered/{KEYED}/0", "truncated"),
    ],
)
def test_files_of_what_tasks_keep_are_told(
    under_test: StateUnderTest, where: str, way: str
) -> None:
    (name, *_) = [kind for kind in under_test.kinds() if kind.startswith(f"{where}/groups/")]
    said = check_case(under_test, name, DAMAGES[way])
    assert said.startswith("told: ")
    assert "the file with groups" in said
