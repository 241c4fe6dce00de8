"""Tasks of Spark's that last: a job whose tasks wait for messages and answer them.

    driver                         Spark                          a Python worker
    a job of N tasks ────────────► each on a core of its own ───► connects to the driver
    message ────────────────────────────────────────────────────► does it
            ◄──────────────────────────────────────────────────── answer

A job costs Spark tens of milliseconds, and a micro-batch hundreds, however little there is to do. A
task that is there already costs what a message costs. For that it occupies a core for as long as it
lasts (`slots.py`).

Nothing outlives anything: a worker that dies closes its connection, and the driver knows; a driver
that dies or stops closes all, and tasks end. Which entry was under way, and that it is done again,
is the business of whoever sends messages.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from narrows.errors import Code, NarrowsError, fail
from narrows.spark.entries.slots import Slots
from narrows.spark.read.cores import is_local
from narrows.worker.carried import Carried
from narrows.worker.lasting import Work, serve
from narrows.worker.link import Address, Link, LinkClosedError, Listener, connect

_LOOPBACK = "127.0.0.1"
_STARTING_SECONDS = 120.0
"""How long Spark may take to start the first task: Python processes of a busy machine are slow."""
_STORY_SECONDS = 5.0
"""How long to wait for Spark to say why a task is gone."""
_ENDING_SECONDS = 10.0


class LastingTasks:
    """Tasks that do a work: for one pipeline, or a shared stream. One thread gives messages and
    takes answers."""

    def __init__(self, spark: SparkSession, name: str, count: int, work: Work) -> None:
        """The name is for people: what occupies cores."""
        self._slots = Slots(spark, name, count)
        # A session of its own: only so can another thread end its job (`spark.run.apart`).
        self._spark = spark.newSession()
        self._name = name
        self._count = count
        self._listener = _listener(spark)
        self._links: list[Link] = []
        self._connected = threading.Condition()
        self._failure: BaseException | None = None
        self._stopped = False
        given = Carried((self._listener.address, work))
        self._job = threading.Thread(
            target=self._run, args=(given,), name=f"tasks of {name}", daemon=True
        )
        self._door = threading.Thread(target=self._admit, name=f"door of {name}", daemon=True)
        self._door.start()
        self._job.start()

    def __len__(self) -> int:
        """How many tasks there are to give something to; waits for the first of them."""
        deadline = time.monotonic() + _STARTING_SECONDS
        with self._connected:
            while not self._links:
                self._check()
                if not self._connected.wait(0.1) and time.monotonic() > deadline:
                    raise self._no_core()
            return len(self._links)

    def check(self) -> None:
        """Raises what has ended the tasks, if something has."""
        with self._connected:
            self._check()

    def do(self, messages: Sequence[bytes]) -> list[bytes]:
        """Has the first task do the first message, and so on; what they answered. There must be as
        many."""
        links = self._links[: len(messages)]
        try:
            for link, message in zip(links, messages, strict=True):
                link.send(message)
            return [link.receive() for link in links]
        except LinkClosedError as closed:
            raise self._why(closed) from closed

    def stop(self) -> None:
        """Ends the tasks; what they are doing is given up. Any thread may do so."""
        self._stopped = True
        self._close()
        self._job.join(_ENDING_SECONDS)
        if self._job.is_alive():
            self._spark.interruptAll()
            self._job.join(_ENDING_SECONDS)
        self._door.join(_ENDING_SECONDS)
        self._slots.give_back()

    # --- the job ----------------------------------------------------------------------------------

    def _run(self, given: Carried[tuple[Address, Work]]) -> None:
        def last(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            address, work = given.value
            for batch in numbers:
                link = connect(address)
                try:
                    serve(link, work)
                finally:
                    link.close()
                yield batch

        try:
            numbers = self._spark.range(0, self._count, 1, self._count)
            numbers.mapInArrow(last, numbers.schema).collect()
        except BaseException as error:
            self._failure = error
        finally:
            self._close()

    def _admit(self) -> None:
        while (link := self._listener.accept()) is not None:
            with self._connected:
                self._links.append(link)
                self._connected.notify_all()
                if self._stopped:
                    link.close()

    def _close(self) -> None:
        self._listener.close()
        with self._connected:
            for link in self._links:
                link.close()
            self._connected.notify_all()

    def _check(self) -> None:
        if not self._job.is_alive() or self._failure is not None or self._stopped:
            raise self._failure or LinkClosedError

    def _why(self, closed: LinkClosedError) -> BaseException:
        """Why a task is gone, as Spark tells it, if it does."""
        if not self._stopped:
            self._job.join(_STORY_SECONDS)
        return self._failure or closed

    def _no_core(self) -> NarrowsError:
        return fail(
            Code.NO_FREE_CORE,
            f"no task of {self._name} was started in {_STARTING_SECONDS:.0f} seconds: Spark has"
            " no core that is free for it",
            hint="a pipeline of low latency occupies a core for as long as it runs: give Spark more"
            " cores, or stop something",
        )


def _listener(spark: SparkSession) -> Listener:
    """Where tasks can reach this process."""
    if is_local(spark):
        return Listener(_LOOPBACK)
    host = spark.conf.get("spark.driver.host", None) or socket.getfqdn()
    return Listener(host, spark.conf.get("spark.driver.bindAddress", None) or host)
