"""An embedded Spark says nothing that we say ourselves."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def test_a_failed_query_is_raised_and_not_printed(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PySparkException):
        spark.sql("SELECT assert_true(id < 0), CAST(1 AS INT) / 0 FROM range(1)").collect()
    with pytest.raises(PySparkException):
        spark.sql("SELECT not_there FROM range(1)").collect()
    assert capfd.readouterr().err == ""
