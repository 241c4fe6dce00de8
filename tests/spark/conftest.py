"""One Spark for all Spark tests: starting a JVM takes longer than any of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from narrows.spark.run.embedded import embedded_session

SMALL_DATA = {"spark.sql.shuffle.partitions": "1", "spark.sql.codegen.wholeStage": "false"}
"""On a few rows, compiling code and starting tasks is all the time that a query takes."""


LONG = (
    "test_kill",
    "test_golden_streams",
    "test_kafka_kill",
    "test_third_party_connector",
    "test_random_pipelines",
    "test_long_runs",
    "test_third_party_format",
    "test_cluster",
)
"""Files of few tests that take minutes, or wait for processes of their own. They go first: at the
end, one of them would keep one of two workers busy, and the other would have nothing to do."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where files are dealt out to workers, the long ones go first, and then those of many tests
    (`tools/run_tests.sh` tells xdist to leave it at that: it would go by the tests alone)."""
    if not hasattr(config, "workerinput"):
        return
    tests = Counter(item.path for item in items)
    places = {name: place for place, name in enumerate(LONG)}

    def place(item: pytest.Item) -> tuple[int, int, str]:
        path = item.path
        return places.get(path.stem, len(LONG)), -tests[path], str(path)

    items.sort(key=place)


@pytest.fixture(scope="module")
def small_data(spark: SparkSession) -> Iterator[SparkSession]:
    """The same Spark, set up for many queries over little data."""
    before = {key: spark.conf.get(key) for key in SMALL_DATA}
    for key, value in SMALL_DATA.items():
        spark.conf.set(key, value)
    yield spark
    for key, old in before.items():
        spark.conf.set(key, str(old))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    # What tests hand to workers as code of users, workers must find: `support` is a folder here.
    found = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, found))
    log = Path(tmp_path_factory.mktemp("spark")) / "spark.log"
    session = embedded_session("local[2]", {"spark.sql.shuffle.partitions": "2"}, log)
    yield session
    session.stop()
