"""The catalog: streams, tables, sinks and pipelines by name, and the statements that change it.

Names have no case, like everywhere in Spark SQL. A pipeline is planned when it is created, so what
is in a catalog can be planned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from sqlglot import exp

from narrows.catalog.describe import Rows, describe, show
from narrows.catalog.objects import Pipeline, Sink, Source
from narrows.catalog.options import (
    FORMATS,
    SINK_OPTIONS,
    STREAM_OPTIONS,
    TABLE_OPTIONS,
    check_options,
)
from narrows.errors import Code, NarrowsError, Span, did_you_mean, fail, listed
from narrows.explain.plan import Plan
from narrows.expressions.function import Function
from narrows.files.names import check_name
from narrows.functions import FunctionRegistry, builtin_functions
from narrows.planner.query import plan_query
from narrows.planner.rules import settings
from narrows.schema import BIGINT, TIMESTAMP, Struct
from narrows.sql.parse import parse
from narrows.sql.scope import Name
from narrows.sql.statements import (
    Create,
    CreatePipeline,
    CreateSink,
    CreateSource,
    Describe,
    Drop,
    Explain,
    ObjectKind,
    Options,
    Set,
    Show,
    Statement,
)

Answer = Rows | str | None
"""What a statement answers: rows, the text of an EXPLAIN, or nothing."""

CatalogObject = Source | Sink | Pipeline
Found = TypeVar("Found", bound=CatalogObject)
Declared = TypeVar("Declared", bound=CatalogObject)
DeclareStatement = TypeVar("DeclareStatement", bound=Create)

_RULE_SETTING = "narrows.rule."


class Catalog:
    """Everything that has been declared. Planning needs nothing else: no Spark, no JVM."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}
        self._sinks: dict[str, Sink] = {}
        self._pipelines: dict[str, Pipeline] = {}
        self._planned: dict[str, tuple[Pipeline, Plan]] = {}
        """Plans that were made when pipelines were declared."""
        self.functions = FunctionRegistry(parent=builtin_functions())
        self.disabled_rules: frozenset[str] = frozenset()
        """Rules that were switched off: `SET narrows.rule.<name> = off`."""

    # --- statements -------------------------------------------------------------------------------

    def execute(self, sql: str, filename: str | None = None) -> list[Answer]:
        """Executes statements in order; the answers of all of them."""
        try:
            return [self.execute_statement(statement) for statement in parse(sql, filename)]
        except NarrowsError as error:
            raise error.located(sql, filename) from None

    def load(self, path: str | Path) -> list[Answer]:
        """Executes the statements of a file."""
        try:
            text = Path(path).read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise fail(Code.UNREADABLE_FILE, f"cannot read `{path}`: {reason}") from None
        return self.execute(text, str(path))

    def execute_statement(self, statement: Statement) -> Answer:
        if isinstance(statement, CreateSource | CreateSink | Drop | Set):
            self._planned.clear()
        match statement:
            case CreateSource():
                self._declare(statement, self._sources, self._source)
            case CreateSink():
                self._declare(statement, self._sinks, self._sink)
            case CreatePipeline():
                self._declare(statement, self._pipelines, self._pipeline)
            case Drop():
                self._drop(statement)
            case Show(kind=kind):
                return show(self._of_kind(kind).values(), kind)
            case Describe():
                return describe(self.described(statement))
            case Explain():
                return self._explain(statement)
            case Set():
                self._set(statement)
            case _:
                word = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(statement).__name__).upper()
                raise fail(
                    Code.NOT_SUPPORTED,
                    f"{word} runs a query, and a catalog only plans",
                    hint="use EXPLAIN to see the plan",
                )
        return None

    def add_function(self, name: str, min_args: int = 0, max_args: int | None = None) -> None:
        """Makes a user's function known by name. What it looks at is not known: everything."""
        self._planned.clear()
        self.functions.add(
            Function(name.lower(), min_args=min_args, max_args=max_args, known=False)
        )

    def add_source(self, source: Source) -> None:
        """Declares a source that no statement can: a data frame of the user's."""
        check_name(source.name)
        self._planned.clear()
        self._sources[source.name.casefold()] = source

    # --- look-up ----------------------------------------------------------------------------------

    @property
    def pipelines(self) -> list[Pipeline]:
        return list(self._pipelines.values())

    @property
    def sources(self) -> list[Source]:
        return list(self._sources.values())

    def find_source(self, name: Name) -> Source:
        """A stream or table by name."""
        return _find(self._sources, "stream or table", name)

    def sink(self, name: str, span: Span | None = None) -> Sink:
        return _find(self._sinks, "sink", Name(name, span))

    def pipeline(self, name: str, span: Span | None = None) -> Pipeline:
        return _find(self._pipelines, "pipeline", Name(name, span))

    def plan_pipeline(self, name: str, *, pruning: bool = True) -> Plan:
        """The plan of a pipeline, down to its sinks."""
        pipeline = self.pipeline(name)
        # For the first who asks, mostly to start it: a plan of many columns is large.
        planned, plan = self._planned.pop(name.casefold(), (None, None))
        if pruning and planned is pipeline and plan is not None:
            return plan
        return plan_query(pipeline.query, self, pipeline=pipeline, pruning=pruning)

    def summary(self) -> str:
        """`2 streams, 1 table, 3 sinks, 3 pipelines`."""
        counts = [(len(self._of_kind(kind)), kind.value) for kind in ObjectKind]
        texts = [f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts if count]
        return ", ".join(texts) or "nothing declared"

    def _of_kind(self, kind: ObjectKind) -> Mapping[str, CatalogObject]:
        match kind:
            case ObjectKind.STREAM | ObjectKind.TABLE:
                bounded = kind is ObjectKind.TABLE
                return {key: s for key, s in self._sources.items() if s.bounded == bounded}
            case ObjectKind.SINK:
                return self._sinks
            case ObjectKind.PIPELINE:
                return self._pipelines

    # --- CREATE -----------------------------------------------------------------------------------

    def _declare(
        self,
        statement: DeclareStatement,
        objects: dict[str, Declared],
        make: Callable[[DeclareStatement], Declared],
    ) -> None:
        check_name(statement.name, statement.name_span)
        key = statement.name.casefold()
        existing = objects.get(key)
        if existing is not None and statement.if_not_exists:
            return
        if existing is not None and not statement.or_replace:
            raise fail(
                Code.DUPLICATE_OBJECT,
                f"a {existing.kind.value} called `{statement.name}` exists already",
                statement.name_span,
                "use another name, or `CREATE OR REPLACE`",
            )
        made = make(statement)
        if existing is not None:
            self._check_replaceable(objects, key, made)
        objects[key] = made

    def _check_replaceable(self, objects: dict[str, Declared], key: str, made: Declared) -> None:
        """What uses the old definition must still plan with the new one."""
        before = objects[key]
        objects[key] = made
        try:
            for pipeline in self._users_of(before):
                plan_query(pipeline.query, self, pipeline=pipeline)
        except NarrowsError as error:
            objects[key] = before
            raise fail(
                Code.OBJECT_IN_USE,
                f"with this definition pipeline `{pipeline.name}` could not be planned:"
                f" {error.problems[0].message}",
                hint=f"drop it first: `DROP PIPELINE {pipeline.name}`",
            ) from None

    def _source(self, statement: CreateSource) -> Source:
        bounded = statement.kind is ObjectKind.TABLE
        common = TABLE_OPTIONS if bounded else STREAM_OPTIONS
        owner = Name(statement.name, statement.name_span)
        checked = check_options(statement.options, common, sink=False, owner=owner)
        problem = FORMATS[checked.format].check_schema(statement.schema)
        if problem is not None:
            raise fail(Code.WRONG_TYPE, problem, statement.name_span)
        values = dict(checked.values)
        if "eventtime" in values:
            values["eventtime"] = _event_time(statement.options, statement.schema)
        for option, what in (("watermark", "a watermark"), ("eventtime_unit", "a unit of time")):
            if option in values and "eventtime" not in values:
                raise fail(
                    Code.INVALID_OPTION,
                    f"{what} needs an event time",
                    statement.options[option].key_span,
                    "add `eventtime = '...'`, the column that says when a row happened",
                )
        if "start_at" in values and values.get("shared") is not True:
            raise fail(
                Code.INVALID_OPTION,
                "only a shared stream has a place where its pipelines begin",
                statement.options["start_at"].key_span,
                "add `shared = true`; a regular stream begins with the first file",
            )
        return Source(
            name=statement.name,
            schema=statement.schema,
            bounded=bounded,
            connector=checked.connector,
            format=checked.format,
            options=values,
        )

    def _sink(self, statement: CreateSink) -> Sink:
        owner = Name(statement.name, statement.name_span)
        checked = check_options(statement.options, SINK_OPTIONS, sink=True, owner=owner)
        return Sink(
            name=statement.name,
            connector=checked.connector,
            format=checked.format,
            options=checked.values,
        )

    def _pipeline(self, statement: CreatePipeline) -> Pipeline:
        sinks = tuple(self.sink(name, span).name for name, span in statement.sinks)
        for place, (name, span) in enumerate(statement.sinks):
            if sinks[place] in sinks[:place]:
                raise fail(Code.DUPLICATE_OBJECT, f"sink `{name}` is named twice", span)
        pipeline = Pipeline(name=statement.name, sinks=sinks, query=statement.query)
        plan = plan_query(pipeline.query, self, pipeline=pipeline)
        self._planned[pipeline.name.casefold()] = pipeline, plan
        return pipeline

    # --- DROP, DESCRIBE, EXPLAIN ------------------------------------------------------------------

    def _drop(self, statement: Drop) -> None:
        objects = self._of_kind(statement.kind)
        key = statement.name.casefold()
        if key not in objects and statement.if_exists:
            return
        name = Name(statement.name, statement.name_span)
        users = self._users_of(_find(objects, statement.kind.value, name))
        if users:
            raise fail(
                Code.OBJECT_IN_USE,
                f"{statement.kind.value} `{statement.name}` is used by pipeline"
                f" {listed([f'`{user.name}`' for user in users])}",
                statement.name_span,
                f"drop what uses it first: `DROP PIPELINE {users[0].name}`",
            )
        match statement.kind:
            case ObjectKind.STREAM | ObjectKind.TABLE:
                del self._sources[key]
            case ObjectKind.SINK:
                del self._sinks[key]
            case ObjectKind.PIPELINE:
                del self._pipelines[key]

    def _users_of(self, used: CatalogObject) -> list[Pipeline]:
        return [p for p in self._pipelines.values() if self._uses(p, used)]

    def _uses(self, pipeline: Pipeline, used: CatalogObject) -> bool:
        if isinstance(used, Sink):
            return used.name.casefold() in (sink.casefold() for sink in pipeline.sinks)
        if isinstance(used, Source):
            tables = pipeline.query.tree.find_all(exp.Table)
            return any(table.name.casefold() == used.name.casefold() for table in tables)
        return False

    def described(self, statement: Describe) -> CatalogObject:
        """What a DESCRIBE means."""
        name = Name(statement.name, statement.name_span)
        if statement.kind is not None:
            return _find(self._of_kind(statement.kind), statement.kind.value, name)
        everything: dict[str, CatalogObject] = {**self._pipelines, **self._sinks, **self._sources}
        return _find(everything, "stream, table, sink or pipeline", name)

    def _set(self, statement: Set) -> None:
        rules = {f"{_RULE_SETTING}{name}": rule for name, rule in settings().items()}
        rule = rules.get(statement.name.lower())
        if rule is None:
            raise fail(
                Code.UNKNOWN_OPTION,
                f"there is no setting `{statement.name}`",
                statement.name_span,
                did_you_mean(statement.name, rules) or f"settings are {', '.join(rules)}",
            )
        if statement.value.lower() not in ("on", "off", "true", "false"):
            message = f"`{statement.name}` is on or off, not `{statement.value}`"
            raise fail(Code.INVALID_OPTION, message, statement.value_span)
        if statement.value.lower() in ("on", "true"):
            self.disabled_rules -= {rule}
        else:
            self.disabled_rules |= {rule}

    def _explain(self, statement: Explain) -> str:
        if statement.query is not None:
            return plan_query(statement.query, self).explain(statement.mode)
        if statement.pipeline is not None:
            name, span = statement.pipeline
            self.pipeline(name, span)
            return self.plan_pipeline(name).explain(statement.mode)
        assert statement.shared_stream is not None
        raise fail(
            Code.NOT_SUPPORTED,
            "EXPLAIN SHARED STREAM shows running pipelines, and a catalog only plans",
            statement.shared_stream[1],
            "use EXPLAIN PIPELINE to see what one pipeline needs of the stream",
        )


