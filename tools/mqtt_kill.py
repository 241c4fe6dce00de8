"""MQTT to files, and the process is killed again and again while messages come.

    python tools/mqtt_kill.py --kills 20 --rows 100000 [--restarts 2] [--bare] [--folder ...]

Two streams over one connection: one whose pipeline's readers write, one that is shared and whose
pipeline computes. Somebody publishes numbered messages with QoS 1 all the time. At the end every
message that the broker has acknowledged to the publisher must be in both outputs. In the second
some may be there twice: a broker sends again what it got no PUBACK for. In the first, whose stream
has a `dedupe_by`, each must be there once. With `--bare` there is no Spark, only
what receives and reads (`bare_pipelines.py`): that can be killed ten times as often.
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
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from mosquitto_broker import Mosquitto

SQL = """
CREATE STREAM s (id BIGINT, more STRING) WITH (connector = 'mqtt', broker = '{broker}',
  topic = 'in/+/a', max_messages_per_trigger = 4000, dedupe_by = 'id');
CREATE STREAM t (id BIGINT, more STRING) WITH (connector = 'mqtt', broker = '{broker}',
  topic = 'in/#', max_messages_per_trigger = 4000, shared = true);
CREATE SINK copied WITH (connector = 'file', path = '{folder}/copied');
CREATE SINK computed WITH (connector = 'file', path = '{folder}/computed');
CREATE PIPELINE p INTO copied AS SELECT id, more FROM s;
CREATE PIPELINE q INTO computed AS SELECT id * 10 AS id, split(_topic, '/')[1] AS site FROM t;
"""
OUTPUTS = {"copied": 1, "computed": 10}
DEDUPED = ("copied",)
"""What has a `dedupe_by`: no row may be there twice."""
DEADLINE = 300.0
WARM_UP = -1
_IN_FLIGHT = 500
_BARE = str(Path(__file__).with_name("bare_pipelines.py"))


class WrongRowsError(Exception):
    """An output that lacks rows."""


class Publisher:
    """Publishes numbered messages in a thread of its own, spread over the time that there is."""

    def __init__(self, port: int, rows: int) -> None:
        self._rows = rows
        self._allowed = 0
        self._changed = threading.Condition()
        self._acknowledged: set[int] = set()
        self._client = Client(CallbackAPIVersion.VERSION2, f"publisher-{uuid.uuid4().hex}")
        self._client.on_publish = self._on_publish
        self._client.reconnect_delay_set(1, 2)
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        self.published = 0
        """Messages that the broker has acknowledged: all numbers before this."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def warm_up(self) -> None:
        self._client.publish("in/0/a", json.dumps({"id": WARM_UP}), 1).wait_for_publish(DEADLINE)

    def allow(self, rows: int) -> None:
        with self._changed:
            self._allowed = min(self._rows, self._allowed + rows)
            self._changed.notify_all()

    def finish(self) -> None:
        self.allow(self._rows)
        self._thread.join(DEADLINE)
        self._client.disconnect()
        self._client.loop_stop()
        if self.published < self._rows:
            raise WrongRowsError("the broker does not take the input")

    def _run(self) -> None:
        while self.published < self._rows:
            with self._changed:
                while self._allowed <= self.published:
                    self._changed.wait()
                end = min(self._allowed, self.published + _IN_FLIGHT)
            waiting = set()
            for number in range(self.published, end):
                payload = json.dumps({"id": number, "more": "x" * (number % 200)})
                waiting.add(self._client.publish(f"in/{number % 7}/a", payload, 1).mid)
            with self._changed:  # also while the broker is away
                while not waiting <= self._acknowledged:
                    self._changed.wait()
                self._acknowledged -= waiting
            self.published = end

    def _on_publish(self, client: Any, _: Any, mid: int, reason: Any, properties: Any) -> None:
        with self._changed:
            self._acknowledged.add(mid)
            self._changed.notify_all()


