"""A stream that is pushed to: the log of its payloads. Who fills it is the service."""

from __future__ import annotations

from narrows.connectors.base import SourceDeclaration
from narrows.connectors.http.inbox import HttpInbox, log_folder, open_inbox
from narrows.connectors.received.source import ReceivedSource


def http_source(declared: SourceDeclaration) -> ReceivedSource:
    return ReceivedSource(declared, log_folder(declared), HttpReceiver(declared))


class HttpReceiver:
    """Has the log open while somebody reads it, so that what everybody has read goes."""

    def __init__(self, declared: SourceDeclaration) -> None:
        self._declared = declared
        self._inbox: HttpInbox | None = None

    def start(self) -> None:
        self._inbox = open_inbox(self._declared)

    def stop(self) -> None:
        inbox, self._inbox = self._inbox, None
        if inbox is not None:
            inbox.close()

    @property
    def problem(self) -> str | None:
        inbox = self._inbox
        return None if inbox is None else inbox.problem
