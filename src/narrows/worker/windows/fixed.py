"""Tumbling and hopping windows.

A row's place is its *pane*: the stretch of time that is in the same windows throughout. Windows of
60 seconds, one every 20, have panes of 20, each of which is in three windows; a tumbling window is
one pane. So a row is kept once, and counted in several windows when these close:

    panes      |  p  |  q  |  r  |  s  |
    windows    '-----------------'              p + q + r, when the watermark has passed its end
                     '-----------------'        q + r + s
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np
import pyarrow as pa

from narrows.worker.windows.cut import Placed, Times, fold_equal, place_columns
from narrows.worker.windows.kept import Kept


@dataclass(frozen=True)
class FixedCut:
    size: int
    hop: int

    places = 1
    grows = False

    @cached_property
    def _pane(self) -> int:
        return gcd(self.size, self.hop)

    def placed(self, rows: pa.RecordBatch, times: Times, since: int) -> Placed:
        panes = times // self._pane * self._pane
        late = sum(
            int(np.count_nonzero(is_in & (ends <= since))) for ends, is_in in self._windows(panes)
        )
        if late:
            kept = self._last_ends(panes) > since
            rows, panes = rows.filter(pa.array(kept)), panes[kept]
        named = [*rows.schema.names, "place0"]
        return Placed(pa.RecordBatch.from_arrays([*rows.columns, pa.array(panes)], named), late)

    def fold(self, what: Kept, groups: pa.Table) -> pa.Table:
        return fold_equal(what, 1, groups)

    def closed(self, what: Kept, groups: pa.Table, since: int, until: int) -> pa.Table:
        (panes,) = place_columns(what, 1, groups)
        parts = []
        for ends, is_in in self._windows(panes):
            chosen = is_in & (ends > since) & (ends <= until)
            if chosen.any():
                whole = bool(chosen.all())
                rows = groups if whole else groups.filter(pa.array(chosen))
                starts = (ends if whole else ends[chosen]) - self.size
                parts.append(_placed_at(what, rows, starts))
        if not parts:
            return _with_ends(what, groups.slice(0, 0), self.size)
        together = parts[0] if len(parts) == 1 else pa.concat_tables(parts)
        return _with_ends(what, self.fold(what, together), self.size)

    def open(self, what: Kept, groups: pa.Table, until: int) -> pa.Table:
        (panes,) = place_columns(what, 1, groups)
        return self.fold(what, groups.filter(pa.array(self._last_ends(panes) > until)))

    def first_end(self, places: list[Times]) -> int:
        pane = int(places[0].min())
        starts = range(pane // self.hop * self.hop, pane - self.size, -self.hop)
        return starts[-1] + self.size

    def last_end(self, places: list[Times]) -> int:
        return int(self._last_ends(places[0]).max())

    def may_close(self, first_end: int, last_end: int, since: int, until: int) -> bool:
        ends_between = (until - self.size) // self.hop > (since - self.size) // self.hop
        return ends_between and first_end <= until and last_end > since

    def _last_ends(self, panes: Times) -> Times:
        """When the last window of each pane is over."""
        return panes // self.hop * self.hop + self.size

    def _windows(self, panes: Times) -> list[tuple[Times, np.ndarray]]:
        """The windows of each pane, from the last one: their ends, and whether it is in them."""
        last = self._last_ends(panes)
        found = []
        for number in range(-(-self.size // self.hop)):
            ends = last - number * self.hop
            found.append((ends, ends > panes))
        return found


def _placed_at(what: Kept, groups: pa.Table, places: Times) -> pa.Table:
    """The groups with other places."""
    place = len(what.keys)
    return groups.set_column(place, groups.field(place), pa.array(places))


def _with_ends(what: Kept, groups: pa.Table, size: int) -> pa.Table:
    """The groups of whole windows, whose places are starts, with their ends behind those."""
    (starts,) = place_columns(what, 1, groups)
    return groups.add_column(len(what.keys) + 1, "place1", pa.array(starts + size))
