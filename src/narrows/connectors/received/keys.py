"""The last keys of what a log has taken: who comes with one of them again is known.

    000.received   payloads and their keys ─┐                     a new segment begins:
    keys           all keys before 000 ─────┴─► known              all keys are written anew, then
    001.received   payloads and their keys ───► on opening         000.received may go

A key stands in the log beside its payload, so both are on the disk or neither is. Segments go when
everybody has read them; so, before a new one begins, the keys of all before it are written to a
file of their own. It holds so many keys of each kind, and what is older is forgotten: that is how
far back somebody is known.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from narrows.files.small import read_small, write_small

KEYS: Final = "keys"
"""The column of a log that has them: one or two for a payload, one behind the other."""
REQUEST, PUT_BACK, ID = 1, 2, 3
"""Kinds of keys: of requests, of dead letters that are put back, of payloads."""
_SIZE = 16
_FILE = "keys.json"
_MAGIC = "narrows-received-keys-1"
_WHAT = "the file with the keys of what was received lately"
_HINT = "restore it from a backup; or remove it: what is sent again is then taken again"


def key_of(kind: int, text: bytes) -> bytes:
    """A key, of one length whatever a stranger has sent. Kinds have nothing in common."""
    return bytes([kind]) + hashlib.blake2b(text, digest_size=_SIZE - 1).digest()


class RecentKeys:
    def __init__(self, folder: Path, most: Mapping[int, int]) -> None:
        """`most` has how many keys of each kind are known; of a kind that is not there, none."""
        self._path = folder / _FILE
        self._most = most
        self._order: dict[int, deque[bytes]] = {kind: deque() for kind in most}
        self._known: set[bytes] = set()

    def __contains__(self, key: bytes) -> bool:
        return key in self._known

    def add(self, joined: Iterable[bytes]) -> None:
        """Takes the keys of payloads; those of one stand one behind the other."""
        for keys in joined:
            for at in range(0, len(keys), _SIZE):
                key = keys[at : at + _SIZE]
                order = self._order.get(key[0])
                if order is not None and key not in self._known:
                    self._known.add(key)
                    order.append(key)
                    if len(order) > self._most[key[0]]:
                        self._known.remove(order.popleft())

    def load(self) -> int:
        """Takes what was saved, and answers the number of the first payload that is not in it."""
        saved = read_small(self._path, _MAGIC, _WHAT, _HINT)
        if saved is None:
            return 0
        self.add([bytes.fromhex(saved["keys"])])
        return int(saved["upto"])

    def save(self, upto: int) -> None:
        """Keeps the keys of all payloads before this number."""
        keys = b"".join(key for order in self._order.values() for key in order)
        write_small(self._path, _MAGIC, {"upto": upto, "keys": keys.hex()})
