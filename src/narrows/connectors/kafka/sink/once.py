"""Exactly once: when a batch is written, and why it is written once.

Tasks write no message. They stage what they would send in files, and the driver's publish sends
the staged messages of the whole batch, and a *token*, in ONE transaction:

    tasks      rows ─► messages ─► staged files ─► receipts
    driver     [ all staged messages, token: this sink of this pipeline's life ─► batch ]  committed

A batch whose token is there is not written again. That is all; and it holds whatever is killed:

* A transaction is committed as a whole or not at all, so the batch's messages are visible if and
  only if its token is. No other rows are: staged files are nobody's output.
* Who publishes first takes the *transactional id* of the sink. The broker then fences every earlier
  producer of that id - a driver that hangs, one that is cut off - and settles what it left: when
  taking it has succeeded, each earlier transaction is committed or aborted for good. Only then is
  the token read, up to the end of its topic. So it says what has happened, not what may happen yet.
* From then on the token is known without reading: only we write it, and if somebody else takes the
  id, our next transaction fails, and we begin with taking and reading again.
* A commit whose outcome is unknown (the connection is lost) is such a failure: the batch is run
  again, and the token tells.
* A batch that is run again has the same number and reads the same entry (`entry_log.py`; the job of
  a grouped pipeline, the same entries). What it computes need not be the same, row for row, and how
  many tasks there are, or which of them gets which row, is of no importance: either everything of
  the first run is visible and nothing of the second, or the other way round. Tokens of *tasks*
  would be wrong exactly there: behind a shuffle a task that is run again has other rows.
* Attempts of a task that fail, or that Spark runs twice, leave staged files that no receipt names.

A token that is *ahead* of the batch means that the state folder is older than the topic: a backup.
Which of its rows are in the topic cannot be told, so we stop. A pipeline that was reset begins a
new life (`StateFolder.life`), which has no token and no transactional id in common with the last.

Rows are sent in the order of tasks, and tasks are in the order of what they read
(`spark/read/marker_source.py`): so where a plan does not shuffle, rows of one partition of a source
that go to one partition of the topic stand there in the same order.

Here is the decision; Kafka's part is in `transactions.py`. `tests/property/
test_kafka_once_machine.py` plays drivers, zombies and crashes at every step against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from narrows.errors import Code, fail

M = TypeVar("M", contravariant=True)
T = TypeVar("T")


class Transactions(Protocol[M]):
    """The transactional id of a sink, taken."""

    newest: int | None
    """The batch that the token named when the id was taken; None if there was none."""

    def commit(self, batch: int, messages: Iterable[M]) -> None:
        """Sends the messages and the token of the batch in one transaction. If it raises, they may
        be committed or not: nothing more is to be sent, and the id has to be taken anew."""

    def close(self) -> None:
        """Gives up what may be open."""


class OncePublisher(Generic[T]):
    """Writes each batch of a sink once."""

    def __init__(self, sink: str, take: Callable[[], Transactions[T]]) -> None:
        self._sink = sink
        self._take = take
        self._taken: Transactions[T] | None = None
        self._newest: int | None = None

    def publish(self, batch: int, messages: Iterable[T]) -> bool:
        """Writes the batch, if it is not there yet; answers whether it had to."""
        if self._taken is None:
            self._taken = self._take()
            self._newest = self._taken.newest
        if self._newest is not None and self._newest >= batch:
            if self._newest > batch:
                raise self._state_is_older(batch, self._newest)
            return False
        try:
            self._taken.commit(batch, messages)
        except BaseException:
            self.close()
            raise
        self._newest = batch
        return True

    def close(self) -> None:
        """What was known is not known any more."""
        taken, self._taken, self._newest = self._taken, None, None
        if taken is not None:
            taken.close()

    def _state_is_older(self, batch: int, newest: int) -> Exception:
        return fail(
            Code.CHECKPOINT_MISMATCH,
            f"sink `{self._sink}` has batch {newest} already, and now batch {batch} is to be"
            " written: the state folder is older than the topic",
            hint="restore a newer state folder; or `narrows reset` the pipeline, which then reads"
            " everything again",
        )
