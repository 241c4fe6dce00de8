"""Why all payloads of a source are bad: what they look like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from narrows.worker.guesses import guess, sample_of

PRETTY = json.dumps([{"a": 1, "b": {"c": [1, 2]}, "d": "x"}, {"a": 2}], indent=2)


def _lines(text: str, encoding: str = "utf-8") -> list[bytes]:
    return text.encode(encoding).split(b"\n")


@pytest.mark.parametrize(
    ("payloads", "form", "part"),
    [
        (_lines(PRETTY), "json", "over several lines"),
        (_lines(json.dumps({"a": 1}, indent="\t")), "json", "over several lines"),
        (_lines('{"a": 1}\n{"a": 2}', "utf-16"), "json", "UTF-16"),
        (_lines("1,x\n2,y", "utf-16-le"), "csv", "UTF-16"),
        (_lines("1,2\n3,4"), "json", "`format = 'csv'`"),
        (_lines("a;b\n3;4"), "json", "delimiter = ';'"),
        (_lines("a\tb\n3\t4"), "json", r"delimiter = '\t'"),
    ],
)
def test_guesses(payloads: list[bytes], form: str, part: str) -> None:
    assert part in (guess(payloads, form) or "")


@pytest.mark.parametrize(
    "payloads",
    [
        [],
        _lines("[1, 2, 3]\n[4]"),
        _lines('{"a": \nnot json at all\n{"a": 1} trailing'),
        _lines("1,2\n3"),
        [b"\xff\xfe"[:1], b"x", b"y"],
    ],
)
def test_nothing_is_said_of_what_is_not_plain(payloads: list[bytes]) -> None:
    assert guess(payloads, "json") is None


def test_csv_is_not_told_what_json_is() -> None:
    assert guess(_lines(PRETTY), "csv") is None


def test_a_sample_of_letters(tmp_path: Path) -> None:
    assert sample_of(tmp_path / "none") == []
    letters = [{"reason": "r", "payload": "{"}, {"reason": "r", "payload_base64": "//4="}, {}]
    lines = "".join(json.dumps(letter) + "\n" for letter in letters)
    (tmp_path / "x.ndjson").write_text(lines, "utf-8")
    assert sample_of(tmp_path) == [b"{", b"\xff\xfe", b""]
