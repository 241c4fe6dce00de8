"""What comes with a message of MQTT 5 beside its payload, as keys and values.

    0x03 "application/json"   0x26 "a" "1"   ──►   [{content_type: ...}, {a: 1}]

First what the standard has names for, in the order of its numbers, then what the publisher has
named itself. What is between us and the broker alone is read over: by which subscription a message
comes, and numbers for topics, which we never offer to remember.
"""

from __future__ import annotations

from typing import Final

NAMES: Final = {
    0x01: "payload_format_indicator",
    0x02: "message_expiry_interval",
    0x03: "content_type",
    0x08: "response_topic",
    0x09: "correlation_data",
}
"""What comes with a message by itself; the names are those of the standard."""
_CORRELATION, _SUBSCRIPTION, _USER = 0x09, 0x0B, 0x26
_NUMBERS: Final = {
    0x01: (1, range(2)),
    0x02: (4, range(1 << 32)),
    0x23: (2, range(1, 1 << 16)),
}
"""Those that are numbers: of how many bytes, and what they may be."""
_TEXTS: Final = (0x03, 0x08)

Properties = list[dict[str, str]] | None


def unpacked(data: bytes) -> Properties:
    """None if nobody has sent any along. Raises `ValueError` where they are none."""
    known: dict[int, str] = {}
    given: list[dict[str, str]] = []
    at = 0
    while at < len(data):
        kind, at = data[at], at + 1
        if kind == _USER:
            key, at = _text(data, at)
            value, at = _text(data, at)
            given.append({"key": key, "value": value})
        elif kind == _SUBSCRIPTION:
            at = _behind_number(data, at)
        elif kind in known:
            raise ValueError(f"number {kind} is there twice")
        elif kind in _TEXTS:
            known[kind], at = _text(data, at)
        elif kind == _CORRELATION:
            found, at = _bytes(data, at)
            known[kind] = shown(found)
        elif kind in _NUMBERS:
            size, allowed = _NUMBERS[kind]
            number, at = int.from_bytes(data[at : at + size]), at + size
            if number not in allowed:
                raise ValueError(f"number {kind} is not {number}")
            known[kind] = str(number)
        else:
            raise ValueError(f"there is no number {kind}")
    if at > len(data):
        raise ValueError("they end too early")
    named = [{"key": NAMES[kind], "value": known[kind]} for kind in sorted(known) if kind in NAMES]
    return named + given or None


def shown(data: bytes) -> str:
    """Bytes as a text: what is none is written as hexadecimal digits."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.hex()


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    """What stands behind its length, and where it ends."""
    end = at + 2 + int.from_bytes(data[at : at + 2])
    if end > len(data):
        raise ValueError("they end too early")
    return data[at + 2 : end], end


def _text(data: bytes, at: int) -> tuple[str, int]:
    found, end = _bytes(data, at)
    text = found.decode()
    if "\0" in text:
        raise ValueError("a text has a zero in it")
    return text, end


def _behind_number(data: bytes, at: int) -> int:
    """Where a number ends that is not 0 and has as many bytes as it needs, four at most."""
    for place in range(at, min(at + 4, len(data))):
        if data[place] < 0x80:
            if any(byte & 0x7F for byte in data[at : place + 1]):
                return place + 1
            break
    raise ValueError("a number is 0, or does not end")
