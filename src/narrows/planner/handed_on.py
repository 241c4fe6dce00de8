"""Rows that one pipeline hands to another as they are: what is declared must be what is written.

Nothing is decoded on the way, so a stream cannot read a BIGINT where a pipeline writes a STRING. It
may leave columns out, and have them in another order: they are known by their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from narrows.catalog.objects import Pipeline, Sink, Source
from narrows.catalog.store import ObjectStore
from narrows.errors import did_you_mean
from narrows.expressions.nodes import Column
from narrows.plugins.registry import CONNECTORS
from narrows.schema import UNKNOWN
from narrows.sql.parser.statements import ObjectKind


def streams_of(catalog: ObjectStore, sink: Sink) -> Iterator[Source]:
    """The streams that read the rows of a sink as they are."""
    for stream in catalog.of_kind(ObjectKind.STREAM).values():
        if isinstance(stream, Source) and hands_on(sink, stream):
            yield stream


def writers_of(catalog: ObjectStore, stream: Source) -> Iterator[Pipeline]:
    """The pipelines whose rows a stream reads as they are."""
    for pipeline in catalog.of_kind(ObjectKind.PIPELINE).values():
        assert isinstance(pipeline, Pipeline)
        if any(hands_on(catalog.sink(name), stream) for name in pipeline.sinks):
            yield pipeline


def hands_on(sink: Sink, stream: Source) -> bool:
    if sink.connector != stream.connector or not sink.takes_rows:
        return False
    return CONNECTORS.find(sink.connector).reads_back(stream.options, sink.options) is not None


def mismatch(stream: Source, outputs: Sequence[Column]) -> tuple[str, str | None] | None:
    """Why a stream cannot read such columns, and what to do about it; None if it can."""
    written = {column.name.casefold(): column for column in outputs}
    for field in stream.schema:
        found = written.get(field.name.casefold())
        if found is None:
            near = did_you_mean(field.name, [column.name for column in outputs])
            return f"it has a column `{field.name}`, which is not written", near
        if found.dtype not in (field.type, UNKNOWN):
            types = f"`{field.name}` as {field.type.sql()}, and what is written is"
            hint = f"write `CAST({field.name} AS {field.type.sql()})`, or declare what is written"
            return f"it has {types} {found.dtype.sql()}", hint
    return None
