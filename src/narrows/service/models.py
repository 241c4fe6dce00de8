"""The answers of the API, and what requests hold: as OpenAPI tells them."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")
Name = Annotated[str, Field(min_length=1, max_length=1000)]
Sql = Annotated[str, Field(max_length=8 << 20, examples=["SHOW PIPELINES"])]
Limit = Annotated[int, Field(ge=1, le=100_000)]
Seconds = Annotated[float, Field(gt=0, le=3600)]
OptionValue = str | bool | int | float


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Page(Model, Generic[T]):
    """A part of a long list."""

    items: list[T]
    total: int
    """Of the whole list."""


# --- errors ---------------------------------------------------------------------------------------


class SpanInfo(Model):
    """A place in the text that was sent: characters from `start` to before `end`."""

    start: int
    end: int
    line: int
    column: int


class ProblemInfo(Model):
    code: str
    message: str
    hint: str | None
    span: SpanInfo | None


class ProblemDocument(Model):
    """What is wrong (RFC 9457), and everything that is wrong with a statement at once."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    problems: list[ProblemInfo]
    executed: int | None = None
    """Of several statements: how many before this one were executed, and stay so."""


# --- the service ----------------------------------------------------------------------------------


class Health(Model):
    status: Literal["ok"]


class Ready(Model):
    ready: bool
    spark: Literal["starting", "up", "failed", "closed"]
    reason: str | None = None


class VersionInfo(Model):
    version: str
    kernel: str


# --- statements and plans -------------------------------------------------------------------------


class StatementsRequest(Model):
    sql: Sql
    limit: Limit = 1000
    """Rows of each SELECT, at most."""
    timeout: Seconds = 60


class ColumnInfo(Model):
    name: str
    type: str


class StatementAnswer(Model):
    """What one statement answers: nothing, a text (EXPLAIN), or rows."""

    statement: str
    """Its kind: `create_source`, `select`, `show` ..."""
    text: str | None = None
    columns: list[ColumnInfo] | None = None
    rows: list[dict[str, Any]] | None = None
    more: bool = False
    """There are more rows than `limit`."""


class StatementsAnswer(Model):
    answers: list[StatementAnswer]


class ExplainRequest(Model):
    sql: Sql
    """A query, a CREATE PIPELINE, or declarations and then one of these: nothing is kept."""
    mode: Literal["default", "logical", "physical", "verbose"] = "default"
    pruning: bool = True


class TreeNode(Model):
    """A column, or a field deep inside of one, and who looks at it."""

    name: str
    type: str
    decoded: Literal["all", "some", "none"]
    needed_by: list[str]
    children: list[TreeNode]


class ReadInfo(Model):
    """What is decoded of a source."""

    source: str
    columns: list[str]
    """As EXPLAIN writes them: `b{c}`, `items[0]`."""
    metadata: list[str]
    """Columns that are made of where a payload was found: `_file`, `_offset`."""
    leaves_decoded: int
    leaves: int
    tree: list[TreeNode]


class NoticeInfo(Model):
    code: str
    message: str
    hint: str | None


class ExecutionInfo(Model):
    mode: str
    reason: str


class Explained(Model):
    text: str
    plan: dict[str, Any]
    mermaid: str
    reads: list[ReadInfo]
    notices: list[NoticeInfo]
    execution: ExecutionInfo | None
    outputs: list[ColumnInfo]
    milliseconds: float


# --- catalog --------------------------------------------------------------------------------------


class SourceRequest(Model):
    name: Name
    columns: Annotated[str, Field(examples=["a BIGINT, b STRUCT<c: STRING>"])]
    options: dict[str, OptionValue]
    replace: bool = False


class SinkRequest(Model):
    name: Name
    options: dict[str, OptionValue]
    replace: bool = False


class PipelineRequest(Model):
    name: Name
    sinks: Annotated[list[Name], Field(min_length=1)]
    query: Sql
    replace: bool = False
    start: bool = False


class SourceInfo(Model):
    name: str
    kind: Literal["stream", "table"]
    connector: str
    format: str
    shared: bool
    options: dict[str, OptionValue]
    columns: list[ColumnInfo]
    leaves: int
    leaves_decoded: int
    """By what runs now: each leaf once, whoever needs it."""
    pipelines: list[str]
    """Those that read it."""
    sql: str | None


