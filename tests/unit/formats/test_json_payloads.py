"""Which payloads are rows, which are many, and which are none: truncated documents, invalid UTF-8,
huge numbers, deep nesting, 10 MB lines, byte order marks, half surrogate pairs, non-objects.
"""

from __future__ import annotations

import sys
import time
from decimal import Decimal

import pytest

from narrows.demand import ALL, fields
from support.decoding import columns, decode, reasons

pytestmark = pytest.mark.usefixtures("kernel")


def test_bad_payloads_make_no_row() -> None:
    decoded = decode("a BIGINT", ALL, '{"a": 1}', "{", '{"a": 2}', "", '{"a": 3}')
    assert decoded.batch.to_pydict() == {"a": [1, 2, 3]}
    assert decoded.row_positions == [0, 2, 4]
    assert [bad.position for bad in decoded.bad] == [1, 3]


def test_positions_are_left_out_when_they_are_plain() -> None:
    decoded = decode(
        "a BIGINT", ALL, {"a": 1}, '{"a": 123456789012345678901234567890}', '[{"a": 2}]'
    )
    assert decoded.batch.to_pydict() == {"a": [1, None, 2]}
    assert decoded.row_positions is None


def test_lists_of_objects_are_many_rows() -> None:
    decoded = decode("a BIGINT", ALL, '[{"a": 1}, {"a": "x"}, {}]', "[]", '{"a": 2}', "[{}, 1]")
    assert decoded.batch.to_pydict() == {"a": [1, None, None, 2]}
    assert decoded.row_positions == [0, 0, 0, 2]
    assert [(bad.position, bad.reason) for bad in decoded.bad] == [
        (3, "not an object: element 1 of the list is a number")
    ]
    assert decoded.mistyped == 1


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "not valid JSON: it is empty"),
        (b" \t\r\n", "not valid JSON: it is empty"),
        (b"\xef\xbb\xbf", "not valid JSON: it is empty"),
        (b"null", "not an object: it is null"),
        (b"true", "not an object: it is a boolean"),
        (b"-1.5e3", "not an object: it is a number"),
        (b'"{}"', "not an object: it is a string"),
        (b"[[]]", "not an object: element 0 of the list is a list"),
        (b'[{}, "x"]', "not an object: element 1 of the list is a string"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
        (b'{"a": "\xed\xa0\x80"}', "not UTF-8 at byte 7"),
        (b'{"a": NaN}', "not valid JSON: NaN is no JSON value"),
        (b'{"a": -Infinity}', "not valid JSON: -Infinity is no JSON value"),
    ],
)
def test_reasons(payload: bytes, reason: str) -> None:
    assert reasons(payload) == [reason]


@pytest.mark.parametrize(
    "payload",
    [
        *(b'{"a": 1, "b": [1, {"c": "x"}]}'[:end] for end in range(1, 30)),
        *(
            b'{"a": 1}}',
            b'{"a": 1}{"a": 2}',
            b'{"a": 1} x',
            b'{"a": 1}\x00',
            b"{'a': 1}",
            b"{a: 1}",
        ),
        *(b'{"a": 1,}', b'{"a" 1}', b'{"a": 01}', b'{"a": 1.}', b'{"a": .1}', b'{"a": +1}'),
        *(b'{"a": 0x1}', b'{"a": "\t"}', b'{"a": "\\x"}', b'{"a": "\\u12"}', b'{"a": tru}'),
        *(b'{"a": 1} // comment', b"[{},]", b"[{}", b"nul", b"\x00", b'{"a": "'),
    ],
)
def test_what_is_no_json(payload: bytes) -> None:
    (reason,) = reasons(payload)
    assert reason.startswith("not valid JSON: ")
    assert reason.rpartition(" ")[2].isdigit()


def test_reasons_name_the_byte() -> None:
    assert reasons('{"é": tru}', b'\xef\xbb\xbf{"a": tru}', '{"\\ud800": tru}') == [
        "not valid JSON: expecting value at byte 7",
        "not valid JSON: expecting value at byte 9",
        "not valid JSON: expecting value at byte 11",
    ]


def test_a_byte_order_mark_is_ignored() -> None:
    payloads = (
        b'\xef\xbb\xbf{"a": 1}',
        b'\xef\xbb\xbf{"a": 2, "b": 1e400}',
        b'\xef\xbb\xbf[{"a": 3}]',
    )
    assert columns("a BIGINT", ALL, *payloads) == {"a": [1, 2, 3]}


def test_valid_json_that_simdjson_refuses() -> None:
    huge = "123456789012345678901234567890"
    schema = "n BIGINT, d DOUBLE, m DECIMAL(38, 0), s STRING"
    documents = [f'{{"n": {v}, "d": {v}, "m": {v}, "s": {v}}}' for v in (huge, f"-{huge}", "1e400")]
    decoded = decode(schema, ALL, *documents)
    assert decoded.batch.to_pydict() == {
        "n": [None] * 3,
        "d": [float(huge), -float(huge), float("inf")],
        "m": [Decimal(huge), Decimal(f"-{huge}"), None],
        "s": [huge, f"-{huge}", "1e400"],
    }
    assert decoded.mistyped == 4
    texts = (
        '{"s": "\\ud800"}',
        '{"s": "x\\udc00\\ud83d\\ude00"}',
        '{"\\ud800": 1, "s": "\\\\ud800"}',
    )
    assert columns("s STRING", ALL, *texts) == {"s": ["?", "x?😀", "\\ud800"]}


@pytest.mark.parametrize("huge", ["", ", 1e400"])
def test_nesting(huge: str) -> None:
    """The limit is the same for both parsers, and far from Python's own."""

    def nested(depth: int) -> str:
        return f'{{"a": 1, "w": {"[" * depth}1{huge}{"]" * depth}}}'

    limit = sys.getrecursionlimit()
    assert columns("a BIGINT", ALL, nested(1000), nested(1023)) == {"a": [1, 1]}
    assert reasons(nested(1024), nested(5_000_000)) == ["nested too deeply"] * 2
    assert sys.getrecursionlimit() == limit
    (text,) = columns("w STRING", ALL, nested(1000))["w"]
    assert text.startswith("[[[")


@pytest.mark.parametrize(
    "payload",
    [
        b"[" * 10_000_000,
        b'{"a":' * 2_000_000,
        b'{"a": "' + b"x" * 10_000_000,
        b'{"a": ' + b"9" * 10_000_000,
        b'{"a": "' + b"\\" * 10_000_000,
        b" " * 10_000_000,
        b"\xff" * 10_000_000,
        b'{"a": "' + b"\\u" * 5_000_000,
    ],
    ids=lambda payload: repr(payload[:12]),
)
def test_large_bad_payloads_neither_crash_nor_hang(payload: bytes) -> None:
    started = time.perf_counter()
    assert len(reasons(payload)) == 1
    assert time.perf_counter() - started < 10


def test_large_payloads() -> None:
    text = "x" * 10_000_000
    schema = "s STRING, l ARRAY<INT>"
    found = decode(schema, ALL, {"s": text}, {"l": list(range(1_000_000))})
    assert found.batch.column(0)[0].as_py() == text
    assert len(found.batch.column(1)[1]) == 1_000_000
    beyond = decode(schema, fields({"s": ALL}), {"s": "x" * 34_000_000, "l": [1]})
    assert len(beyond.batch.column(0)[0].as_py()) == 34_000_000
