"""One Spark for all Spark tests: starting a JVM takes longer than any of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from narrows.spark.embedded import embedded_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    log = Path(tmp_path_factory.mktemp("spark")) / "spark.log"
    session = embedded_session("local[2]", {"spark.sql.shuffle.partitions": "2"}, log)
    yield session
    session.stop()