def _find(objects: Mapping[str, Found], what: str, name: Name) -> Found:
    found = objects.get(name.text.casefold())
    if found is not None:
        return found
    known = [known.name for known in objects.values()]
    hint = did_you_mean(name.text, known) or (f"there are {listed(known)}" if known else None)
    source = Code.UNKNOWN_SOURCE if what == "stream or table" else Code.UNKNOWN_OBJECT
    raise fail(source, f"no {what} is called `{name.text}`", name.span, hint)


def _event_time(options: Options, schema: Struct) -> str:
    """The event-time column by its exact name."""
    option = options["eventtime"]
    found = schema.find(str(option.value))
    if len(found) != 1:
        raise fail(
            Code.INVALID_OPTION,
            f"the event-time column `{option.value}` is not in the schema",
            option.value_span,
            did_you_mean(str(option.value), schema.names),
        )
    column = schema.fields[found[0]]
    if column.type not in (TIMESTAMP, BIGINT):
        raise fail(
            Code.INVALID_OPTION,
            f"the event-time column `{column.name}` is {column.type.sql()}",
            option.value_span,
            "it must be TIMESTAMP, or BIGINT for an epoch",
        )
    if column.type == TIMESTAMP and "eventtime_unit" in options:
        raise fail(
            Code.INVALID_OPTION,
            f"the event-time column `{column.name}` is TIMESTAMP, which counts no units",
            options["eventtime_unit"].key_span,
            "`eventtime_unit` is for BIGINT columns",
        )
    return column.name
