"""Random pipelines - windows and memory above subqueries, unions, joins - pruned and unpruned."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from support.compared_pipelines import compare

QUERIES, RUN = 4, 1
"""`tools/random_pipelines.py` runs as many as one has time for."""


def test_pruned_and_unpruned_give_the_same(small_data: SparkSession, tmp_path: Path) -> None:
    found = compare(small_data, tmp_path, 20_261, QUERIES, run=RUN)
    assert found.same >= RUN
