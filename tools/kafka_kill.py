"""Topic to topic with `exactly_once`, and everything is killed meanwhile.

    python tools/kafka_kill.py --kills 12 --restarts 3 [--seed 7] [--folder ...]

Five pipelines read one topic: one whose readers write, one of low latency, one that computes, one
on a shared stream, and one with windows, which shuffles and keeps state. While messages come in,
the driver or a worker is killed again and again (SIGKILL), and the broker is killed or stopped, and
started again. At the end a reader of committed messages must find in each topic every row once, and
the rows of a key in their order; of the windows, each once, and with all its rows. It fails with
what it found instead.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kafka_broker import Broker
from kafka_kill_rows import (
    DEADLINE,
    KEYS,
    PARTITIONS,
    WINDOW,
    WrongRowsError,
    check_rows,
    check_windows,
    consumer_of,
    places,
)

SQL = """
CREATE STREAM s (id BIGINT, k STRING, more STRING) WITH (connector = 'kafka',
  brokers = '{brokers}', topic = 'in', format = 'json', start_at = 'earliest',
  max_messages_per_trigger = {at_once});
CREATE STREAM t (id BIGINT, k STRING, more STRING) WITH (connector = 'kafka',
  brokers = '{brokers}', topic = 'in', format = 'json', start_at = 'earliest',
  max_messages_per_trigger = {at_once}, shared = true);
CREATE STREAM u (id BIGINT, k STRING, more STRING) WITH (connector = 'kafka',
  brokers = '{brokers}', topic = 'in', format = 'json', start_at = 'earliest',
  max_messages_per_trigger = {at_once}, eventtime = 'id', eventtime_unit = 's',
  watermark = '{late} seconds');
CREATE SINK copied WITH (connector = 'kafka', brokers = '{brokers}', topic = 'copied',
  key = 'k', exactly_once = true);
CREATE SINK computed WITH (connector = 'kafka', brokers = '{brokers}', topic = 'computed',
  key = 'k', exactly_once = true);
CREATE SINK shared WITH (connector = 'kafka', brokers = '{brokers}', topic = 'shared',
  key = 'k', exactly_once = true, headers = '{{"id": "{{id}}"}}');
CREATE SINK windows WITH (connector = 'kafka', brokers = '{brokers}', topic = 'windows',
  key = 'k', exactly_once = true);
CREATE SINK quick WITH (connector = 'kafka', brokers = '{brokers}', topic = 'quick',
  key = 'k', exactly_once = true);
CREATE PIPELINE p INTO copied AS SELECT id, k FROM s;
CREATE PIPELINE l INTO quick WITH (latency = 'low') AS SELECT id, k FROM s;
CREATE PIPELINE q INTO computed AS SELECT id, upper(k) AS k, id * 10 AS c FROM s WHERE id >= 0;
CREATE PIPELINE r INTO shared AS SELECT id, k, more FROM t;
CREATE PIPELINE w INTO windows AS SELECT k, count(*) AS n, min(id) AS low, max(id) AS high FROM u
  GROUP BY k, tumblingwindow('ss', {window});
