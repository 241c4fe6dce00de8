"""An embedded Spark says nothing that we say ourselves, and leaves Ctrl-C to us."""

from __future__ import annotations

import signal
import threading

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


def test_ctrl_c_cancels_no_jobs(spark: SparkSession) -> None:
    assert threading.current_thread() is threading.main_thread(), "pyspark sets it in no other"
    # A shell that has started it in the background has it ignored.
    assert signal.getsignal(signal.SIGINT) in (signal.default_int_handler, signal.SIG_IGN)
