"""What a parsed statement says. Plain data: nothing is resolved or checked against a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from narrows.errors import Span
from narrows.plugins.options import Options
from narrows.schema import DataType, Struct
from narrows.sql.parser.converted_types import Converted
from narrows.sql.scope import Name

if TYPE_CHECKING:  # loaded when something is parsed
    from sqlglot import exp


class ObjectKind(Enum):
    STREAM = "stream"
    TABLE = "table"
    VIEW = "view"
    FUNCTION = "function"
    SINK = "sink"
    PIPELINE = "pipeline"


@dataclass(frozen=True)
class Query:
    """A SELECT: its syntax tree, and the text that the tree's positions point into."""

    tree: exp.Expr = field(compare=False)
    text: str
    span: Span
    per_batch: Span | None = None
    """Where it says that rows are sorted within each micro-batch: `ORDER BY ... PER BATCH`."""

    @property
    def sql(self) -> str:
        return self.text[self.span.start : self.span.end]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Base of all statements."""


@dataclass(frozen=True, kw_only=True)
class Create(Statement):
    """What the CREATE statements share."""

    name: str
    name_span: Span
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateSource(Create):
    """CREATE STREAM | TABLE"""

    kind: ObjectKind
    schema: Struct
    options: Options
    converted: Mapping[str, Converted] = field(default_factory=dict)
    """What is made of columns that are read as texts, by their names."""


@dataclass(frozen=True, kw_only=True)
class CreateSink(Create):
    options: Options


@dataclass(frozen=True, kw_only=True)
class CreatePipeline(Create):
    sinks: tuple[tuple[str, Span], ...]
    query: Query
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CreateView(Create):
    """CREATE VIEW v (a, b) AS SELECT ...: a query by a name."""

    columns: tuple[Name, ...]
    query: Query


@dataclass(frozen=True, kw_only=True)
class CreateFunction(Create):
    """CREATE FUNCTION f (a INT) RETURNS INT RETURN a + 1"""

    parameters: Struct
    returns: DataType | None
    body: Query
    """The expression, as what it is the only column of."""


@dataclass(frozen=True, kw_only=True)
class Drop(Statement):
    kind: ObjectKind
    name: str
    name_span: Span
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class Show(Statement):
    kind: ObjectKind


@dataclass(frozen=True, kw_only=True)
class Describe(Statement):
    kind: ObjectKind | None
    name: str
    name_span: Span


class ExplainMode(Enum):
    DEFAULT = "default"
    LOGICAL = "logical"
    PHYSICAL = "physical"
    VERBOSE = "verbose"
    ANALYZE = "analyze"


@dataclass(frozen=True, kw_only=True)
class Explain(Statement):
    """EXPLAIN of a query, of a pipeline or of a shared stream: exactly one of the three is set."""

    mode: ExplainMode = ExplainMode.DEFAULT
    query: Query | None = None
    pipeline: tuple[str, Span] | None = None
    shared_stream: tuple[str, Span] | None = None


@dataclass(frozen=True, kw_only=True)
class CreateProjection(Statement):
    """CREATE PROJECTION p ON t (a, b) ORDER BY a"""

    name: str
    name_span: Span
    table: str
    table_span: Span
    columns: tuple[Name, ...]
    order_by: tuple[Name, ...] = ()
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class RefreshProjection(Statement):
    name: Name


@dataclass(frozen=True, kw_only=True)
class DropProjection(Statement):
    name: Name


@dataclass(frozen=True, kw_only=True)
class Analyze(Statement):
    """ANALYZE TABLE: counts what the planner estimates by."""

    name: str
    name_span: Span


@dataclass(frozen=True, kw_only=True)
class Start(Statement):
    pipelines: tuple[tuple[str, Span], ...]


@dataclass(frozen=True, kw_only=True)
class Stop(Statement):
    pipelines: tuple[tuple[str, Span], ...]


@dataclass(frozen=True, kw_only=True)
class Set(Statement):
    """SET narrows.rule.constant_folding = off"""

    name: str
    name_span: Span
    value: str
    value_span: Span


@dataclass(frozen=True, kw_only=True)
class Select(Statement):
    """A query by itself."""

    query: Query
