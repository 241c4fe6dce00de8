"""Windows whose rows tasks keep: rows come as they were shipped, with the bounds of their windows.

PhysicalProject fields=[k; count(DISTINCT a)]              Spark's part, when windows close
└─PhysicalAggregation keys=[k], calls=[count(DISTINCT a)]
  └─PhysicalWindowRows window=..., state=rows, in=files    what tasks keep, of each row
    └─PhysicalDecoder                                      what this ships
"""

from __future__ import annotations

from narrows.logical.nodes import Node
from narrows.logical.walk import topological
from narrows.physical.nodes import PhysicalReader, PhysicalWindowRows
from narrows.projection.columns import DecodeProjection, path_text


def shipped_columns(reader: PhysicalReader) -> list[str]:
    """What a reader ships of a row, in words."""
    source = reader.source
    shipped = DecodeProjection(source.schema, reader.shipped, metadata=source.metadata).columns
    columns = [f"{each.text} {each.aspect.name} {each.dtype}" for each in shipped]
    columns += encoded_fields(reader)
    return [*columns, "order"] if reader.order else columns


def encoded_fields(reader: PhysicalReader) -> list[str]:
    """What a reader has encoded of a row, in words: whoever keeps rows keeps it as it is."""
    return [
        f"{path_text(field.path)} {field.dtype} as {field.name}, {each.format} {each.options}"
        for each in reader.encodes
        for field in each.fields
    ]


def window_rows(rows: Node) -> PhysicalWindowRows | None:
    """The window whose rows the tasks of such a plan keep; None where there is none."""
    found = (node for node in topological(rows) if isinstance(node, PhysicalWindowRows))
    return next(found, None)
