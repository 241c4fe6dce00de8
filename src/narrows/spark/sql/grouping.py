"""Keys of rows that are brought together: each partition's, or all rows of a stream."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from narrows.expressions.nodes import Expr
from narrows.spark.sql.frame import Frame
from narrows.spark.sql.parsed import parsed_column


def group_columns(frame: Frame, partition: Sequence[Expr]) -> tuple[list[str], DataFrame]:
    """The rows with columns for their keys; without keys all rows have the same one."""
    if not partition:
        return ["key0"], frame.data.withColumn("key0", F.lit(0))
    names = [f"key{place}" for place in range(len(partition))]
    keys = zip(names, partition, strict=True)
    columns = [parsed_column(frame.sql.text(expr)).alias(name) for name, expr in keys]
    return names, frame.data.select("*", *columns)
