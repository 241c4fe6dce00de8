"""What a grouped pipeline's job reads, over crashes; no Spark runs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from narrows.connectors.target import WriteSpec
from narrows.spark.shared.group_member import Member, _read


def _member(folder: Path, position: int) -> Member:
    def never(partitions: int) -> None:
        raise AssertionError

    return Member("p", WriteSpec(()), never, folder / "p.json", position)  # type: ignore[arg-type]


def test_a_job_that_is_run_again_reads_the_same_entries(tmp_path: Path) -> None:
    """A sink may have taken them, under the number of the first."""
    assert _member(tmp_path, 3).plan_task(5) == 5
    assert _member(tmp_path, 3).plan_task(9) == 5  # after a crash, when more has come
    assert _member(tmp_path, 5).plan_task(9) == 9


def test_a_pipeline_that_begins_elsewhere_plans_anew(tmp_path: Path) -> None:
    assert _member(tmp_path, 3).plan_task(5) == 5
    assert _member(tmp_path, -1).plan_task(2) == 2
    assert _member(tmp_path, 3).plan_task(4) == 4


def test_who_has_left_reads_nothing_until_it_begins_again(tmp_path: Path) -> None:
    member = _member(tmp_path, 3)
    member.plan_task(5)
    numbers = pa.RecordBatch.from_arrays([pa.array([0])], names=["id"])
    member.leave()
    assert member.gone.is_set()
    assert list(_read(None, member.tasks, 1, iter([numbers]))) == []  # type: ignore[arg-type]
    member.begin()
    assert not member.gone.is_set()
    assert member.plan_task(9) == 5, "what it was to read stays planned"
    with pytest.raises(AttributeError):  # it would read, if there were anything to read
        list(_read(None, member.tasks, 1, iter([numbers])))  # type: ignore[arg-type]
