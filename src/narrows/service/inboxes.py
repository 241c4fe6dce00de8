"""The inboxes of streams that are pushed to: each is open from its first request on."""

from __future__ import annotations

import threading

from narrows.catalog.objects import Source
from narrows.connectors.base import find_connector
from narrows.connectors.inbox import Inbox
from narrows.errors import Code, fail
from narrows.service.replay import declaration_of
from narrows.state.folder import StateFolder


class Inboxes:
    def __init__(self, state: StateFolder) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._open: dict[str, tuple[Source, Inbox]] = {}

    def of(self, stream: Source) -> Inbox:
        """The inbox of a stream as it is declared now."""
        name = stream.name.casefold()
        with self._lock:
            found = self._open.get(name)
            if found is not None and found[0] is stream:
                return found[1]
            opens = find_connector(stream.connector).inbox
            if opens is None:
                raise fail(
                    Code.NOT_SUPPORTED,
                    f"nothing can be pushed to `{stream.name}`: its connector is"
                    f" `{stream.connector}`",
                    hint="declare a stream with `connector = 'http'`",
                )
            if found is not None:
                found[1].close()
            inbox = opens(declaration_of(self._state, stream))
            self._open[name] = stream, inbox
            return inbox

    def close(self, name: str) -> None:
        """A stream is not pushed to any more."""
        with self._lock:
            found = self._open.pop(name.casefold(), None)
        if found is not None:
            found[1].close()

    def close_all(self) -> None:
        for name in list(self._open):
            self.close(name)
