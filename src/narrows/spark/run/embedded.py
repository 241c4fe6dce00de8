"""An embedded Spark: one process, no cluster, quiet, with settings that suit pipelines."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from pyspark.errors import PySparkRuntimeError
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from narrows.files.atomic import make_private
from narrows.spark.run.class_archive import archive_options
from narrows.spark.run.java import no_spark
from narrows.spark.running.failures import is_spark_gone
from narrows.spark.sql.parsed import SUBSTITUTE

_CORES = os.cpu_count() or 2

_SETTINGS = {
    "spark.app.name": "narrows",
    # An index past the end or an overflow must not kill a stream: NULL instead of an error.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # A text means itself, and not what the driver's environment says.
    SUBSTITUTE: "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(_CORES),
    "spark.sql.streaming.metricsEnabled": "false",
    # Between the JVM and its Python workers, rows of some hundred kilobytes each must not cost
    # more than they have to: no TCP, large buffers, and batches that stay in the cache. Without a
    # limit in bytes, 10 000 such rows in one batch would not even fit into memory.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.buffer.size": str(1 << 20),
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
    # A stream takes one tiny file for each micro-batch, for years: Spark need not rewrite the list
    # of all of them after every tenth.
    "spark.sql.streaming.fileSource.log.compactInterval": "100",
    # Progress is ours to show; Spark need not keep it.
    "spark.sql.streaming.numRecentProgressUpdates": "20",
}

_BRIDGE = "py4j"
_BRIDGE_LOGGERS = (None, "py4j.clientserver", "py4j.java_gateway")
_QUERY_ERRORS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

_EXTRA_OPTIONS = "spark.driver.extraJavaOptions"
_JAVA_OPTIONS = (
    "-XX:+UseParallelGC",
    # Spark itself asks for NULLs before it reads a value, and for nothing past the end of a batch.
    # That Arrow tests both once more, value by value, would be a quarter of what a row costs here.
    "-Darrow.enable_unsafe_memory_access=true",
    "-Darrow.enable_null_check_for_get=false",
)


def embedded_session(
    master: str | None, conf: Mapping[str, str], log: Path, lasting: int = 0
) -> SparkSession:
    """Starts Spark in this process; what it has to say goes to the log file. Unless a master is
    given, there is a core for each of the machine's, and for each of so many tasks that last."""
    _silence_query_errors()
    _silence_bridge()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master or _local(lasting))
    # Spark makes a folder for tables that nobody creates; not in the user's own.
    warehouse = {"spark.sql.warehouse.dir": str((log.parent / "warehouse").absolute())}
    parallelism = {} if master else {"spark.default.parallelism": str(_CORES)}
    for key, value in {**_SETTINGS, **parallelism, **warehouse, **conf}.items():
        builder = builder.config(key, value)
    with as_file(files("narrows.spark.run").joinpath("log4j2.properties")) as settings:
        options = [
            f"-Dlog4j2.configurationFile=file:{settings}",
            *_JAVA_OPTIONS,
            *archive_options(conf.get("spark.driver.extraClassPath", "")),
            conf.get(_EXTRA_OPTIONS, ""),
        ]
        builder = builder.config(_EXTRA_OPTIONS, " ".join(options).strip())
        try:
            with _errors_to(log), _own_interrupt():
                return builder.getOrCreate()
        except PySparkRuntimeError as error:
            if "JAVA_GATEWAY_EXITED" not in str(error):
                raise
            raise no_spark(log) from error


def _local(lasting: int) -> str:
    """Tasks that last wait for most of their time: they take no core from the others, which must
    not be more at a time than the machine has cores."""
    return f"local[{_CORES + lasting}]" if lasting else "local[*]"


def _silence_query_errors() -> None:
    """pyspark prints every failed query with a screen of JSON, and then raises it: we tell it once.

    Its loggers must be made by pyspark: they are given arguments that others do not take.
    """
    for name in _QUERY_ERRORS:
        PySparkLogger.getLogger(name).disabled = True


def _silence_bridge() -> None:
    """What goes wrong between Python and the JVM is raised, and logged as well, with a screen of
    traceback for every call; without a JVM that is many times a second."""
    for name in _BRIDGE_LOGGERS:
        logging.getLogger(name).addFilter(_is_no_remark_of_the_bridge)


def _is_no_remark_of_the_bridge(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != _BRIDGE


def stop_session(spark: SparkSession) -> None:
    """Stops an embedded Spark, which may have ended already."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that there was nothing left to stop
            spark.stop()
    except Exception as error:
        if not is_spark_gone(error):
            raise


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Keeps what Ctrl-C does. pyspark would have it cancel all jobs first: a pipeline that is then
    asked to stop, and would have finished its micro-batch, has failed by that time."""
    if threading.current_thread() is not threading.main_thread():
        yield  # nobody can set it here, pyspark neither
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None:  # else it was set by something other than Python
            signal.signal(signal.SIGINT, before)


@contextmanager
def _errors_to(log: Path) -> Iterator[None]:
    """Lets the JVM that is started in this block write its remarks into a file.

    A process gives its children the standard error it has at that moment, and the JVM has things to
    say there that no setting can silence. Nothing is lost: they are in the file.
    """
    make_private(log.parent)
    sys.stderr.flush()
    ours = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
