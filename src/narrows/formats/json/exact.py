"""A strict, exact, slow JSON parser, for what simdjson refuses or would round.

simdjson refuses integers beyond 64 bits, numbers beyond a double, lone surrogates and documents
beyond its capacity, all of which are valid JSON; it also reads every fraction as a double. Rows
with such things are rare, so they may cost ten times as much: the standard library's scanner, made
strict, with numbers kept as they are written.

Objects here have the interface of `simdjson.Object`, as far as the decoder uses it, so that the
same generated code reads both; arrays are lists.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

Pairs = list[tuple[str, object]]

MAX_DEPTH = 1024
"""As deep as simdjson goes; whether a payload is bad must not depend on which parser saw it."""

_BOM = b"\xef\xbb\xbf"


class MalformedError(Exception):
    """Why a payload is no JSON."""


class Number(str):
    """A number that is not a 64-bit integer, as it is written."""

    __slots__ = ()


class ExactObject:
    """An object with all its entries in order; of a repeated key the first counts."""

    __slots__ = ("_first", "pairs")

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self._first: dict[str, object] = dict(reversed(pairs))

    def __getitem__(self, key: bytes | str) -> object:
        return self._first[key if isinstance(key, str) else key.decode()]

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def items(self) -> Pairs:
        return self.pairs


def parse_exactly(payload: bytes) -> object:
    """The value that a payload is: None, bool, int, Number, str, list or ExactObject.

    Raises `MalformedError`, and nothing else.
    """
    try:
        text = payload.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise MalformedError(f"not UTF-8 at byte {error.start}") from None
    if not text.strip(" \t\r\n"):
        raise MalformedError("not valid JSON: it is empty")
    if "\\ud" in text or "\\uD" in text:
        text = _SURROGATES.sub(_without_lone_surrogate, text)
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_too_deep(text):
        raise MalformedError("nested too deeply")
    try:
        return _scan(text)
    except json.JSONDecodeError as error:
        offset = len(text[: error.pos].encode()) + len(payload) - len(payload.removeprefix(_BOM))
        what = error.msg[0].lower() + error.msg[1:].removesuffix(" at")
        raise MalformedError(f"not valid JSON: {what} at byte {offset}") from None
    except RecursionError:
        raise MalformedError("nested too deeply") from None


def _integer(text: str) -> int | Number:
    if len(text) < 19:
        return int(text)
    # Python refuses to convert very long texts, and no type of ours holds such an integer exactly
    # but DECIMAL, which reads texts.
    value = int(text) if len(text) <= 20 else 2**64
    return value if -(2**63) <= value < 2**64 else Number(text)


def _constant(text: str) -> object:
    raise MalformedError(f"not valid JSON: {text} is no JSON value")


_DECODER = json.JSONDecoder(
    object_pairs_hook=ExactObject,
    parse_int=_integer,
    parse_float=Number,
    parse_constant=_constant,
)


def _scan(text: str) -> object:
    limit = sys.getrecursionlimit()
    deep = text.count("[") + text.count("{") > 300
    if deep:
        # The scanner recurses in C for each level, and Python counts that against its limit.
        sys.setrecursionlimit(limit + 2 * MAX_DEPTH)
    try:
        return _DECODER.decode(text)
    finally:
        if deep:
            sys.setrecursionlimit(limit)


_SURROGATES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?"
    r"|u[dD][c-fC-F][0-9a-fA-F]{2}|.)",
    re.DOTALL,
)


def _without_lone_surrogate(found: re.Match[str]) -> str:
    """Half a character becomes `?`, as in Java; written so that what follows keeps its place."""
    return found[0] if len(found[0]) != 6 else "\\u003f"


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def _is_too_deep(text: str) -> bool:
    depth = 0
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "[" | "{":
                depth += 1
                if depth > MAX_DEPTH:
                    return True
            case "]" | "}":
                depth -= 1
    return False
