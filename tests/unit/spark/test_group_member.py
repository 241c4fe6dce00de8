"""What a grouped pipeline's job reads, over crashes; no Spark runs."""

from __future__ import annotations

from pathlib import Path

from narrows.connectors.target import WriteSpec
from narrows.spark.shared.group_member import Member


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
