"""Session windows: rows of a key, each no further from the one before than a gap.

A group's place is the session that it is so far: when its first row came, and when it is over if no
other comes. Two of a key that touch are one, which may touch a third:

    [-----)   [--------)                          two sessions, one gap and more apart
          [------)                                a row between them came late: all three are one
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from narrows.arrow.key_hash import key_numbers
from narrows.worker.partial_aggregator import fold_by
from narrows.worker.windows.cut import Placed, Times, place_columns
from narrows.worker.windows.kept import Kept, KeptRows


@dataclass(frozen=True)
class SessionCut:
    gap: int

    places = 2
    grows = True

    def placed(self, rows: pa.RecordBatch, times: Times, since: int) -> Placed:
        ends = times + self.gap
        kept = ends > since
        late = int(np.count_nonzero(~kept))
        if late:
            rows, times, ends = rows.filter(pa.array(kept)), times[kept], ends[kept]
        named = [*rows.schema.names, "place0", "place1"]
        columns = [*rows.columns, pa.array(times), pa.array(ends)]
        return Placed(pa.RecordBatch.from_arrays(columns, named), late)

    def fold(self, what: Kept, groups: pa.Table) -> pa.Table:
        if not groups.num_rows:
            return groups
        width = len(what.keys)
        columns = [column.combine_chunks() for column in groups.columns[:width]]
        keys = key_numbers(columns, groups.num_rows)
        starts, ends = place_columns(what, 2, groups)
        order = np.lexsort((starts, keys))
        keys, starts, ends = keys[order], starts[order], ends[order]
        begins = np.ones(len(keys), np.bool_)
        begins[1:] = (keys[1:] != keys[:-1]) | (starts[1:] > _ends_so_far(keys, ends)[:-1])
        if begins.all():
            return groups
        first, sessions = np.flatnonzero(begins), np.cumsum(begins) - 1
        starts, ends = starts[first], np.maximum.reduceat(ends, first)
        if isinstance(what, KeptRows):
            back = np.argsort(order)  # rows stay where they are, for they may be long
            bounds = [pa.array(each[sessions][back]) for each in (starts, ends)]
            columns = [*groups.columns[:width], *bounds, *groups.columns[width + 2 :]]
            return pa.table(columns, groups.column_names)
        sorted_groups = groups.take(pa.array(order))
        parts = pa.table(
            [pa.array(sessions), *sorted_groups.columns[width + 2 :]], ["s", *what.names[width:]]
        )
        folded = fold_by(1, what.folds, parts).columns[1:]
        columns = [
            *sorted_groups.select(range(width)).take(pa.array(first)).columns,
            pa.array(starts),
            pa.array(ends),
            *folded,
        ]
        return pa.table(columns, groups.column_names)

    def closed(self, what: Kept, groups: pa.Table, since: int, until: int) -> pa.Table:
        merged = self.fold(what, groups)
        return merged.filter(pa.array(place_columns(what, 2, merged)[1] <= until))

    def open(self, what: Kept, groups: pa.Table, until: int) -> pa.Table:
        merged = self.fold(what, groups)
        return merged.filter(pa.array(place_columns(what, 2, merged)[1] > until))

    def first_end(self, places: list[Times]) -> int:
        return int(places[1].min())

    def last_end(self, places: list[Times]) -> int:
        return int(places[1].max())

    def may_close(self, first_end: int, last_end: int, since: int, until: int) -> bool:
        return first_end <= until


def _ends_so_far(keys: Times, ends: Times) -> Times:
    """For each row the latest end of a row of its key, up to there; keys are in order."""
    order = np.argsort(ends, kind="stable")
    ranks = np.empty(len(ends), np.int64)
    ranks[order] = np.arange(len(ends))
    # A later key's numbers are larger than all of an earlier one.
    latest = np.maximum.accumulate(keys * len(ends) + ranks) % len(ends)
    return np.asarray(ends[order[latest]])
