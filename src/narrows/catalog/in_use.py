"""What a running pipeline is made of is neither dropped nor replaced: it would go on as it was, and
the catalog would tell another story."""

from __future__ import annotations

from collections.abc import Collection

from narrows.catalog.store import ObjectStore
from narrows.errors import Code, Span, fail
from narrows.schema import quoted
from narrows.sql.parser.statements import (
    CreateFunction,
    CreatePipeline,
    CreateSink,
    CreateSource,
    CreateView,
    Drop,
    ObjectKind,
    Statement,
)


def refuse_changes(catalog: ObjectStore, running: Collection[str], statement: Statement) -> None:
    """Refuses a statement that would change what the running pipelines are made of."""
    match statement:
        case Drop(kind=ObjectKind.PIPELINE, name=name, name_span=span):
            refuse_running(running, name, "is running, and cannot be dropped", span)
        case CreatePipeline(name=name, name_span=span, or_replace=True):
            refuse_running(running, name, "is running, and cannot be replaced", span)
        case (
            CreateSource(or_replace=True)
            | CreateSink(or_replace=True)
            | CreateView(or_replace=True)
            | CreateFunction(or_replace=True)
        ):
            what = "is running, and uses what would be replaced"
            kinds: tuple[ObjectKind, ...] = (ObjectKind.STREAM, ObjectKind.TABLE, ObjectKind.VIEW)
            if isinstance(statement, CreateSink):
                kinds = (ObjectKind.SINK,)
            if isinstance(statement, CreateFunction):
                kinds = (ObjectKind.FUNCTION,)
            for kind in kinds:
                used = catalog.of_kind(kind).get(statement.name.casefold())
                for user in () if used is None else catalog.users_of(used):
                    refuse_running(running, user.name, what, statement.name_span)


def refuse_running(
    running: Collection[str], pipeline: str, what: str, span: Span | None = None
) -> None:
    if pipeline.casefold() in {name.casefold() for name in running}:
        hint = f"stop it first: `STOP PIPELINE {quoted(pipeline)}`"
        raise fail(Code.OBJECT_IN_USE, f"pipeline `{pipeline}` {what}", span, hint)
