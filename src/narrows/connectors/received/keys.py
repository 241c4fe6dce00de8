"""The last keys of what a log has taken: who comes with one of them again is known.

    000.received   payloads and their keys ─┐                     a new segment begins:
    keys           all keys before 000 ─────┴─► known              all keys are written anew, then
    001.received   payloads and their keys ───► on opening         000.received may go

A key stands in the log beside its payload, so both are on the disk or neither is. Segments go when
everybody has read them; so, before a new one begins, the keys of all before it are written to a
file of their own. It holds so many keys, and what is older is forgotten: that is how far back
somebody is known.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from narrows.files.small import read_small, write_small

KEYS: Final = "keys"
"""The column of a log that has them: one or two for a payload, one behind the other."""
_SIZE = 16
_FILE = "keys.json"
_MAGIC = "narrows-received-keys-1"
_WHAT = "the file with the keys of what was received lately"
_HINT = "restore it from a backup; or remove it: what is sent again is then taken again"


def key_of(kind: bytes, text: bytes) -> bytes:
    """A key, of one length whatever a stranger has sent. Kinds have nothing in common."""
    return hashlib.blake2b(text, digest_size=_SIZE, person=kind).digest()


class RecentKeys:
    def __init__(self, folder: Path, most: int) -> None:
        self._path = folder / _FILE
        self._most = most
        self._order: deque[bytes] = deque()
        self._known: set[bytes] = set()

    def __contains__(self, key: bytes) -> bool:
        return key in self._known

    def __len__(self) -> int:
        return len(self._order)

    def add(self, joined: Iterable[bytes]) -> None:
        """Takes the keys of payloads; those of one stand one behind the other."""
        for keys in joined:
            for at in range(0, len(keys), _SIZE):
                key = keys[at : at + _SIZE]
                if key not in self._known:
                    self._known.add(key)
                    self._order.append(key)
        while len(self._order) > self._most:
            self._known.remove(self._order.popleft())

    def load(self) -> int:
        """Takes what was saved, and answers the number of the first payload that is not in it."""
        saved = read_small(self._path, _MAGIC, _WHAT, _HINT)
        if saved is None:
            return 0
        self.add([bytes.fromhex(saved["keys"])])
        return int(saved["upto"])

    def save(self, upto: int) -> None:
        """Keeps the keys of all payloads before this number."""
        write_small(self._path, _MAGIC, {"upto": upto, "keys": b"".join(self._order).hex()})
