"""The exactly-once sink of Kafka without Kafka: drivers, zombies, crashes at every step.

A broker is a log of transactions and an epoch for the transactional id, as Kafka promises them:
who takes the id bumps the epoch and settles what is open; who has an older epoch is refused.
Drivers run batches as Spark does: a batch is committed in the checkpoint after it is published, and
is run again with the same number, but with other rows in other tasks, if that did not happen.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from narrows.connectors.kafka.sink.once import OncePublisher
from narrows.errors import NarrowsError

Row = tuple[int, int]
"""The batch, and in which of its runs the row was made."""

STEPS = ("none", "take", "read", "begin", "middle", "end", "unknown: no", "unknown: yes", "after")
"""Where a driver is killed, or loses its connection."""


class CrashError(Exception):
    pass


class FencedError(Exception):
    pass


class FakeBroker:
    def __init__(self) -> None:
        self.epoch = 0
        self.open: list[Row] | None = None
        self.visible: list[Row] = []
        self.token: int | None = None


class FakeTransactions:
    """What `KafkaTransactions` does, with a crash at one step."""

    def __init__(self, broker: FakeBroker, crash: str) -> None:
        self.crash = crash
        self._broker = broker
        broker.epoch += 1
        broker.open = None  # aborted
        self._epoch = broker.epoch
        self._die("take")
        self.newest = broker.token
        self._die("read")

    def commit(self, batch: int, messages: Iterable[Row]) -> None:
        self._fence()
        self._die("begin")
        self._broker.open = []
        for message in messages:
            self._fence()
            self._broker.open.append(message)
            self._die("middle")
        self._fence()
        self._die("end")
        self._die("unknown: no")
        self._broker.visible += self._broker.open
        self._broker.open, self._broker.token = None, batch
        self._die("unknown: yes")

    def close(self) -> None:
        """The broker may not hear of it."""

    def _fence(self) -> None:
        if self._epoch != self._broker.epoch:
            raise FencedError

    def _die(self, step: str) -> None:
        if self.crash == step:
            raise CrashError(step)


class Driver:
    """A process; what it knows dies with it."""

    def __init__(self, broker: FakeBroker) -> None:
        self.crash = "none"
        self._last: FakeTransactions | None = None
        self._broker = broker
        self.publisher: OncePublisher[Row] = OncePublisher("out", self._take)

    def _take(self) -> FakeTransactions:
        self._last = FakeTransactions(self._broker, self.crash)
        return self._last

    def publish(self, batch: int, rows: list[Row], crash: str) -> None:
        self.crash = crash
        if self._last is not None:
            self._last.crash = crash
        self.publisher.publish(batch, rows)
        if crash == "after":
            raise CrashError("after")


class OnceMachine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.broker = FakeBroker()
        self.batch = 0
        """The first that the checkpoint does not have."""
        self.runs = 0
        self.drivers = [Driver(self.broker), Driver(self.broker)]
        """Two that both think that the pipeline is theirs, on one checkpoint."""

    @rule(
        which=st.integers(0, 1),
        crash=st.sampled_from(STEPS),
        rows=st.integers(0, 4),
        restarts=st.booleans(),
    )
    def run_batch(self, which: int, crash: str, rows: int, restarts: bool) -> None:
        self.runs += 1
        made = [(self.batch, self.runs)] * (rows + 1)
        try:
            self.drivers[which].publish(self.batch, made, crash)
        except (CrashError, FencedError):
            if restarts:
                self.drivers[which] = Driver(self.broker)
        else:
            self.batch += 1

    @rule(which=st.integers(0, 1), back=st.integers(0, 3), rows=st.integers(0, 4))
    def run_a_batch_late(self, which: int, back: int, rows: int) -> None:
        """A zombie goes on with what it was at: an older batch."""
        self.runs += 1
        batch = max(0, self.batch - back)
        made = [(batch, self.runs)] * (rows + 1)
        try:
            self.drivers[which].publish(batch, made, "none")
        except (FencedError, NarrowsError):
            return
        self.batch = max(self.batch, batch + 1)

    @invariant()
    def every_batch_is_of_one_run(self) -> None:
        found: dict[int, set[int]] = {}
        for batch, run in self.broker.visible:
            found.setdefault(batch, set()).add(run)
        assert all(len(runs) == 1 for runs in found.values())
        assert list(dict.fromkeys(b for b, _ in self.broker.visible)) == sorted(found)

    @invariant()
    def what_the_checkpoint_has_is_there(self) -> None:
        assert {batch for batch, _ in self.broker.visible} >= set(range(self.batch))


OnceMachine.TestCase.settings = settings(max_examples=300, stateful_step_count=30, deadline=None)
TestOnce = OnceMachine.TestCase


@pytest.mark.parametrize("step", STEPS[1:])
def test_a_crash_at_each_step_and_the_next_run(step: str) -> None:
    broker = FakeBroker()
    Driver(broker).publish(0, [(0, 0)], "none")
    with pytest.raises(CrashError):
        Driver(broker).publish(1, [(1, 1), (1, 1)], step)
    Driver(broker).publish(1, [(1, 2)], "none")
    runs = [run for batch, run in broker.visible if batch == 1]
    assert runs == ([1, 1] if step in ("unknown: yes", "after") else [2])