class SourceDetails(SourceInfo):
    tree: list[TreeNode]


class SinkInfo(Model):
    name: str
    connector: str
    format: str
    options: dict[str, OptionValue]
    pipelines: list[str]
    guarantee: str
    sql: str | None


Desired = Literal["running", "stopped"]
Actual = Literal["starting", "running", "stopped", "failed", "done"]


class Counts(Model):
    payloads: int
    payload_bytes: int
    bad: int
    mistyped: int
    rows_decoded: int
    rows_shipped: int
    arrow_bytes: int
    saved_bytes: int
    """Bytes that came in and went no further: they were skipped, not decoded."""


class SharedRead(Model):
    version: int
    decodes: str
    position: int
    lag: int


class PipelineStats(Model):
    """What has been counted since the pipeline began, restarts included."""

    read: dict[str, Counts]
    lag: dict[str, dict[str, int]]
    shared: dict[str, SharedRead]
    late: int
    batch_seconds: float | None
    """How long the last micro-batch took; of pipelines that have a query of their own."""
    last_failure: str | None


class PipelineInfo(Model):
    name: str
    sinks: list[str]
    sources: list[str]
    query: str
    desired: Desired
    actual: Actual
    error: str | None
    restarts: int
    seconds: float | None
    """Since it was started, or that it ran."""
    stats: PipelineStats | None = None
    """Where they were asked for, and it has been started since the service was."""


class PipelineDetails(PipelineInfo):
    sql: str | None
    reads: list[ReadInfo]
    notices: list[NoticeInfo]
    execution: ExecutionInfo | None


class Sample(Model):
    """What had been counted at a time: of a pipeline, or of a stream by all who read it."""

    time: float
    """Seconds since 1970."""
    payloads: int
    rows: int
    bytes_in: int
    bytes_saved: int
    bad: int
    lag: dict[str, int]
    """Of a pipeline, by unit: `bytes`, `units`, `entries`."""
    batch_seconds: float | None
    leaves_decoded: int | None
    """Of a stream."""


class ConsumerInfo(Model):
    pipeline: str
    columns: list[str]
    leaves: int
    lag: int


class SharedInfo(Model):
    name: str
    version: int
    leaves_decoded: int
    leaves: int
    columns: list[str]
    consumers: list[ConsumerInfo]
    retained: int
    counts: dict[str, int]


class SharedDetails(SharedInfo):
    tree: list[TreeNode]


# --- dead letters, queries, tests -----------------------------------------------------------------


class LetterCount(Model):
    name: str
    letters: int


class DeadLetter(Model):
    id: str
    source: str
    reason: str
    payload: str | None
    payload_base64: str | None
    position: dict[str, str | int | float | bool | None]
    replayed: bool
    """It went through the pipelines since."""


class ReplayRequest(Model):
    ids: list[str] | None = None
    """Which letters; all of them if not given."""


class ReplayAnswer(Model):
    replayed: list[str]
    already: list[str]
    """Replayed before."""
    still_bad: dict[str, str]
    """Why they still cannot be read."""


class PushAnswer(Model):
    payloads: int
    repeated: bool
    """A request with this idempotency key was taken before: nothing was written."""


class QueryRequest(Model):
    sql: Sql
    limit: Limit = 1000
    timeout: Seconds = 60
    id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """A name by which it can be cancelled while it runs."""


class QueryAnswer(Model):
    columns: list[ColumnInfo]
    rows: list[dict[str, Any]]
    more: bool


class RunningQueryInfo(Model):
    id: str
    sql: str
    seconds: float
    state: Literal["waiting", "running", "stopping"]
    """`stopping`: answered as cancelled or too late, and still being ended."""


class TestRequest(Model):
    rows: dict[str, list[dict[str, Any]]]
    """For each stream or table that is read: its rows."""
    pipeline: Name | None = None
    sql: Sql | None = None
    """A query in place of a pipeline."""
    limit: Limit = 1000
    timeout: Seconds = 60


class ImportRequest(Model):
    sql: Sql
    replace: bool = False
    """Declare anew what is there already."""