"""
TOPICS = ("copied", "quick", "computed", "shared")
WINDOWS = "windows"
AT_ONCE = 400
LATE = 2_000
"""By how many ids a partition may be behind another."""


class Kill:
    def __init__(self, folder: Path, seed: int = 7) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.broker = Broker(folder / "broker")
        self.put = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.looking: Consumer | None = None
        self.done: list[str] = []

    def run(self, kills: int, restarts: int, rows: int) -> list[str]:
        """Does all of it, and answers what was killed."""
        killings: list[Callable[[], None]] = [
            self._kill_driver if number % 2 == 0 else self._kill_worker for number in range(kills)
        ]
        for number in range(restarts):
            place = (number + 1) * len(killings) // restarts
            killings.insert(place, self._restart_broker)
        self.broker.start()
        try:
            self._make_topics()
            (self.folder / "p.sql").write_text(
                SQL.format(brokers=self.broker.address, at_once=AT_ONCE, window=WINDOW, late=LATE),
                "utf-8",
            )
            for kill in killings:
                before = self._ends()
                self._produce(rows // (len(killings) + 1))
                if self.process is None or self.process.poll() is not None:
                    self.process = self._start()
                self._await_growth(before)
                threading.Event().wait(self.chance.uniform(0, 1.0))  # some moment of a batch
                kill()
                print(self.done[-1], "rows so far:", self.put, flush=True)
            self._produce(rows - self.put)
            self._end_process()
            self._finish()
            for topic in TOPICS:
                check_rows(self.broker.address, topic, self.put)
            check_windows(self.broker.address, WINDOWS, self.put)
        finally:
            self._end_process()
            if self.looking is not None:
                self.looking.close()
            self.broker.kill()
        return self.done

    # --- killing ----------------------------------------------------------------------------------

    def _kill_driver(self) -> None:
        self._end_process()
        self.done.append("driver killed")

    def _kill_worker(self) -> None:
        """One of the processes that Spark has forked to run Python."""
        assert self.process is not None
        workers = list(_python_workers(self.process.pid))
        if not workers:
            self._kill_driver()
            return
        for pid in workers[: self.chance.randint(1, len(workers))]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.done.append("workers killed")

    def _restart_broker(self) -> None:
        if self.chance.random() < 0.5:
            self.broker.kill()
        else:
            self.broker.stop()
        self.broker.start()
        self.done.append("broker restarted")

    def _end_process(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    # --- the pipelines ----------------------------------------------------------------------------

    def _start(self, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "narrows", "run", str(self.folder / "p.sql"), *options]
        settings = ["--state", str(self.folder / "state"), "--master", "local[3]"]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [*command, *settings, "--trigger", "0 seconds"],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _finish(self) -> None:
        """Everything that is there, to its end; as often as it fails for reasons that pass."""
        for _ in range(3):
            self.process = self._start("--once")
            if self.process.wait(2 * DEADLINE) == 0:
                return
        raise WrongRowsError(f"it does not end well: see {self.folder / 'log'}")

    def _await_growth(self, before: dict[str, int]) -> None:
        """Some topics have grown, by chance; so others are killed in their first batch at times."""
        wanted = self.chance.sample(TOPICS, self.chance.randint(1, len(TOPICS)))
        deadline = time.monotonic() + DEADLINE
        while True:
            now = self._ends()
            if all(now[topic] > before[topic] for topic in wanted):
                return
            if self.process is None or self.process.poll() is not None:
                self.process = self._start()
            if time.monotonic() > deadline:
                raise WrongRowsError(f"no rows in {wanted}: see {self.folder / 'log'}")
            threading.Event().wait(0.3)

    # --- topics -----------------------------------------------------------------------------------

    def _make_topics(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.broker.address})
        made = admin.create_topics(
            [NewTopic(name, PARTITIONS, 1) for name in ("in", WINDOWS, *TOPICS)]
        )
        for future in made.values():
            future.result(DEADLINE)

    def _produce(self, count: int) -> None:
        producer = Producer({"bootstrap.servers": self.broker.address, "enable.idempotence": True})
        for number in range(self.put, self.put + count):
            key = f"k{number % KEYS}"
            row = {"id": number, "k": key, "more": "x" * self.chance.randint(0, 300)}
            producer.produce("in", json.dumps(row), key)
        if producer.flush(DEADLINE):
            raise WrongRowsError("the broker does not take the input")
        self.put += count

    def _ends(self) -> dict[str, int]:
        """How far topics reach; a broker that has just started knows that after a while."""
        deadline = time.monotonic() + DEADLINE
        if self.looking is None:
            self.looking = consumer_of(self.broker.address)
        while True:
            try:
                return {topic: _end(self.looking, topic) for topic in TOPICS}
            except KafkaException:
                if time.monotonic() > deadline:
                    raise
                threading.Event().wait(0.5)


def _end(consumer: Consumer, topic: str) -> int:
    ends = [consumer.get_watermark_offsets(place, 10.0) for place in places(topic)]
    return sum(end for _, end in filter(None, ends))


def _python_workers(driver: int) -> Iterator[int]:
    """Children of the daemon that Spark forks workers from, below this process."""
    below = {driver}
    parents = dict(_parents())
    for _ in range(6):
        below |= {pid for pid, parent in parents.items() if parent in below}
    for pid in sorted(below):
        parent = parents.get(pid, 0)
        if _is_daemon(pid) and _is_daemon(parent):
            yield pid


def _parents() -> Iterator[tuple[int, int]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError, ValueError):
                yield (
                    int(folder.name),
                    int((folder / "stat").read_text().rpartition(")")[2].split()[1]),
                )


def _is_daemon(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"pyspark.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description="Kills pipelines and the broker, counts rows.")
    parser.add_argument("--kills", type=int, default=12, help="of driver and workers, in turns")
    parser.add_argument("--restarts", type=int, default=3, help="of the broker")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where to leave everything; scratch if none")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        done = Kill(folder.absolute(), given.seed).run(given.kills, given.restarts, given.rows)
    print(f"{len(done)} times: {', '.join(done)}")


if __name__ == "__main__":
    main()
