"""Has the classes of Spark kept for all JVMs to come, if they are not: see `class_archive.py`.

    python tools/keep_classes.py

Whoever starts many JVMs, as the tests do, does this first. It takes as long as starting two.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from narrows.spark.run.class_archive import archive_options, archive_path
from narrows.spark.run.embedded import embedded_session

_DEADLINE = 300.0


def main() -> None:
    archive = archive_path()
    if archive is None or archive.exists():
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        # The JVM ends with the process that started it: so that is another one than this.
        subprocess.run([sys.executable, __file__, folder], check=True)
    while not archive.exists() and time.monotonic() < began + _DEADLINE:
        threading.Event().wait(0.2)
        archive_options()  # which gives the file its name when it is whole
    if archive.exists():
        print(f"Spark's classes are kept in {archive} ({time.monotonic() - began:.0f} s)")


def use_spark(folder: Path) -> None:
    """Loads what most pipelines need."""
    spark = embedded_session("local[2]", {"spark.sql.shuffle.partitions": "1"}, folder / "log")

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    def collect(batch: DataFrame, number: int) -> None:
        batch.collect()

    rows = spark.range(100).mapInArrow(same, "id LONG").selectExpr("id", "id % 7 AS k")
    rows.createOrReplaceTempView("rows")
    joined = "SELECT a.k, count(*), sum(b.id) FROM rows a JOIN rows b USING (id) GROUP BY a.k"
    spark.sql(joined).collect()
    rows.write.json(str(folder / "in"))
    stream = spark.readStream.schema("id LONG, k LONG").json(str(folder / "in"))
    counted = stream.groupBy("k").count().writeStream.outputMode("complete")
    query = (
        counted.foreachBatch(collect)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        use_spark(Path(sys.argv[1]))
    else:
        main()
