"""The native kernel decodes messages where a client library has them.

That it makes of them what the portable one does is tried with all other inputs
(`tests/property/test_kernels_agree.py`).
"""

from __future__ import annotations

import threading

import pytest

from narrows.demand import ALL
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.native import NativeJsonDecoder
from narrows.formats.kernel import load_native
from narrows.formats.null_payloads import decode_present
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema
from support.fake_messages import FakeMessages
from support.kernels import needs_native, outcome

pytestmark = needs_native

PROJECTION = DecodeProjection(read_schema("a BIGINT, b STRING"), ALL)


def test_nothing_is_read_behind_a_payload() -> None:
    """Each stands at the end of a page, and the next one must not be touched."""
    texts = [b'{"b":"' + b"x" * length + b'","a":1}' for length in range(200)]
    cut = [text[:length] for text in texts[::37] for length in range(len(text))]
    numbers = [b'{"a":' + b"1" * length for length in range(70)]
    payloads = [*texts, *cut, *numbers, b"", b'"', b"t", b"\xef\xbb\xbf", b'{"a":tru']
    with FakeMessages(payloads) as fake:
        found = outcome(NativeJsonDecoder().decode_messages(fake.messages, PROJECTION))
    assert found == outcome(JsonDecoder().decode_with_projection(payloads, PROJECTION))
    assert found["rows"] == len(texts)


@pytest.mark.parametrize(
    "payloads",
    [
        [None],
        [b'{"a":1}', None, b'{"a":2}'],
        [None, b"", b'[{"a":1},{"a":2}]', None, b"[]", b'{"a":"x"}', None, b"{"],
        [b"{}", b'{"a":1}'],
    ],
)
def test_null_payloads_make_no_rows_and_are_not_bad(payloads: list[bytes | None]) -> None:
    with FakeMessages(payloads) as fake:
        found = outcome(NativeJsonDecoder().decode_messages(fake.messages, PROJECTION))
        assert fake.messages.nulls == [n for n, payload in enumerate(payloads) if payload is None]
        assert fake.messages.payloads() == payloads
    assert found == outcome(decode_present(JsonDecoder(), payloads, PROJECTION))


def test_each_message_is_destroyed_once() -> None:
    with FakeMessages([b"{}"] * 5) as fake:
        others = fake.messages.split_off(3)
        assert (len(fake.messages), len(others)) == (3, 2)
        assert fake.destroyed == [0] * 5
        fake.messages.release()
        assert fake.destroyed == [1, 1, 1, 0, 0]
        assert len(fake.messages) == 0
        assert fake.messages.payload(0) is None
        fake.messages.release()
        del others
        assert fake.destroyed == [1] * 5


def test_messages_that_are_being_decoded_are_not_released() -> None:
    """Another thread that tries gets an exception, and the messages stay."""
    payloads = [b'{"a":' + b" " * 1_000_000 + b"1}"] * 50
    stopped, refused = threading.Event(), []
    with FakeMessages(payloads) as fake:

        def release() -> None:
            while not stopped.is_set():
                try:
                    fake.messages.release()
                except RuntimeError as error:
                    refused.append(error)
                else:
                    return

        decoder = NativeJsonDecoder()
        decoder.decode_messages(fake.messages, PROJECTION)  # its program is made
        thread = threading.Thread(target=release)
        thread.start()
        rows = decoder.decode_messages(fake.messages, PROJECTION).batch.num_rows
        stopped.set()
        thread.join(60)
    # It came before or after; what it never did is to take them away in between.
    assert rows in (0, len(payloads))
    assert fake.destroyed == [1] * len(payloads)


def test_no_address_may_be_null() -> None:
    for addresses in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        array, destroy, timestamp = addresses
        with pytest.raises(ValueError, match="NULL"):
            load_native().Messages(array, 0, destroy, timestamp)
