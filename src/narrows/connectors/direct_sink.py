"""A sink whose tasks send their rows themselves: at least once.

A task ends when everything that it sent has been acknowledged. What it sent cannot be taken back;
so a batch that is run again sends its rows again. What the driver publishes are the letters.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from narrows.connectors.base import Receipt, SinkConnector, SinkTask
from narrows.connectors.letters import RowLetters, publish_letters, remove, sweep_unpublished
from narrows.connectors.target import SinkTarget


class DirectSink(SinkConnector):
    def __init__(self, target: SinkTarget) -> None:
        self._target = target

    @abstractmethod
    def open_task(self, batch: int, task: int) -> SinkTask:
        """Its receipt is `receipt_of` its letters."""

    def publish(self, batch: int, receipts: Sequence[Receipt]) -> None:
        publish_letters(self._target, batch, [file for letters in receipts for file in letters])

    def discard(self, receipts: Sequence[Receipt]) -> None:
        for letters in receipts:
            remove(letters)

    def sweep(self) -> None:
        sweep_unpublished(self._target.dead_letters, self._target.pipeline)


def receipt_of(letters: RowLetters) -> Receipt:
    """What a task tells the driver, when all is sent."""
    letters.close()
    return letters.written
