"""Payloads that are brought to a stream, instead of being fetched: what is asked, and answered."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from narrows.errors import Code, NarrowsError, Problem


@dataclass(frozen=True)
class Delivery:
    """What somebody brings in one go: it is taken as a whole, or not at all."""

    body: bytes
    headers: Sequence[tuple[str, str]] = ()
    """Names are in lower case."""

    def header(self, name: str) -> str | None:
        return next((value for found, value in self.headers if found == name), None)


class Taken(NamedTuple):
    """A delivery is on the disk."""

    payloads: int
    repeated: bool = False
    """Was it there already?"""


class NotTakenError(NarrowsError):
    """A delivery was not taken, and nothing of it is there."""

    def __init__(
        self, code: Code, message: str, hint: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(Problem(code, message, hint=hint))
        self.retry_after = retry_after
        """The seconds after which it may be brought again."""


class Inbox(Protocol):
    """Where payloads are brought to, for one stream. Any thread may."""

    def take(self, delivery: Delivery) -> Future[Taken]:
        """Is done when the payloads are on the disk; or raises `NotTakenError`, here or there."""

    @property
    def largest(self) -> int:
        """Bytes that a delivery has at most."""

    def close(self) -> None: ...
