"""The catalog: what has been declared, and the statements that declare and show it.

A pipeline is planned when it is created, so what is in a catalog can be planned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from sqlglot import exp

from narrows.catalog.check_options import check_pipeline_options
from narrows.catalog.declare import declared_sink, declared_source
from narrows.catalog.describe import ResultTable, describe, show
from narrows.catalog.objects import Pipeline, Source, SqlFunction, View
from narrows.catalog.store import CatalogObject, Declared, ObjectStore, find_named
from narrows.errors import Code, NarrowsError, Problem, did_you_mean, fail, joined, listed
from narrows.explain.plan import Plan
from narrows.files.names import check_name
from narrows.functions.users import LOOKS, users_function
from narrows.logical.builder.on_change import check_on_change
from narrows.planner.handed_on import mismatch, writers_of
from narrows.planner.query import plan_query
from narrows.planner.rules import settings
from narrows.schema import UNKNOWN
from narrows.sql.binder.function_body import check_body
from narrows.sql.parser.script import parse, parse_each
from narrows.sql.parser.statements import (
    Create,
    CreateFunction,
    CreatePipeline,
    CreateSink,
    CreateSource,
    CreateView,
    Describe,
    Drop,
    Explain,
    ObjectKind,
    Set,
    Show,
    Statement,
)
from narrows.sql.parser.types import any_type, read_type_text
from narrows.sql.scope import Name

Answer = ResultTable | str | None
"""What a statement answers: rows, the text of an EXPLAIN, or nothing."""

Object = TypeVar("Object", bound=CatalogObject)
DeclareStatement = TypeVar("DeclareStatement", bound=Create)

_RULE_SETTING = "narrows.rule."


class Catalog(ObjectStore):
    """Everything that has been declared. Planning needs nothing else: no Spark, no JVM."""

    def __init__(self) -> None:
        super().__init__()
        self._planned: dict[str, tuple[Pipeline, Plan]] = {}
        """Plans that were made when pipelines were declared."""

    # --- statements -------------------------------------------------------------------------------

    def execute(self, sql: str, filename: str | None = None) -> list[Answer]:
        """Executes statements in order; the answers of all of them."""
        try:
            return [self.execute_statement(statement) for statement in parse(sql, filename)]
        except NarrowsError as error:
            raise error.located(sql, filename) from None

    def check(self, sql: str, filename: str | None = None) -> None:
        """Executes all statements, and reports what is wrong with any of them together."""
        wrong: list[NarrowsError] = []
        missing: set[str] = set()
        for statement, name in parse_each(sql):
            try:
                if isinstance(statement, NarrowsError):
                    raise statement
                self.execute_statement(statement)
            except NarrowsError as error:
                if not any(_is_missing(problem, missing) for problem in error.problems):
                    wrong.append(error)
                if name is not None:
                    missing.add(name.casefold())
        if wrong:
            raise joined(wrong).located(sql, filename)

    def load(self, path: str | Path) -> list[Answer]:
        """Executes the statements of a file."""
        return self.execute(_text_of(path), str(path))

    def check_file(self, path: str | Path) -> None:
        """Executes the statements of a file, as `check` does."""
        self.check(_text_of(path), str(path))

    def execute_statement(self, statement: Statement) -> Answer:
        if isinstance(
            statement, CreateSource | CreateView | CreateFunction | CreateSink | Drop | Set
        ):
            self._planned.clear()
        match statement:
            case CreateSource():
                self._declare(statement, self._sources, self._source)
            case CreateView():
                self._declare(statement, self._views, self._view)
            case CreateFunction():
                self._declare(statement, self._sql_functions, self._function)
            case CreateSink():
                self._declare(statement, self._sinks, declared_sink)
            case CreatePipeline():
                self._declare(statement, self._pipelines, self._pipeline)
            case Drop():
                self._drop(statement)
            case Show(kind=kind):
                return show(self.of_kind(kind).values(), kind)
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

    def add_function(
        self,
        name: str,
        min_args: int = 0,
        max_args: int | None = None,
        *,
        looks: Sequence[str] = (),
        returns: str | None = None,
    ) -> None:
        """Makes a user's function known by name.

        `looks` says, for one argument after the other, what it looks at: a type that has those
        fields (`STRUCT<c: BIGINT>`), or `length`, `presence`, `nothing`, `all`. What nothing is
        said of is decoded whole. `returns` is the type of its values.
        """
        self._planned.clear()
        seen = [
            LOOKS[look.lower()] if look.lower() in LOOKS else read_type_text(look) for look in looks
        ]
        gives = UNKNOWN if returns is None else any_type(returns)
        self.functions.add(users_function(name, min_args, max_args, seen, gives))

    def restore(self, before: Declared) -> None:
        self._planned.clear()
        super().restore(before)

    def add_source(self, source: Source) -> None:
        self._planned.clear()
        super().add_source(source)

    def plan_pipeline(
        self,
        name: str,
        *,
        pruning: bool = True,
        keep: bool = False,
        without: frozenset[str] = frozenset(),
    ) -> Plan:
        """The plan of a pipeline, down to its sinks, made without these rules; `keep` it for the
        next who asks."""
        pipeline = self.pipeline(name)
        # For the first who asks, mostly to start it: a plan of many columns is large.
        planned, plan = self._planned.pop(name.casefold(), (None, None))
        if not pruning or without or planned is not pipeline or plan is None:
            plan = plan_query(
                pipeline.query, self, pipeline=pipeline, pruning=pruning, without=without
            )
        if keep and pruning and not without:
            self._planned[name.casefold()] = pipeline, plan
        return plan

    # --- CREATE -----------------------------------------------------------------------------------

    def _declare(
        self,
        statement: DeclareStatement,
        objects: dict[str, Object],
        make: Callable[[DeclareStatement], Object],
    ) -> None:
        check_name(statement.name, statement.name_span)
        key = statement.name.casefold()
        existing = objects.get(key)
        if existing is not None and statement.if_not_exists:
            return
        self._refuse_another_kind(statement)
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

    def _refuse_another_kind(self, statement: Create) -> None:
        """In FROM, a name is that of a stream or table, or of a view."""
        others: Mapping[str, CatalogObject] = {}
        if isinstance(statement, CreateSource):
            others = self._views
        if isinstance(statement, CreateView):
            others = self._sources
        other = others.get(statement.name.casefold())
        if other is not None:
            raise fail(
                Code.DUPLICATE_OBJECT,
                f"a {other.kind.value} called `{statement.name}` exists already",
                statement.name_span,
                "use another name",
            )

    def _check_replaceable(self, objects: dict[str, Object], key: str, made: Object) -> None:
        """What uses the old definition must still plan with the new one."""
        before = objects[key]
        objects[key] = made
        try:
            for pipeline in self.users_of(before):
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
        source = declared_source(statement)
        check_on_change(source, statement.options, self.functions)
        for pipeline in writers_of(self, source):
            wrong = mismatch(source, plan_query(pipeline.query, self).bound.outputs)
            if wrong is not None:
                message = f"`{source.name}` cannot read what pipeline `{pipeline.name}` writes"
                span = statement.name_span
                raise fail(Code.WRONG_TYPE, f"{message}: {wrong[0]}", span, wrong[1])
        return source

    def _view(self, statement: CreateView) -> View:
        view = View(name=statement.name, query=statement.query, columns=statement.columns)
        if view.query.per_batch is not None:
            message = "PER BATCH is for what a pipeline writes, and a view is read by queries"
            raise fail(Code.NOT_SUPPORTED, message, view.query.per_batch, "leave it out")
        if view.name.casefold() in self._read_by(view.query):
            message = f"view `{view.name}` would read itself"
            raise fail(Code.NOT_SUPPORTED, message, statement.name_span)
        plan = plan_query(view.query, self)
        if view.columns and len(view.columns) != len(plan.bound.outputs):
            raise fail(
                Code.WRONG_ARITY,
                f"{len(view.columns)} names for {len(plan.bound.outputs)} columns",
                view.columns[0].span,
            )
        return view

    def _function(self, statement: CreateFunction) -> SqlFunction:
        function = SqlFunction(
            name=statement.name,
            parameters=statement.parameters,
            returns=statement.returns,
            body=statement.body,
        )
        name = function.name.casefold()
        if self.functions.find(name) is not None:
            raise fail(
                Code.DUPLICATE_OBJECT,
                f"there is a function `{name}` already, which is not declared by a statement",
                statement.name_span,
                "use another name",
            )
        mentioned = (call.name.casefold() for call in function.body.tree.find_all(exp.Anonymous))
        if name in mentioned or name in self.called_by(function.body):
            message = f"function `{function.name}` would call itself"
            raise fail(Code.NOT_SUPPORTED, message, statement.name_span)
        check_body(function.name, function.body.tree, function.parameters, self.all_functions)
        return function

    def _pipeline(self, statement: CreatePipeline) -> Pipeline:
        sinks = tuple(self.sink(name, span).name for name, span in statement.sinks)
        for place, (name, span) in enumerate(statement.sinks):
            if sinks[place] in sinks[:place]:
                raise fail(Code.DUPLICATE_OBJECT, f"sink `{name}` is named twice", span)
        pipeline = Pipeline(
            name=statement.name,
            sinks=sinks,
            query=statement.query,
            options=check_pipeline_options(statement.options),
        )
        plan = plan_query(pipeline.query, self, pipeline=pipeline)
        self._planned[pipeline.name.casefold()] = pipeline, plan
        return pipeline

    # --- DROP, DESCRIBE, EXPLAIN ------------------------------------------------------------------

    def _drop(self, statement: Drop) -> None:
        objects = self.of_kind(statement.kind)
        key = statement.name.casefold()
        if key not in objects and statement.if_exists:
            return
        name = Name(statement.name, statement.name_span)
        found = find_named(objects, statement.kind.value, name)
        others = self.dependents_of(found) if isinstance(found, Source | View | SqlFunction) else []
        if others:
            first = others[0].kind.value
            raise fail(
                Code.OBJECT_IN_USE,
                f"{statement.kind.value} `{statement.name}` is used by {first}"
                f" {listed([f'`{other.name}`' for other in others])}",
                statement.name_span,
                f"drop what uses it first: `DROP {first.upper()} {others[0].name}`",
            )
        users = self.users_of(found)
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
            case ObjectKind.VIEW:
                del self._views[key]
            case ObjectKind.FUNCTION:
                del self._sql_functions[key]
            case ObjectKind.SINK:
                del self._sinks[key]
            case ObjectKind.PIPELINE:
                del self._pipelines[key]

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


def _text_of(path: str | Path) -> str:
    try:
        return Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise fail(Code.UNREADABLE_FILE, f"cannot read `{path}`: {reason}") from None


def _is_missing(problem: Problem, names: Collection[str]) -> bool:
    """Is it about something that would be there, were it not wrong itself?"""
    if problem.code not in (Code.UNKNOWN_SOURCE, Code.UNKNOWN_OBJECT):
        return False
    return any(f"`{name}`" in problem.message.casefold() for name in names)
