"""What a pipeline holds and keeps does not grow with the number of its micro-batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from narrows.spark.streaming import feed, query_settings, source_log
from narrows.worker import count_files
from narrows.worker.keeping import fewer_files
from narrows.worker.windows import keeper
from support.held import held_by_this_process, kept
from support.long_run import (
    BY_KEYS,
    BY_QUERY,
    BY_READERS,
    IN_GROUPS,
    IN_WINDOWS,
    ONCE_EACH,
    LongRun,
)

SHORT = {
    "spark.sql.streaming.minBatchesToRetain": "5",
    "spark.sql.streaming.fileSource.log.compactInterval": "10",
}
"""What Spark keeps of the last 100 batches it keeps of five here, so that fewer batches will do."""


@pytest.fixture
def keeps_little(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    monkeypatch.setattr(query_settings, "LOG_IS_KEPT_FOR", "1s")
    monkeypatch.setattr(feed, "_FORGETS_EVERY", 1)
    monkeypatch.setattr(source_log, "_LARGE", 0)
    monkeypatch.setattr(source_log, "_KEPT", 2)
    monkeypatch.setattr(count_files, "_MANY", 4)
    monkeypatch.setattr(fewer_files, "_MANY_FILES", 3)
    monkeypatch.setattr(keeper, "_MANY_FILES", 3)
    before = {key: spark.conf.get(key) for key in SHORT}
    for key, value in SHORT.items():
        spark.conf.set(key, value)
    yield spark
    for key, old in before.items():
        spark.conf.set(key, str(old))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux says it like this")
@pytest.mark.parametrize(
    "select",
    [BY_QUERY, BY_READERS, BY_KEYS, ONCE_EACH, IN_WINDOWS, IN_GROUPS],
    ids=["query", "readers", "keys", "distinct", "windows", "groups"],
)
def test_nothing_grows_with_the_number_of_batches(
    keeps_little: SparkSession, tmp_path: Path, select: str
) -> None:
    runs = LongRun(keeps_little, tmp_path, select)
    runs.put(70)
    with runs.session() as session:
        run = session.start("p", trigger="0 seconds")
        runs.await_batches(run, 40)
        early, early_kept = held_by_this_process(), kept(runs.state, stores=False)
        runs.await_batches(run, 70)
        late, late_kept = held_by_this_process(), kept(runs.state, stores=False)
        assert run.progress["p"]["read"]["s"]["payloads"] == 70
        run.stop()
    assert late_kept.files < early_kept.files + 40, "a batch leaves seven files, if they are kept"
    assert late_kept.bytes < early_kept.bytes + 10_000
    assert late.memory < early.memory + (16 << 20)
    assert late.descriptors < early.descriptors + 8
    source = runs.state / "checkpoints" / "p" / "sources" / "0"
    kept_lines = [path.read_text().count("\n") for path in source.glob("*.compact")]
    assert max(kept_lines, default=0) < 20
    assert bool(kept_lines) == (select == BY_QUERY)
    # Spark starts with what is left, and goes on from there.
    runs.put(25)
    for _ in range(2):
        with runs.session() as session:
            session.start("p", once=True).await_done(timeout=180)
            assert session.runs[0].progress["p"]["read"]["s"]["payloads"] == 95
    assert runs.rows() == list(range(95))
