"""Functions that are written out demand no less than what they are short for looks at."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from support import queries
from support.pruning import check_several

FORMS = (
    *("bypass({x})", "object_construct('f', {x}, 'g', {z}).f", "array_create({y}, {x})[1]"),
    "object_pick(named_struct('f', {x}, 'g', {z}), 'f').f",
    "object_pick(named_struct('g', {z}, 'f', named_struct('h', {x}, 'g', {z})), 'f.h').f.h",
    "erase(named_struct('f', {x}, 'g', {z}), 'g').f",
    "object_concat(named_struct('f', {y}, 'g', {z}), named_struct('f', {x})).f",
    *("items(named_struct('f', {x}))[0].value", "`values`(named_struct('f', {x}))[0]"),
    "element_at(map(keys(struct({z} AS k))[0], {x}), 'k')",
    "if(object_size(struct({z} AS f)) = 1, {x}, {y})",
)


@settings(max_examples=100)
@given(st.integers(0, 2**64 - 1))
def test_queries_that_call_them_cannot_tell_what_was_pruned(seed: int) -> None:
    with patch.object(queries, "WRAPPERS", FORMS):
        check_several(seed, relational=False)
