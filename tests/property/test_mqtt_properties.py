"""Properties of messages, whole and damaged, against what the library makes of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties, VariableByteIntegers

from narrows.connectors.mqtt.messages import message_of
from narrows.connectors.mqtt.properties import unpacked

BYTES = st.lists(st.sampled_from((b"a", "ä".encode(), b"\0", b"\xff")), max_size=3).map(b"".join)
SIZED = BYTES.map(lambda found: len(found).to_bytes(2) + found)
NUMBERS = st.sampled_from((0, 1, 127, 128, 70_000, 268_435_455))
VALUES = {
    0x01: st.integers(0, 2).map(lambda number: bytes((number,))),
    0x02: st.binary(min_size=4, max_size=4),
    0x03: SIZED,
    0x08: SIZED,
    0x09: SIZED,
    0x0B: NUMBERS.map(VariableByteIntegers.encode),
    0x11: st.binary(min_size=4, max_size=4),  # not of a message
    0x23: st.integers(0, 2).map(lambda number: number.to_bytes(2)),
    0x26: st.tuples(SIZED, SIZED).map(b"".join),
}


@st.composite
def properties(draw: st.DrawFn) -> bytes:
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=5))
    data = bytearray(b"".join(bytes((kind,)) + draw(VALUES[kind]) for kind in kinds))
    for place in draw(st.lists(st.integers(0, 40), max_size=1)):
        data[place : place + 1] = draw(st.binary(max_size=1))
    return bytes(data)


def by_the_library(data: bytes) -> Any:
    """None if it takes them for none."""
    found = cast("Any", Properties)(PacketTypes.PUBLISH)
    try:
        found.unpack(bytes(cast("Any", VariableByteIntegers).encode(len(data))) + data)
    except Exception:
        return None
    how = {"payload": b"", "topic": "a", "mid": 1, "qos": 1, "retain": False, "properties": found}
    return message_of(cast("Any", SimpleNamespace(**how)))


@given(properties())
def test_what_is_unpacked_is_what_the_library_unpacks(data: bytes) -> None:
    """It takes numbers that are longer than they need to be, which the standard forbids."""
    expected = by_the_library(data)
    try:
        found = unpacked(data)
    except ValueError:
        assert expected is None or any(byte & 0x80 for byte in data)
    else:
        assert expected is not None
        assert found == expected.properties
