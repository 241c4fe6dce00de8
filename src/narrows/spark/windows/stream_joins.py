"""Two streams joined by tasks that keep rows of both (`worker/joining/`).

    left rows:   keys, time, true,  their columns, NULL ...
    right rows:  keys, time, false, NULL ...,      their columns
    ∪ ──► rows of a key to its task ──► matches: the columns of both

Where one task has read the entries of both streams, rows stay there, and the job can be run again.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from narrows.errors import InternalError
from narrows.expressions.nodes import Expr
from narrows.logical.nodes import JoinKind
from narrows.physical.nodes import PhysicalJoin
from narrows.physical.stream_join import StreamJoin, stream_join
from narrows.schema import BIGINT
from narrows.spark.sql.frame import Frame
from narrows.spark.sql.parsed import parsed_column
from narrows.spark.sql.rows import select
from narrows.spark.windows.task_memory import TaskMemory
from narrows.worker.joining.side import TIME, Side, two_sides
from narrows.worker.joining.task import LEFT, JoinSpec, key_name


def join_sides(node: PhysicalJoin, folders: tuple[str, str]) -> tuple[Side, Side]:
    """What is kept of the rows of both sides, and where."""
    how, kind = _how(node), node.kind
    waits = kind in (JoinKind.LEFT, JoinKind.FULL), kind in (JoinKind.RIGHT, JoinKind.FULL)
    return two_sides(folders, len(how.keys), how.within, waits, once=kind is JoinKind.SEMI)


def join_streams(left: Frame, right: Frame, node: PhysicalJoin, memory: TaskMemory) -> Frame:
    """The rows that match, and those that have none where the join gives them."""
    how, columns = _how(node), (_columns(left), _columns(right))
    folders = memory.place(node, 0), memory.place(node, 1)
    schemas = [to_arrow_schema(StructType(fields), timezone="UTC") for fields in columns]
    sides = zip(join_sides(node, folders), schemas, strict=True)
    left_side, right_side = (replace(side, schema=schema) for side, schema in sides)
    once = node.kind is JoinKind.SEMI
    both = _rows(left, how, 0, columns).unionAll(_rows(right, how, 1, columns))
    if memory.in_place or memory.advances:
        together = both.coalesce(memory.tasks)
    else:
        together = both.repartition(memory.tasks, *map(key_name, range(len(how.keys))))
    given = columns[0] if once else [*columns[0], *columns[1]]
    spec = JoinSpec(left_side, right_side, once)
    made = left.with_rows(memory.run(together, spec, StructType([*given])))
    if once:
        return made
    joined = Frame(
        made.rows,
        {**left.sources, **right.sources},
        {**left.columns, **right.columns},
        (*left.fragments, *right.fragments),
    )
    if not how.rest:
        return joined
    where = " AND ".join(f"({joined.sql.text(expr)})" for expr in how.rest)
    return joined.with_rows(select(["*"], joined.text, f" WHERE {where}"))


def _columns(frame: Frame) -> list[StructField]:
    """Beside a row of the other side alone, there is NULL in any of them."""
    return [StructField(field.name, field.dataType) for field in frame.data.schema]


def _rows(
    frame: Frame, how: StreamJoin, side: int, columns: tuple[list[StructField], list[StructField]]
) -> DataFrame:
    """The rows of one side, beside NULLs for the columns of the other."""
    keys = [_key(frame, pair, side) for pair in how.keys]
    tests = " AND ".join(f"({frame.sql.text(test)})" for test in how.tests[side])
    if tests:  # what matches none has no key
        keys[0] = f"CASE WHEN {tests} THEN {keys[0]} END"
    time = "0L" if how.times is None else f"unix_micros({frame.sql.text(how.times[side])})"
    own: list[list[SparkColumn]] = [[], []]
    for place, fields in enumerate(columns):
        for field in fields:
            value = F.col(field.name) if place == side else F.lit(None).cast(field.dataType)
            own[place].append(value.alias(field.name))
    return frame.data.select(
        *(parsed_column(key).alias(key_name(place)) for place, key in enumerate(keys)),
        parsed_column(time).alias(TIME),
        F.lit(side == 0).alias(LEFT),
        *own[0],
        *own[1],
    )


def _key(frame: Frame, pair: tuple[Expr, Expr], side: int) -> str:
    text = frame.sql.text(pair[side])
    return text if pair[0].dtype == pair[1].dtype else f"CAST({text} AS {BIGINT})"


def _how(node: PhysicalJoin) -> StreamJoin:
    how = stream_join(node)
    if how is None:
        raise InternalError("a join that tasks keep must be one that they can do")
    return how
