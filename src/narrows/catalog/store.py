"""What has been declared, by name. It neither plans nor runs anything.

Names have no case, like everywhere in Spark SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from sqlglot import exp

from narrows.catalog.elsewhere import Elsewhere, ElsewhereTable
from narrows.catalog.measured import NOTHING_MEASURED
from narrows.catalog.objects import Pipeline, Sink, Source, SqlFunction, View
from narrows.errors import Code, Span, did_you_mean, fail, listed
from narrows.files.names import check_name
from narrows.functions import FunctionRegistry, builtin_functions
from narrows.sql.parser.statements import Describe, ObjectKind, Query
from narrows.sql.scope import Name

CatalogObject = Source | View | SqlFunction | Sink | Pipeline
Found = TypeVar("Found", bound=CatalogObject)


class Declared(NamedTuple):
    """What was declared at one moment."""

    sources: dict[str, Source]
    sinks: dict[str, Sink]
    pipelines: dict[str, Pipeline]
    views: dict[str, View]
    sql_functions: dict[str, SqlFunction]
    disabled_rules: frozenset[str]


class ObjectStore:
    """Streams, tables, sinks and pipelines, and what a planner must know beside them."""

    def __init__(self, disabled_rules: frozenset[str] = frozenset()) -> None:
        self._sources: dict[str, Source] = {}
        self._sinks: dict[str, Sink] = {}
        self._pipelines: dict[str, Pipeline] = {}
        self._views: dict[str, View] = {}
        self._sql_functions: dict[str, SqlFunction] = {}
        self.functions = FunctionRegistry(parent=builtin_functions())
        self.elsewhere: Elsewhere | None = None
        """Who is asked for what is not declared here; a session is."""
        self.is_ansi: Callable[[], bool] = lambda: False
        """Is Spark in ANSI mode, where an overflow is an error? A session knows."""
        self.setting: Callable[[str], str | None] = lambda key: None
        """The value of a setting of Spark's, where there is a session that has one."""
        self.measured = NOTHING_MEASURED
        """What is known of what sources have now. A session looks."""
        self.disabled_rules = disabled_rules
        """Rules that are switched off: `SET narrows.rule.<name> = off`."""

    def snapshot(self) -> Declared:
        """What is declared now, to be restored."""
        sources, sinks, pipelines = dict(self._sources), dict(self._sinks), dict(self._pipelines)
        views, functions = dict(self._views), dict(self._sql_functions)
        return Declared(sources, sinks, pipelines, views, functions, self.disabled_rules)

    def restore(self, before: Declared) -> None:
        self._sources, self._sinks, self._pipelines, self._views = before[:4]
        self._sql_functions = before.sql_functions
        self.disabled_rules = before.disabled_rules

    @property
    def all_functions(self) -> FunctionRegistry:
        """Those that a query may call: what statements declare, too."""
        declared = [function.called() for function in self._sql_functions.values()]
        return FunctionRegistry(declared, self.functions)

    def add_source(self, source: Source) -> None:
        """Declares a source that no statement can: a data frame of the user's."""
        check_name(source.name)
        self._sources[source.name.casefold()] = source

    @property
    def pipelines(self) -> list[Pipeline]:
        return list(self._pipelines.values())

    @property
    def sources(self) -> list[Source]:
        return list(self._sources.values())

    def find_table(self, parts: Sequence[Name]) -> Source | View | ElsewhereTable:
        """What stands in FROM: a stream, table or view of ours, or a table that is elsewhere."""
        key = parts[0].text.casefold() if len(parts) == 1 else ""
        known = self._sources.get(key) or self._views.get(key)
        if known is not None:
            return known
        found = self.elsewhere.table(parts) if self.elsewhere is not None else None
        if found is None and len(parts) > 1:
            raise fail(
                Code.UNKNOWN_SOURCE,
                f"`{'.'.join(part.text for part in parts)}` not found: names of streams and tables"
                " have one part",
                Span.around(part.span for part in parts),
            )
        return found or self.find_source(parts[0])

    def find_source(self, name: Name) -> Source:
        """A stream or table of ours by name."""
        return find_named(self._sources, "stream or table", name)

    def sink(self, name: str, span: Span | None = None) -> Sink:
        return find_named(self._sinks, "sink", Name(name, span))

    def pipeline(self, name: str, span: Span | None = None) -> Pipeline:
        return find_named(self._pipelines, "pipeline", Name(name, span))

    def summary(self) -> str:
        """`2 streams, 1 table, 3 sinks, 3 pipelines`."""
        counts = [(len(self.of_kind(kind)), kind.value) for kind in ObjectKind]
        texts = [f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts if count]
        return ", ".join(texts) or "nothing declared"

    def of_kind(self, kind: ObjectKind) -> Mapping[str, CatalogObject]:
        match kind:
            case ObjectKind.STREAM | ObjectKind.TABLE:
                bounded = kind is ObjectKind.TABLE
                return {key: s for key, s in self._sources.items() if s.bounded == bounded}
            case ObjectKind.VIEW:
                return self._views
            case ObjectKind.FUNCTION:
                return self._sql_functions
            case ObjectKind.SINK:
                return self._sinks
            case ObjectKind.PIPELINE:
                return self._pipelines

    def users_of(self, used: CatalogObject) -> list[Pipeline]:
        return [p for p in self._pipelines.values() if self._uses(p, used)]

    def _uses(self, pipeline: Pipeline, used: CatalogObject) -> bool:
        if isinstance(used, Sink):
            return used.name.casefold() in (sink.casefold() for sink in pipeline.sinks)
        if isinstance(used, Source | View):
            return used.name.casefold() in self._read_by(pipeline.query)
        if isinstance(used, SqlFunction):
            return used.name.casefold() in self.called_by(pipeline.query)
        return False

    def _read_by(self, query: Query) -> set[str]:
        """The names that a query reads, itself or by views."""
        found: set[str] = set()
        pending = [query]
        while pending:
            for table in pending.pop().tree.find_all(exp.Table):
                name = table.name.casefold()
                if name not in found and name in self._views:
                    pending.append(self._views[name].query)
                found.add(name)
        return found

    def called_by(self, query: Query) -> set[str]:
        """The functions of ours that a query calls, itself, by views or by other functions."""
        found: set[str] = set()
        views = [self._views[name] for name in self._read_by(query) if name in self._views]
        pending = [query, *(view.query for view in views)]
        while pending:
            for call in pending.pop().tree.find_all(exp.Anonymous):
                name = call.name.casefold()
                if name not in found and name in self._sql_functions:
                    found.add(name)
                    pending.append(self._sql_functions[name].body)
        return found

    def dependents_of(self, used: Source | View | SqlFunction) -> list[View | SqlFunction]:
        """The views that read or call it, and the functions that call it."""
        name = used.name.casefold()
        if not isinstance(used, SqlFunction):
            return [v for v in self._views.values() if name in self._read_by(v.query)]
        return [
            *(v for v in self._views.values() if name in self.called_by(v.query)),
            *(f for f in self._sql_functions.values() if name in self.called_by(f.body)),
        ]

    def described(self, statement: Describe) -> CatalogObject:
        """What a DESCRIBE means."""
        name = Name(statement.name, statement.name_span)
        if statement.kind is not None:
            return find_named(self.of_kind(statement.kind), statement.kind.value, name)
        everything: dict[str, CatalogObject] = {
            **self._pipelines,
            **self._sinks,
            **self._sql_functions,
            **self._views,
            **self._sources,
        }
        return find_named(everything, "stream, table, view, function, sink or pipeline", name)


def find_named(objects: Mapping[str, Found], what: str, name: Name) -> Found:
    found = objects.get(name.text.casefold())
    if found is not None:
        return found
    known = [known.name for known in objects.values()]
    hint = did_you_mean(name.text, known) or (f"there are {listed(known)}" if known else None)
    source = Code.UNKNOWN_SOURCE if what == "stream or table" else Code.UNKNOWN_OBJECT
    raise fail(source, f"no {what} is called `{name.text}`", name.span, hint)
