"""What decoders keep of the projections they have seen."""

from __future__ import annotations

import pickle

from narrows.demand import ALL, fields
from narrows.formats.kept import Kept
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema

SCHEMA = read_schema(", ".join(f"c{n} INT" for n in range(20)))


def projection(n: int) -> DecodeProjection:
    return DecodeProjection(SCHEMA, fields({f"c{n}": ALL}))


def test_the_same_is_derived_once() -> None:
    made: list[DecodeProjection] = []
    kept = Kept(lambda wanted: made.append(wanted) or len(made))  # type: ignore[func-returns-value]
    assert [kept.of(projection(n)) for n in (0, 1, 0, 1)] == [1, 2, 1, 2]
    assert made == [projection(0), projection(1)]


def test_only_the_last_few_are_kept() -> None:
    made: list[DecodeProjection] = []
    kept = Kept(lambda wanted: made.append(wanted) or len(made))  # type: ignore[func-returns-value]
    for n in range(20):
        kept.of(projection(n))
    assert kept.of(projection(19)) == 20
    assert kept.of(projection(0)) == 21


def test_what_is_derived_from_a_projection_is_not_carried() -> None:
    before = projection(3)
    assert [column.text for column in before.columns] == ["c3"]
    pickled = pickle.dumps(before)
    after = pickle.loads(pickled)
    assert after == before
    assert "columns" not in vars(after)
    assert after.columns == before.columns
