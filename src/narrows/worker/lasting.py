"""What a task does that lasts: it is told what to do, does it, and answers.

    message  ──►  {"done": ...} or {"error": ...}

What the message says, and what is done then, is its `Work`'s: a pipeline's reads and writes its
share of an entry. A task keeps nothing between two messages but what tasks of micro-batches keep as
well: decoders, clients of brokers. It ends when the driver closes the connection, or is gone.
"""

from __future__ import annotations

import json
import traceback
from dataclasses import dataclass
from typing import Any, Protocol

from narrows.connectors.target import WriteSpec
from narrows.worker.link import Link, LinkClosedError
from narrows.worker.read import read_entry
from narrows.worker.read_spec import ReadSpec
from narrows.worker.write import Receipts, receipts_from_text, receipts_to_text, write_task


class Work(Protocol):
    """What a task does with a message; it goes to workers."""

    def do(self, message: bytes) -> str: ...


class TaskError(Exception):
    """A task could not do what it was told to; its text is the whole story."""


def serve(link: Link, work: Work) -> None:
    """Does what it is told, until nobody tells it anything any more."""
    while True:
        try:
            message = link.receive()
        except LinkClosedError:
            return
        try:
            link.send(answer_to(work, message))
        except LinkClosedError:
            return


def answer_to(work: Work, message: bytes) -> bytes:
    try:
        answer = {"done": work.do(message)}
    except Exception:
        answer = {"error": traceback.format_exc()}
    return json.dumps(answer).encode("utf-8")


def done_of(answer: bytes) -> str:
    """What a task has to say of what it did; raises what it could not do."""
    said: dict[str, str] = json.loads(answer)
    if "error" in said:
        raise TaskError(said["error"])
    return said["done"]


# --- a pipeline whose readers write ---------------------------------------------------------------


@dataclass(frozen=True)
class EntryWork:
    """Reads and writes its share: `{"entry": ..., "number": 12, "task": 0, "tasks": 2}`."""

    read: ReadSpec
    write: WriteSpec

    def do(self, message: bytes) -> str:
        told: dict[str, Any] = json.loads(message)
        return receipts_to_text(
            self.copy(told["number"], told["entry"], told["task"], told["tasks"])
        )

    def copy(self, number: int, entry: object, task: int, tasks: int) -> Receipts:
        rows = read_entry(self.read, entry, number, task, tasks)
        return write_task(self.write, rows, number, task)


def message_of(entry: object, number: int, task: int, tasks: int) -> bytes:
    told = {"entry": entry, "number": number, "task": task, "tasks": tasks}
    return json.dumps(told).encode("utf-8")


def receipts_of(answer: bytes) -> Receipts:
    """What a task wrote."""
    return receipts_from_text(done_of(answer))
