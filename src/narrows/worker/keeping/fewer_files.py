"""Which files of groups are merged, so that there are never many.

Files of a level are merged to the next one when there are many, so a group is written again as
often as there are digits in the number of steps, about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from narrows.worker.keeping.steps import GroupsFile

_MANY_FILES = 24
_SOME_FILES, _LARGE = 4, 50_000
"""So many are many already, if they have so many groups."""


def with_fewer(
    files: Sequence[GroupsFile],
    are_many: Callable[[Sequence[GroupsFile]], bool],
    merged: Callable[[tuple[GroupsFile, ...], int], Sequence[GroupsFile]],
) -> Sequence[GroupsFile]:
    """The files, with many of one level merged to few of the next. Those of lower levels go along,
    for they are younger: files stay in the order of their rows."""
    for level in sorted({file.level for file in files}):
        if are_many([file for file in files if file.level == level]):
            some = tuple(file for file in files if file.level <= level)
            return [*(f for f in files if f.level > level), *merged(some, level + 1)]
    return files


def are_many_to_search(files: Sequence[GroupsFile]) -> bool:
    """How many are many goes by what is in them, where keys are looked for in all of them. To look
    into a small file takes no time, and to merge it takes a job; in a large one many keys are
    looked for."""
    # What was merged together has no key in common, however many tasks did it.
    apart = len({file.made if file.level else file.name for file in files})
    return apart > _MANY_FILES or (
        apart > _SOME_FILES and sum(file.rows for file in files) > _LARGE
    )
