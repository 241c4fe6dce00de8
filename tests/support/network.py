"""A network between a client and a server on this machine, which can be gone for a while."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self


class Network:
    """Passes everything on to a port. What is cut ends; what is frozen is silent, as where a cable
    is pulled: nobody hears that the other is gone."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._is_cut = False
        self._flows = threading.Event()
        self._flows.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Ends all connections, and refuses new ones."""
        with self._lock:
            self._is_cut = True
            gone, self._open = self._open, []
        _close(gone)

    def freeze(self) -> None:
        self._flows.clear()

    def mend(self) -> None:
        with self._lock:
            self._is_cut = False
        self._flows.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.mend()
        self.cut()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if not self._flows.is_set() or not self._join(near):
                    _close([near])

    def _join(self, near: socket.socket) -> bool:
        with self._lock:
            if self._is_cut:
                return False
            try:
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return False
            self._open += [near, far]
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=self._pump, args=(one, other), daemon=True).start()
        return True

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._flows.wait()
                target.sendall(data)
        _close([source, target])


def _close(sockets: list[socket.socket]) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
