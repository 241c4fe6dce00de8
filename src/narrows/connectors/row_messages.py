"""Rows as messages, for sinks that send one for each: a batch of messages at a time.

A row of which no message can be made, or whose message nobody would take, is set aside with the
reason (`letters.py`), and the others go on: whoever sends them can rely on it that a message by
itself is no problem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from narrows.connectors.letters import RowLetters
from narrows.connectors.row_columns import row_columns
from narrows.connectors.target import SinkTarget
from narrows.formats.base import find_format
from narrows.formats.encoder import MessageEncoder

_PIECE_ROWS = 16_384

Refuse = Callable[[pa.Array, str], None]
"""Called with which messages - a BOOLEAN for each - cannot be sent, and why."""


class RowMessages(ABC):
    """Makes the messages of a task."""

    def __init__(self, target: SinkTarget, letters: RowLetters) -> None:
        encoder = find_format(target.format).encoder(dict(target.options))
        assert isinstance(encoder, MessageEncoder), "the declaration says so"
        self._encoder = encoder
        self._target = target
        self._letters = letters

    @abstractmethod
    def make(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """A message for each row; raises ValueError if one cannot be made."""

    @abstractmethod
    def check(self, made: pa.RecordBatch, refuse: Refuse) -> None:
        """Says which of the messages cannot be sent. Of several reasons the first counts."""

    def messages(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for start in range(0, rows.num_rows, _PIECE_ROWS):
            yield from self._made(rows.slice(start, _PIECE_ROWS))

    def payloads(self, rows: pa.RecordBatch) -> pa.Array:
        """The rows as the sink's format has them."""
        return self._encoder.messages(row_columns(self._target.parts, rows)).cast(pa.binary())

    def _made(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        try:
            made = self.make(rows)
        except ValueError as error:
            if rows.num_rows == 1:
                self._letters.add(rows, str(error))
                return
            half = rows.num_rows // 2
            yield from self._made(rows.slice(0, half))
            yield from self._made(rows.slice(half))
            return
        refused: dict[int, str] = {}

        def refuse(which: pa.Array, reason: str) -> None:
            for place in pc.indices_nonzero(which.fill_null(False)).to_pylist():
                refused.setdefault(place, reason)

        self.check(made, refuse)
        for place, reason in sorted(refused.items()):
            self._letters.add(rows.slice(place, 1), reason)
        if refused:
            good = [place for place in range(made.num_rows) if place not in refused]
            made = made.take(pa.array(good, pa.int64()))
        if made.num_rows:
            yield made
