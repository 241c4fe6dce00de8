"""How long a message takes to its row: with a job for each entry, and with `latency = 'low'`.

    python bench/latency.py [--messages 1000] [--rate 100] [--warm 200] [--only files|topics]

*files*: from the rename of a file with one document to its row in a file that is published.
*topics*: from handing a message to a producer to a consumer that has its row, over one broker.

Each side is a `narrows run --trigger '0 seconds'` of its own; messages come at a steady rate, and
those at the beginning, while the JVM is cold, are not counted. CPU is that of the whole run (Spark,
workers, driver) while the messages came, and once more while none did.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("tools", "tests")]
from kafka_broker import Broker
from support.processes import tree

PATIENCE = 300.0
IDLE_SECONDS = 5.0
_TICKS = os.sysconf("SC_CLK_TCK")
LOW, SHARED = "WITH (latency = 'low')", ", shared = true"
COPIED, COMPUTED, REMEMBERED = "n, t", "n, reverse(t) AS t", "n, acc_count(n) AS t"
DISTINCT = "DISTINCT n, t"
"""Of which Spark keeps something, by a streaming query."""


class Mode(NamedTuple):
    """Options of the stream and of the pipeline, and what is selected."""

    stream: str = ""
    pipeline: str = ""
    select: str = COPIED


MODES = {
    "its readers write": Mode(),
    "computed by Spark": Mode(select=COMPUTED),
    "functions that remember": Mode(select=REMEMBERED),
    "micro-batches": Mode(select=DISTINCT),
    "latency = 'low'": Mode(pipeline=LOW),
    "shared stream": Mode(SHARED),
    "shared stream, latency = 'low'": Mode(SHARED, LOW),
}


class Seen(NamedTuple):
    milliseconds: list[float]
    busy: float
    """Cores that were busy while messages came, and while none did."""
    idle: float


class Ends(ABC):
    """Where messages go in, and rows come out."""

    def __init__(self) -> None:
        self.seen: dict[int, float] = {}
        self.sent: dict[int, float] = {}
        self._stopped = threading.Event()

    @abstractmethod
    def statements(self, options: str) -> str:
        """A stream `s`, with these options, and a sink `out`."""

    @abstractmethod
    def send(self, number: int) -> None: ...

    @abstractmethod
    def look(self) -> Iterator[int]:
        """The numbers of rows that are there now and were not before."""

    def watch(self) -> None:
        while not self._stopped.is_set():
            found = list(self.look())
            now = time.perf_counter()
            for number in found:
                self.seen.setdefault(number, now)

    def close(self) -> None:
        self._stopped.set()


class Files(Ends):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._known: set[str] = set()
        for name in ("in", "out"):
            (folder / name).mkdir()

    def statements(self, options: str) -> str:
        return (
            f"CREATE STREAM s (n BIGINT, t STRING) WITH (connector = 'file',"
            f" path = '{self._folder}/in'{options});\n"
            f"CREATE SINK out WITH (connector = 'file', path = '{self._folder}/out');\n"
        )

    def send(self, number: int) -> None:
        hidden = self._folder / "in" / f".{number:06d}.json"
        hidden.write_bytes(document(number) + b"\n")
        self.sent[number] = time.perf_counter()
        hidden.rename(hidden.with_name(hidden.name[1:]))

    def look(self) -> Iterator[int]:
        time.sleep(0.001)
        names = {name for name in os.listdir(self._folder / "out") if not name.startswith(".")}
        for name in names - self._known:
            self._known.add(name)
            for line in (self._folder / "out" / name).read_text().splitlines():
                yield json.loads(line)["n"]


class Topics(Ends):
    def __init__(self, brokers: str, name: str) -> None:
        super().__init__()
        self._brokers, self._name = brokers, name
        admin = AdminClient({"bootstrap.servers": brokers, "log_level": 0})
        for made in admin.create_topics([NewTopic(f"{name}-{end}", 1) for end in ENDS]).values():
            made.result()
        self._producer = Producer({"bootstrap.servers": brokers, "linger.ms": 0, "log_level": 0})
        settings: dict[str, str | int | float | bool | None] = {
            "bootstrap.servers": brokers,
            "group.id": f"watch-{name}",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
        self._consumer = Consumer(settings)
        self._consumer.subscribe([f"{name}-out"])

    def statements(self, options: str) -> str:
        where = f"connector = 'kafka', brokers = '{self._brokers}'"
        return (
            f"CREATE STREAM s (n BIGINT, t STRING) WITH ({where}, topic = '{self._name}-in',"
            f" start_at = 'earliest'{options});\n"
            f"CREATE SINK out WITH ({where}, topic = '{self._name}-out');\n"
        )

    def send(self, number: int) -> None:
        self.sent[number] = time.perf_counter()
        self._producer.produce(f"{self._name}-in", document(number))
        self._producer.poll(0)

    def look(self) -> Iterator[int]:
        message = self._consumer.poll(0.1)
        if message is not None and message.error() is None:
            yield json.loads(message.value() or b"{}")["n"]

    def close(self) -> None:
        super().close()
        self._producer.flush()


ENDS = ("in", "out")


def document(number: int) -> bytes:
    more = {f"field_{place}": place * number for place in range(10)}
    return json.dumps({"n": number, "t": "x" * 20, "more": more}).encode()


@contextmanager
def running(ends: Ends, mode: Mode, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`narrows run` of a pipeline between two ends."""
    sql = folder / "p.sql"
    sql.write_text(
        f"{ends.statements(mode.stream)}"
        f"CREATE PIPELINE p INTO out {mode.pipeline} AS SELECT {mode.select} FROM s;"
    )
    command = [sys.executable, "-m", "narrows", "run", str(sql), "--state", str(folder / "state")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--trigger", "0 seconds"], stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        # Not Ctrl-C: what a shell has started in the background (`&`) ignores it, and what that
        # starts, too.
        process.terminate()
        process.wait(PATIENCE)


def measure(ends: Ends, mode: Mode, folder: Path, given: argparse.Namespace) -> Seen:
    watcher = threading.Thread(target=ends.watch)
    watcher.start()
    try:
        with running(ends, mode, folder) as process:
            ends.send(0)
            _await(ends, [0], process)
            _send(ends, range(1, 1 + given.warm), given.rate)
            first, before = 1 + given.warm, _work(process.pid)
            began = time.perf_counter()
            _send(ends, range(first, first + given.messages), given.rate)
            _await(ends, list(range(first + given.messages)), process)
            busy = (_work(process.pid) - before) / (time.perf_counter() - began)
            before = _work(process.pid)
            time.sleep(IDLE_SECONDS)
            idle = (_work(process.pid) - before) / IDLE_SECONDS
    finally:
        ends.close()
        watcher.join()
    counted = range(first, first + given.messages)
    return Seen([1_000 * (ends.seen[n] - ends.sent[n]) for n in counted], busy, idle)


def _send(ends: Ends, numbers: range, rate: float) -> None:
    began = time.perf_counter()
    for place, number in enumerate(numbers):
        time.sleep(max(0.0, began + place / rate - time.perf_counter()))
        ends.send(number)


def _await(ends: Ends, numbers: list[int], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not all(number in ends.seen for number in numbers):
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit("a run has ended, or has not written everything: see its log")
        time.sleep(0.01)


def _work(pid: int) -> float:
    """CPU seconds of a run so far."""
    return sum(process.work for process in tree(pid).all) / _TICKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=1_000)
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--warm", type=int, default=200)
    parser.add_argument("--only", choices=("files", "topics"))
    given = parser.parse_args()
    print(f"{given.messages} messages, {given.rate:.0f} a second; milliseconds")
    print(f"{'':46} {'median':>8} {'p99':>8} {'most':>8}   cores busy, idle")
    with tempfile.TemporaryDirectory(prefix="narrows-latency-") as scratch:
        top = Path(scratch)
        if given.only != "topics":
            for place, (name, mode) in enumerate(MODES.items()):
                folder = _made(top / f"files-{place}")
                show(f"file to file, {name}", measure(Files(folder), mode, folder, given))
        if given.only != "files":
            with Broker(top / "broker") as broker:
                for place, (name, mode) in enumerate(MODES.items()):
                    folder = _made(top / f"topics-{place}")
                    ends = Topics(broker.address, f"t{place}")
                    show(f"topic to topic, {name}", measure(ends, mode, folder, given))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def show(case: str, seen: Seen) -> None:
    ordered = sorted(seen.milliseconds)
    p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    figures = f"{statistics.median(ordered):8.1f} {p99:8.1f} {ordered[-1]:8.1f}"
    print(f"{case:46} {figures}   {seen.busy:.2f} {seen.idle:.2f}", flush=True)


if __name__ == "__main__":
    main()
