"""Finds JSON values in the bytes of a file, over however many lines each goes.

    {            ──► one payload          [{"a": 1},       ──► two payloads,
      "a": 1                               {"a": 2}]            of which the list is no part
    }

A file is a sequence of values; a list at the top is a sequence of its elements. Whether a payload
is valid JSON is for whoever decodes it: here brackets are counted, those in strings aside. So

* a payload ends with the bracket that closes it, in a list at the comma behind it;
* what stands outside of all brackets is a payload as well, up to the next bracket: no object,
  and so a dead letter, but the only one;
* what is not closed at the end of the file, or closed and was not open, ends the search: nobody
  knows where the next payload begins.

Bytes are looked at by the megabyte, with numpy; what is kept from one to the next is how deep we
are, and the part of a payload that is not over. So memory is that of the longest payload.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from narrows.files.chunks import BOM
from narrows.formats.decoder import FoundDocuments, UnfinishedError

_BLANK = b" \t\r\n"
_QUOTE, _BACKSLASH, _OPEN, _CLOSE, _COMMA = range(1, 6)
_KINDS = np.zeros(256, np.uint8)
for _characters, _kind in (
    (b'"', _QUOTE),
    (b"\\", _BACKSLASH),
    (b"[{", _OPEN),
    (b"]}", _CLOSE),
    (b",", _COMMA),
):
    _KINDS[list(_characters)] = _kind
_STEPS = np.zeros(6, np.int64)
_STEPS[_OPEN], _STEPS[_CLOSE] = 1, -1

_Places = npt.NDArray[np.int64]
_KindsThere = npt.NDArray[np.uint8]


def find_documents(chunks: Iterator[bytes]) -> Iterator[FoundDocuments]:
    finder = _Finder()
    for chunk in _without_bom(chunks, finder):
        yield from finder.look(chunk)
    yield from finder.end()


def _without_bom(chunks: Iterator[bytes], finder: _Finder) -> Iterator[bytes]:
    first = b""
    for chunk in chunks:
        first += chunk
        if len(first) >= len(BOM):
            break
    if first.startswith(BOM):
        finder.skip(len(BOM))
        first = first[len(BOM) :]
    yield first
    yield from chunks


class _Finder:
    def __init__(self) -> None:
        # Where we are in the text:
        self._in_string = False
        self._escapes = False
        """Did the last chunk end with a backslash that belongs to what follows?"""
        self._depth = 0
        self._in_list = False
        """Is the bracket around everything here that of a list?"""
        self._had_comma = False
        # What was found:
        self._held: list[bytes] = []
        """The text behind the last cut, as far as it was in earlier chunks."""
        self._cut_at = 0
        """Where in the file the last cut was."""
        self._reported = 0
        """The bytes of the file that are accounted for by what was handed out."""
        self._payloads: list[bytes] = []
        self._offsets: list[int] = []

    def skip(self, size: int) -> None:
        self._cut_at += size

    def look(self, chunk: bytes) -> Iterator[FoundDocuments]:
        """The payloads that end in the next bytes."""
        places, kinds = self._marks(chunk)
        depths = self._depth + np.cumsum(_STEPS[kinds])
        at_top = (depths == 0) & (kinds == _CLOSE) | (depths == 1) & (kinds == _OPEN)
        commas = places[(depths == 1) & (kinds == _COMMA)]
        stray = np.flatnonzero(depths < 0)
        ends = int(places[stray[0]]) if len(stray) else len(chunk)
        done = 0  # behind the last cut in this chunk
        for place in places[at_top].tolist():
            if place >= ends:
                break
            if chunk[place] in b"[{":
                self._take(chunk, done, place, keep_blank=False)  # what stands outside of brackets
                self._in_list = chunk[place] == ord("[")
                self._had_comma = False
                done = place + self._in_list
                if self._in_list:
                    self._cut_at += 1
            elif self._in_list:
                done = self._elements(chunk, done, commas, place)
                self._take(chunk, done, place, keep_blank=self._had_comma)
                done = place + 1
                self._cut_at += 1
                self._in_list = False
            else:
                self._take(chunk, done, place + 1, keep_blank=False)
                done = place + 1
        if self._in_list and not len(stray):
            done = self._elements(chunk, done, commas, ends)
        if done < len(chunk):
            self._held.append(chunk[done:])
        if len(depths):
            self._depth = int(depths[-1])
        yield from self._hand_out()
        if len(stray):
            raise UnfinishedError("a bracket is closed here that was not opened")

    def end(self) -> Iterator[FoundDocuments]:
        if self._depth or self._in_string:
            raise UnfinishedError("a value begins here that has no end")
        self._take(b"", 0, 0, keep_blank=False)
        yield from self._hand_out()

    def _elements(self, chunk: bytes, done: int, commas: _Places, end: int) -> int:
        """Takes the elements of a list that commas between two places end."""
        first, last = np.searchsorted(commas, (done, end))
        for comma in commas[first:last].tolist():
            self._take(chunk, done, comma, keep_blank=True)
            done = comma + 1
            self._cut_at += 1
            self._had_comma = True
        return done

    def _take(self, chunk: bytes, start: int, end: int, *, keep_blank: bool) -> None:
        """What stands between the last cut and a place in the chunk is a payload, unless blank."""
        text = chunk[start:end]
        if self._held:
            text = b"".join((*self._held, text))
            self._held = []
        payload = text.lstrip(_BLANK)
        if payload or keep_blank:
            self._offsets.append(self._cut_at + len(text) - len(payload))
            self._payloads.append(payload.rstrip(_BLANK))
        self._cut_at += len(text)

    def _hand_out(self) -> Iterator[FoundDocuments]:
        if self._payloads:
            yield FoundDocuments(self._payloads, self._offsets, self._cut_at - self._reported)
            self._payloads, self._offsets, self._reported = [], [], self._cut_at

    def _marks(self, chunk: bytes) -> tuple[_Places, _KindsThere]:
        """Brackets and commas outside of strings, in order."""
        kinds = _KINDS[np.frombuffer(chunk, np.uint8)]
        places = np.flatnonzero(kinds)
        kinds = kinds[places]
        escaped = self._escaped(places[kinds == _BACKSLASH], len(chunk))
        is_quote = kinds == _QUOTE
        if len(escaped):
            is_quote &= ~np.isin(places, escaped, assume_unique=True)
        quotes = np.cumsum(is_quote)
        outside = (quotes + self._in_string) % 2 == 0
        if len(quotes):
            self._in_string = bool((int(quotes[-1]) + self._in_string) % 2)
        kept = outside & (kinds >= _OPEN)
        return places[kept], kinds[kept]

    def _escaped(self, backslashes: _Places, size: int) -> _Places:
        """The places behind an odd number of backslashes."""
        before = self._escapes
        if not size:
            return backslashes
        self._escapes = False
        if not len(backslashes):
            return np.zeros(int(before), np.int64)
        starts = np.flatnonzero(np.diff(backslashes, prepend=-2) != 1)
        lengths = np.diff(starts, append=len(backslashes))
        behind = backslashes[starts] + lengths
        found = lengths % 2 == 1
        if before and backslashes[0] == 0:
            found[0] = not found[0]
        escaped: _Places = behind[found]
        if before and backslashes[0] != 0:
            escaped = np.concatenate(([0], escaped))
        if len(escaped) and escaped[-1] == size:
            self._escapes = True
            escaped = escaped[:-1]
        return escaped
