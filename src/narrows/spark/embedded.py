"""An embedded Spark: one process, no cluster, quiet, with settings that suit pipelines."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.resources import as_file, files

from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.app.name": "narrows",
    # An index past the end or an overflow must not kill a stream: NULL instead of an error.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
    "spark.sql.streaming.metricsEnabled": "false",
    # Progress is ours to show; Spark need not keep it.
    "spark.sql.streaming.numRecentProgressUpdates": "20",
}


def embedded_session(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master or "local[*]")
    for key, value in {**_SETTINGS, **conf}.items():
        builder = builder.config(key, value)
    with as_file(files("narrows.spark").joinpath("log4j2.properties")) as log:
        option = f"-Dlog4j2.configurationFile=file:{log} -XX:+UseParallelGC"
        return builder.config("spark.driver.extraJavaOptions", option).getOrCreate()
