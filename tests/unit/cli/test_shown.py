"""Data on the terminal: nothing in it is a command, and JSON stays JSON."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from narrows.cli.shown import shown, shown_error, shown_field, shown_json, shown_lines
from narrows.errors import Code, NarrowsError, Problem, Span

TEXTS = st.one_of(
    st.text(st.characters()),  # surrogates, too
    st.text("a\\\t\n\r\x1b\x9b\x7f\u202e\u2066\u2028\ufeff\ud800\U000e0041"),
)


def test_what_a_terminal_would_obey() -> None:
    assert shown("\x1b[2J\x9b\x07\x7f\0") == r"\x1b[2J\x9b\x07\x7f\x00"
    assert shown("a\nb\tc\r") == r"a\nb\tc\r"
    assert shown("\u202egnp\u2066\u200e\u2028\ufeff") == r"\u202egnp\u2066\u200e\u2028\ufeff"
    assert shown("\udcff\U000e0041") == r"\udcff\U000e0041"


def test_what_is_only_text() -> None:
    for text in ("[bold]x[/usr/local]", ":smile:", r"C:\new", "Straße 東京", "👩\u200d🔧", ""):
        assert shown(text) == text
    assert shown_lines("a\nb\x1b") == "a\nb\\x1b"


@given(TEXTS)
def test_nothing_is_left_to_obey(text: str) -> None:
    made = shown(text) + shown_field(text) + shown_json(json.dumps(text, ensure_ascii=False))
    kinds = {unicodedata.category(c) for c in made if c not in "\u200c\u200d"}
    assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert len(made.splitlines()) <= 1


@given(TEXTS)
def test_json_has_the_same_value(text: str) -> None:
    assert json.loads(shown_json(json.dumps({"a": text}, ensure_ascii=False))) == {"a": text}


@given(TEXTS, TEXTS)
def test_other_fields_look_different(one: str, other: str) -> None:
    assert (shown_field(one) == shown_field(other)) == (one == other)


def test_the_caret_of_an_error_stays_where_it_was() -> None:
    text = "SELECT '\x1b]0;x\x07' AS\r\n\tzz\x9b FROM s"
    start = text.index("zz")
    span = Span(start, start + 3)
    problem = Problem(Code.UNKNOWN_COLUMN, "column `zz\x9b`\nerror[x]", span, "\x1b?")
    told = shown_error(NarrowsError(problem, text=text, filename="a\x1b.sql"))
    assert told.splitlines() == [
        r"error[unknown_column]: column `zz\x9b`\nerror[x]",
        r" --> a\x1b.sql:2:2",
        "  |",
        "2 |  zz\N{REPLACEMENT CHARACTER} FROM s",
        "  |  ^^^",
        r"  = hint: \x1b?",
    ]
