"""The data frame that goes into a sink, and how a row is put together from it.

It has a column for every computed field (`o0`, `o1`, ...) and, behind those, the fragments that
readers have encoded. Which of them make a row, in which order, stand in each target's `parts`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from narrows.connectors.target import RowPart
from narrows.explain.plan import Plan
from narrows.logical.nodes import DataSink, Node
from narrows.logical.walk import topological
from narrows.physical.execution import rows_of
from narrows.physical.nodes import (
    PhysicalEncoder,
    PhysicalProject,
    PhysicalReader,
)
from narrows.physical.rules.by_index_projection_into_encoder_rewrite import fragments_of
from narrows.spark.read.plain_read import NamedRead, named_read
from narrows.spark.read.shipped import shipped_columns
from narrows.spark.sql.frame import fragment_name
from narrows.spark.sql.types import spark_struct


def sink_frame(plan: Plan, frame: DataFrame) -> DataFrame:
    """The rows of a pipeline as its sinks take them."""
    names = _computed_names(rows_of(plan.physical))
    return as_encodable(frame.toDF(*names, *frame.columns[len(names) :]))


def as_encodable(frame: DataFrame) -> DataFrame:
    """The data frame with text in place of what no encoder takes."""
    columns = []
    for field in frame.schema:
        encodable = _encodable(field.dataType)
        column = F.col(field.name)
        same = encodable == field.dataType
        columns.append(column if same else column.cast(encodable).alias(field.name))
    return frame.select(*columns)


def _encodable(kind: T.DataType) -> T.DataType:
    """The type itself, or what stands for it where Arrow or the encoders have no such type."""
    match kind:
        case T.ArrayType():
            return T.ArrayType(_encodable(kind.elementType), kind.containsNull)
        case T.MapType():
            key, value = _encodable(kind.keyType), _encodable(kind.valueType)
            return T.MapType(key, value, kind.valueContainsNull)
        case T.StructType():
            members = [T.StructField(m.name, _encodable(m.dataType), m.nullable) for m in kind]
            return T.StructType(members)
        case _:
            return T.StringType() if isinstance(kind, _WRITTEN_AS_TEXT) else kind


_WRITTEN_AS_TEXT = (
    T.DayTimeIntervalType,
    T.YearMonthIntervalType,
    T.CalendarIntervalType,
    T.TimeType,
    T.VariantType,
)


# --- how a target puts rows together --------------------------------------------------------------


def copied_from(plan: Plan) -> NamedRead | None:
    """What to read, if that is as the sinks take it."""
    rows = rows_of(plan.physical)
    plain = named_read(rows, _computed_names(rows))
    if plain is None or any(_encodable(f.dataType) != f.dataType for f in _shipped(plain)):
        return None
    return plain


def _shipped(plain: NamedRead) -> T.StructType:
    return spark_struct(shipped_columns(plain.spec))


def _computed_names(rows: Node) -> list[str]:
    return [f"o{place}" for place, _ in _computed(rows)]


def parts_of(sink: DataSink) -> tuple[RowPart, ...]:
    """The parts of a row, in the order of the select list."""
    rows = rows_of(sink)
    columns = {ordinal: f"o{place}" for place, (ordinal, _) in _computed(rows)}
    parts = {
        ordinal: RowPart(columns[ordinal], name, changed=columns.get(sink.changed.get(ordinal, -1)))
        for _, (ordinal, name) in _computed(rows)
        if ordinal not in sink.changed.values()
    }
    if isinstance(sink.child, PhysicalEncoder):
        parts |= _fragments(rows, sink.child)
    return tuple(part for _, part in sorted(parts.items()))


def _computed(rows: Node) -> list[tuple[int, tuple[int, str]]]:
    """The computed columns: their places in the data frame, their ordinals and names."""
    delayed = rows.delayed if isinstance(rows, PhysicalProject) else frozenset()
    kept = [(o, column.name) for o, column in enumerate(rows.outputs) if o not in delayed]
    return list(enumerate(kept))


def _fragments(rows: Node, encoder: PhysicalEncoder) -> Iterator[tuple[int, RowPart]]:
    """The fragments of an encoder, by the ordinal of their first field."""
    sources = {n.relation.id: n for n in topological(rows) if isinstance(n, PhysicalReader)}
    for first, fragment in fragments_of(encoder.sink, encoder.by_index_projection):
        relation = first.column.id.relation
        place = sources[relation].encodes.index(fragment)
        yield first.ordinal, RowPart(fragment_name(relation, place), fragment=fragment)
