"""What a task does that lasts: it is told of an entry, reads and writes its share, and answers.

    {"entry": ..., "number": 12, "task": 0, "tasks": 2}  ──►  {"receipts": ...} or {"error": ...}

It keeps nothing between entries but what tasks of micro-batches keep as well: decoders, clients of
brokers. It ends when the driver closes the connection, or is gone.
"""

from __future__ import annotations

import json
import traceback
from typing import Any

from narrows.connectors.target import WriteSpec
from narrows.worker.link import Link, LinkClosedError
from narrows.worker.read import read_entry
from narrows.worker.read_spec import ReadSpec
from narrows.worker.write import Receipts, receipts_from_text, receipts_to_text, write_task


class TaskError(Exception):
    """A task could not read or write what it was told to; its text is the whole story."""


def message_of(entry: object, number: int, task: int, tasks: int) -> bytes:
    told = {"entry": entry, "number": number, "task": task, "tasks": tasks}
    return json.dumps(told).encode("utf-8")


def receipts_of(answer: bytes) -> Receipts:
    """What a task wrote; raises what it could not do."""
    said: dict[str, Any] = json.loads(answer)
    if "error" in said:
        raise TaskError(said["error"])
    return receipts_from_text(said["receipts"])


def serve(link: Link, read: ReadSpec, write: WriteSpec) -> None:
    """Does what it is told, until nobody tells it anything any more."""
    while True:
        try:
            message = link.receive()
        except LinkClosedError:
            return
        try:
            link.send(answer_to(read, write, message))
        except LinkClosedError:
            return


def answer_to(read: ReadSpec, write: WriteSpec, message: bytes) -> bytes:
    """Reads and writes what a message says; what is answered then."""
    told: dict[str, Any] = json.loads(message)
    number, task = told["number"], told["task"]
    try:
        rows = read_entry(read, told["entry"], number, task, told["tasks"])
        answer = {"receipts": receipts_to_text(write_task(write, rows, number, task))}
    except Exception:
        answer = {"error": traceback.format_exc()}
    return json.dumps(answer).encode("utf-8")
