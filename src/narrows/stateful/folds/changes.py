"""Groups that never end: what a group was before some rows came, and what it is now.

    rows  (a, 1)   ->  insert  a, 1
    rows  (a, 2)   ->  retract a, 1;  insert a, 3         SELECT k, sum(x) ... GROUP BY k
    rows  (a, 0)   ->  nothing has changed

Nothing is kept beside what the folds hold: what a group was follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from narrows.stateful.folds.fold import Folding
from narrows.stateful.rows import WindowRow
from narrows.stateful.values import Value, same

INSERT, RETRACT = "insert", "retract"


def changed_group(
    folding: Folding, stored: Any, rows: Sequence[WindowRow]
) -> tuple[Any, list[tuple[Value, ...]]]:
    """What is kept of a group after some more of its rows, and the rows that say what has changed:
    keys, results, and what is done with them. `stored` is None for a group that is new."""
    groups = {} if stored is None else folding.loaded(stored)
    before = folding.results(groups)
    for row in rows:
        folding.add(groups, row)
    after = folding.results(groups)
    if not before:
        changes = [(*values, INSERT) for values in after]
    elif same(before[0], after[0]):
        changes = []
    else:
        changes = [(*before[0], RETRACT), (*after[0], INSERT)]
    return folding.stored(groups), changes