class Kill:
    def __init__(self, folder: Path, seed: int = 7, *, bare: bool = False) -> None:
        self.folder = folder
        self.bare = bare
        self.chance = random.Random(seed)
        self.broker = Mosquitto(folder / "broker")
        self.process: subprocess.Popen[bytes] | None = None

    def run(self, kills: int, rows: int, restarts: int = 0) -> dict[str, int]:
        """Does all of it, and answers how many rows each output has more than once."""
        self.broker.start()
        try:
            sql = SQL.format(broker=self.broker.address, folder=self.folder)
            (self.folder / "p.sql").write_text(sql, "utf-8")
            publisher = Publisher(self.broker.port, rows)
            self._start()
            self._await_subscriptions(publisher)
            restarted = {(number + 1) * kills // (restarts + 1) for number in range(restarts)}
            for number in range(kills):
                before = self._files()
                publisher.allow(rows // (kills + 1) + 1)
                self._start()
                self._await_growth(before)
                threading.Event().wait(self.chance.uniform(0, 1.0))  # some moment of a batch
                self._end_process()
                print(f"killed {number + 1} times, published {publisher.published}", flush=True)
                if number in restarted:
                    self.broker.stop()
                    self.broker.start()
                    print("broker restarted", flush=True)
            publisher.finish()
            self._start()
            return {name: self._check(name, rows) for name in OUTPUTS}
        finally:
            self._end_process()
            self.broker.stop()

    # --- the process ------------------------------------------------------------------------------

    def _start(self) -> None:
        if self.process is not None and self.process.poll() is None:
            return
        sql, state = str(self.folder / "p.sql"), str(self.folder / "state")
        command = ["-m", "narrows", "run", sql, "--state", state, "--master", "local[2]"]
        command += ["--trigger", "0 seconds"]
        if self.bare:
            command = [_BARE, sql, str(self.folder), "s:copied:1", "t:computed:10"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *command], stdout=log, stderr=log, start_new_session=True
            )

    def _end_process(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    # --- outputs ----------------------------------------------------------------------------------

    def _await_subscriptions(self, publisher: Publisher) -> None:
        """What is published before a broker knows who wants it, nobody gets."""
        deadline = time.monotonic() + DEADLINE
        while not all(self._files().values()):
            publisher.warm_up()
            self._wait(deadline, "no subscription")

    def _await_growth(self, before: dict[str, int]) -> None:
        wanted = self.chance.choice(list(OUTPUTS))
        deadline = time.monotonic() + DEADLINE
        while self._files()[wanted] <= before[wanted]:
            self._wait(deadline, f"nothing new in {wanted}")

    def _wait(self, deadline: float, what: str) -> None:
        if time.monotonic() > deadline:
            raise WrongRowsError(f"{what}: see {self.folder / 'log'}")
        self._start()
        threading.Event().wait(0.2)

    def _files(self) -> dict[str, int]:
        return {name: sum(1 for _ in self._paths(name)) for name in OUTPUTS}

    def _paths(self, name: str) -> list[Path]:
        return sorted((self.folder / name).glob("[!.]*.json"))

    def _check(self, name: str, rows: int) -> int:
        deadline = time.monotonic() + DEADLINE
        while True:
            found = self._ids(name)
            missing = [number for number in range(rows) if number not in found]
            if not missing:
                twice = sum(count - 1 for count in found.values())
                print(f"{name}: {rows} rows, none is missing, {twice} came again", flush=True)
                if twice and name in DEDUPED:
                    raise WrongRowsError(f"{name}: {twice} rows are there twice")
                return twice
            self._wait(deadline, f"{name}: {len(missing)} rows are missing, like {missing[:5]}")
            threading.Event().wait(1.0)

    def _ids(self, name: str) -> Counter[int]:
        lines = (line for path in self._paths(name) for line in path.read_text().splitlines())
        found = Counter(json.loads(line)["id"] // OUTPUTS[name] for line in lines)
        del found[WARM_UP]
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Kills pipelines that read MQTT, counts rows.")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--restarts", type=int, default=2, help="of the broker")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--bare", action="store_true", help="without Spark")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where to leave everything; scratch if none")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        kill = Kill(folder.absolute(), given.seed, bare=given.bare)
        kill.run(given.kills, given.rows, given.restarts)


if __name__ == "__main__":
    main()
