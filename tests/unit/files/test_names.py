"""Names as file names: never another folder, never the file of another name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from narrows.errors import Code, NarrowsError
from narrows.files.names import file_name, name_of

NASTY = (
    "..",
    ".",
    "../../x",
    "/etc/x",
    "*",
    "[x]",
    "~",
    "~2f",
    "a~~b",
    "_a",
    ".a",
    "-a",
    "\0",
    "é",
)
NAMES = st.one_of(
    st.text(min_size=1),
    st.text(st.characters(), min_size=1),
    st.text("aA_-.~2ef/", min_size=1, max_size=6),
    st.sampled_from(NASTY),
    st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=3), st.just(200)),
)


@pytest.mark.parametrize("name", ["orders", "low_pressure", "my-orders", "p-0000000000", "2026"])
def test_plain_names_stay(name: str) -> None:
    assert file_name(name) == name


def test_names_have_no_case() -> None:
    assert file_name("Orders") == file_name("ORDERS") == "orders"
    assert file_name("STRASSE") == file_name("straße")


def test_others_are_escaped() -> None:
    assert file_name("../x") == "~2e~2e~2fx"
    assert file_name("_x") == "~5fx"
    assert file_name("a b") == "a~20b"
    assert file_name("\udcff") == "~ed~b3~bf"


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(NarrowsError) as caught:
        file_name("")
    assert caught.value.code == Code.INVALID_NAME


@given(NAMES, NAMES)
@example("a" * 300, "a" * 301)
@example("~2f", "/")
def test_other_names_have_other_file_names(one: str, other: str) -> None:
    assume(one.casefold() != other.casefold())
    assert file_name(one) != file_name(other)


@given(NAMES)
def test_a_file_name_stays_in_its_folder(name: str) -> None:
    made = file_name(name)
    assert made[0] not in "._-"
    assert made.isascii()
    assert not set(made) & set("/\\*?[]{}\0\n. %")
    assert made == made.lower()
    assert len(made) <= 120
    assert os.path.normpath(Path("/state/kind") / made) == f"/state/kind/{made}"


@given(NAMES)
def test_the_name_is_found_again(name: str) -> None:
    made = file_name(name)
    assume("~~" not in made)
    shown = name.casefold().encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    assert name_of(made) == shown


def test_of_a_long_name_the_beginning_is_found_again() -> None:
    assert name_of(file_name("ab" * 300)).startswith("abab")
