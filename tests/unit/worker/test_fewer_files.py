"""Files of groups that tasks keep: which of them are merged, and how often a group is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from narrows.worker.keeping.fewer_files import are_many_to_search, with_fewer
from narrows.worker.keeping.steps import GroupsFile


def _file(name: str, rows: int, level: int = 0, made: int = 0) -> GroupsFile:
    return GroupsFile(name, rows, 0, 0, 0, 0, level, made=made)


@pytest.mark.parametrize(("rows", "tasks"), [(1, 1), (1, 40), (100_000, 1), (100_000, 40)])
def test_what_is_kept_is_written_again_as_often_as_there_are_digits(rows: int, tasks: int) -> None:
    """Whether files are small or large, and however many tasks merge them: they leave one each."""
    steps, written, most = 2_000, 0, 0
    files: Sequence[GroupsFile] = ()
    for step in range(steps):

        def merged(some: tuple[GroupsFile, ...], level: int, step: int = step) -> list[GroupsFile]:
            nonlocal written
            total = sum(file.rows for file in some)
            written += total
            shares = [total * (task + 1) // tasks - total * task // tasks for task in range(tasks)]
            return [_file(f"{step}-{n}", share, level, step) for n, share in enumerate(shares)]

        files = with_fewer([*files, _file(str(step), rows)], are_many_to_search, merged)
        most = max(most, len({file.made if file.level else file.name for file in files}))
    assert sum(file.rows for file in files) == steps * rows
    digits = 3 if rows == 1 else 6
    assert steps * rows < written < digits * steps * rows
    assert most <= digits * (24 if rows == 1 else 4)


def test_files_stay_in_the_order_of_their_rows() -> None:
    """What is merged by levels has the oldest rows first, for aggregates that take the first."""
    files: Sequence[GroupsFile] = ()
    for step in range(1_000):

        def merged(some: tuple[GroupsFile, ...], level: int) -> list[GroupsFile]:
            names = [name for file in some for name in file.name.split()]
            return [_file(" ".join(names), len(names), level)]

        files = with_fewer([*files, _file(str(step), 1)], lambda some: len(some) > 3, merged)
        named = [int(name) for file in files for name in file.name.split()]
        assert named == list(range(step + 1))
