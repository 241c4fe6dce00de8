"""Whose file is this? Only whoever would give it that name."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from narrows.files.output_names import BatchFiles, is_unpublished, unpublished_name

PIPELINES = st.one_of(st.text("p-0*", min_size=1, max_size=14), st.text(min_size=1))
BATCHES = st.builds(
    BatchFiles,
    PIPELINES,
    st.one_of(st.integers(0, 3), st.integers(0, 10**12)),
    st.sampled_from([".json", ".csv", ".ndjson"]),
)


def test_names_look_as_documented() -> None:
    assert BatchFiles("orders", 0, ".json").name(0) == "orders-0000000000-00000.json"
    assert BatchFiles("o", 10**11, ".csv").name(123456) == "o-100000000000-123456.csv"


@given(BATCHES, st.integers(0, 10**6))
def test_a_batch_owns_what_it_names(files: BatchFiles, part: int) -> None:
    assert files.owns(files.name(part))


@given(BATCHES, BATCHES, st.integers(0, 10**6))
def test_and_nothing_that_another_names(mine: BatchFiles, theirs: BatchFiles, part: int) -> None:
    assume(mine.pipeline.casefold() != theirs.pipeline.casefold() or mine.batch != theirs.batch)
    assert not mine.owns(theirs.name(part))


@given(PIPELINES, PIPELINES)
def test_what_is_being_written(mine: str, theirs: str) -> None:
    assume(mine.casefold() != theirs.casefold())
    assert is_unpublished(unpublished_name(mine), mine)
    assert not is_unpublished(unpublished_name(theirs), mine)
    assert not is_unpublished(BatchFiles(mine, 0, ".writing").name(0), mine)
