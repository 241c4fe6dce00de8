"""What folds take of each row, as columns of a data frame, and what they give.

    sum(a) FILTER (WHERE b), k TIMESTAMP     taken0: unix_micros(k)   taken1: CASE WHEN b THEN a END
                                             made0: BIGINT            made1: BIGINT

Spark computes what is taken, Python folds it (`narrows.stateful.folds`), and what comes back has
its type again. Times are counted in microseconds meanwhile: what clocks show in Python, they show
twice when summer ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from narrows.errors import InternalError
from narrows.expressions.nodes import Call, Expr
from narrows.expressions.text import expression_text
from narrows.physical.window_folds import Folded, folded
from narrows.schema import BIGINT, TIMESTAMP, DataType
from narrows.spark.sql.frame import Frame
from narrows.spark.sql.parsed import parsed_column
from narrows.spark.sql.sql_text import SparkSql
from narrows.spark.sql.types import spark_type
from narrows.stateful.folds.fold import Folding, Takes


@dataclass(frozen=True)
class FoldedRows:
    folding: Folding
    texts: tuple[str, ...]
    """What is taken of each row, as SQL: the keys, then what each fold takes."""
    types: tuple[DataType, ...]
    """Of what is made: the keys, then the results."""

    @property
    def taken(self) -> tuple[str, ...]:
        return tuple(f"taken{place}" for place in range(len(self.texts)))

    @property
    def columns(self) -> list[SparkColumn]:
        named = zip(self.texts, self.taken, strict=True)
        return [parsed_column(text).alias(name) for text, name in named]

    @property
    def made(self) -> dict[str, DataType]:
        """The names of what is made, and its types while it is on its way."""
        carried = (BIGINT if dtype == TIMESTAMP else dtype for dtype in self.types)
        return {f"made{place}": dtype for place, dtype in enumerate(carried)}

    @property
    def schema(self) -> StructType:
        schema = StructType()
        for name, dtype in self.made.items():
            schema = schema.add(name, spark_type(dtype))
        return schema

    @property
    def results(self) -> list[SparkColumn]:
        """What was made, of its own type."""
        return [
            F.timestamp_micros(name) if dtype == TIMESTAMP else F.col(name)
            for name, dtype in zip(self.made, self.types, strict=True)
        ]


def folded_rows(frame: Frame, keys: Sequence[Expr], calls: Sequence[Expr]) -> FoldedRows:
    """How rows of a frame are folded by keys."""
    ansi = frame.data.sparkSession.conf.get("spark.sql.ansi.enabled", "true") == "true"
    sql = frame.sql
    made = [_folded(call, ansi=ansi) for call in calls]
    return FoldedRows(
        Folding(len(keys), tuple(how.fold for _, how in made)),
        (
            *(_in_python(sql.text(key), key.dtype) for key in keys),
            *(_taken(sql, call, how) for call, how in made),
        ),
        (*(key.dtype for key in keys), *(how.dtype for _, how in made)),
    )


def _folded(expr: Expr, *, ansi: bool) -> tuple[Call, Folded]:
    made = folded(expr, ansi=ansi) if isinstance(expr, Call) else None
    if made is None or not isinstance(expr, Call):
        raise InternalError(f"`{expression_text(expr)}` cannot be folded")
    return expr, made


def _taken(sql: SparkSql, call: Call, made: Folded) -> str:
    """What the fold of a call takes of each row; NULL where the row does not count."""
    args = [sql.text(arg) for arg in call.args]
    tests = [] if call.filter is None else [f"({sql.text(call.filter)})"]
    match made.fold.takes:
        case Takes.VALUE:
            value = _in_python(args[0], call.args[0].dtype)
        case Takes.PRESENCE:
            value = "TRUE"
            tests += [f"({arg}) IS NOT NULL" for arg in args]
        case Takes.TRUTH:
            value = "TRUE"
            tests += [f"({arg})" for arg in args]
    return f"CASE WHEN {' AND '.join(tests)} THEN {value} END" if tests else value


def _in_python(text: str, dtype: DataType) -> str:
    return f"unix_micros({text})" if dtype == TIMESTAMP else text
