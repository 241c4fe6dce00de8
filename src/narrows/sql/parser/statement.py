"""One statement, token by token, so that every complaint can point at its place."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from narrows.errors import Code, Span, did_you_mean, fail
from narrows.sql.parser.converted_types import Converted
from narrows.sql.parser.cursor import Cursor
from narrows.sql.parser.function import read_function
from narrows.sql.parser.options import read_options
from narrows.sql.parser.query import COMMANDS, QUERY_WORDS, read_query
from narrows.sql.parser.statements import (
    Analyze,
    CreatePipeline,
    CreateProjection,
    CreateSink,
    CreateSource,
    CreateView,
    Describe,
    Drop,
    DropProjection,
    Explain,
    ExplainMode,
    ObjectKind,
    Query,
    RefreshProjection,
    Select,
    Set,
    Show,
    Start,
    Statement,
    Stop,
)
from narrows.sql.parser.types import read_columns
from narrows.sql.scope import Name

_STATEMENTS = (*COMMANDS, "SET", "SELECT", "WITH", "VALUES")
_WRITING = "rows are written by pipelines: `CREATE PIPELINE name INTO sink AS SELECT ...`"
_OTHER_STATEMENTS = {
    **dict.fromkeys(("INSERT", "MERGE", "COPY"), _WRITING),
    **dict.fromkeys(("UPDATE", "DELETE", "TRUNCATE"), "what tables read is not ours to change"),
    "ALTER": "declare it anew: `CREATE OR REPLACE ...`",
}
"""Statements that others have, and what there is for them."""


class StatementParser:
    """Reads one statement."""

    def __init__(self, tokens: list[Token], source: str) -> None:
        self._cursor = Cursor(tokens, source)
        self._source = source

    def statement(self) -> Statement:
        cursor = self._cursor
        if cursor.at_word(*QUERY_WORDS):
            return Select(query=self.query())
        span, word = cursor.span, cursor.text.upper()
        cursor.advance()
        match word:
            case "CREATE":
                parsed: Statement = self._create()
            case "DROP":
                parsed = self._drop()
            case "SHOW":
                parsed = Show(kind=self._kind(plural=True))
            case "DESCRIBE" | "DESC":
                parsed = self._describe()
            case "EXPLAIN":
                parsed = self._explain()
            case "REFRESH":
                cursor.expect("PROJECTION")
                parsed = RefreshProjection(name=Name(*cursor.name("a projection name")))
            case "ANALYZE":
                parsed = self._analyze()
            case "START":
                parsed = Start(pipelines=self._pipelines())
            case "STOP":
                parsed = Stop(pipelines=self._pipelines())
            case "SET":
                parsed = self._set()
            case _:
                hint = (
                    _OTHER_STATEMENTS.get(word)
                    or did_you_mean(word, _STATEMENTS)
                    or f"statements are {', '.join(_STATEMENTS)}"
                )
                raise fail(Code.SYNTAX_ERROR, f"`{word}` is not a statement", span, hint)
        cursor.expect_end("the statement", _STATEMENTS)
        return parsed

    def query(self) -> Query:
        """All that is left, as a query."""
        cursor = self._cursor
        if not cursor.at_word(*QUERY_WORDS):
            hint = _OTHER_STATEMENTS.get(cursor.text.upper())
            message = f"expected a query, found {cursor.found}"
            raise fail(Code.SYNTAX_ERROR, message, cursor.span, hint)
        return read_query(cursor.take_rest(), self._source)

    # --- CREATE -----------------------------------------------------------------------------------

    def _create(self) -> Statement:
        cursor = self._cursor
        or_replace = cursor.take_words("OR REPLACE")
        if cursor.take("PROJECTION"):
            return self._create_projection(or_replace)
        if cursor.at_word("TEMPORARY", "TEMP"):
            cursor.advance()  # a catalog keeps nothing on the disk: every view and function is
            if not cursor.at_word("VIEW", "FUNCTION"):
                cursor.expect("VIEW")
        kind = self._kind()
        if_not_exists = cursor.take_words("IF NOT EXISTS")
        name, name_span = cursor.name(f"a {kind.value} name")
        match kind:
            case ObjectKind.STREAM | ObjectKind.TABLE:
                cursor.expect("(")
                converted: dict[str, Converted] = {}
                schema = read_columns(cursor, converted=converted)
                cursor.expect(")")
                return CreateSource(
                    name=name,
                    name_span=name_span,
                    if_not_exists=if_not_exists,
                    or_replace=or_replace,
                    kind=kind,
                    schema=schema,
                    options=read_options(cursor),
                    converted=converted,
                )
            case ObjectKind.VIEW:
                columns: tuple[tuple[str, Span], ...] = ()
                if cursor.take("("):
                    columns = self._names("a column name")
                    cursor.expect(")")
                cursor.expect("AS")
                return CreateView(
                    name=name,
                    name_span=name_span,
                    if_not_exists=if_not_exists,
                    or_replace=or_replace,
                    columns=tuple(Name(*column) for column in columns),
                    query=self.query(),
                )
            case ObjectKind.FUNCTION:
                return read_function(
                    cursor, self._source, Name(name, name_span), if_not_exists, or_replace
                )
            case ObjectKind.SINK:
                return CreateSink(
                    name=name,
                    name_span=name_span,
                    if_not_exists=if_not_exists,
                    or_replace=or_replace,
                    options=read_options(cursor),
                )
            case ObjectKind.PIPELINE:
                cursor.expect("INTO")
                sinks = self._names("a sink name")
                options = read_options(cursor) if cursor.at_word("WITH") else {}
                cursor.expect("AS")
                return CreatePipeline(
                    name=name,
                    name_span=name_span,
                    if_not_exists=if_not_exists,
                    or_replace=or_replace,
                    sinks=sinks,
                    query=self.query(),
                    options=options,
                )

    def _create_projection(self, or_replace: bool) -> Statement:
        cursor = self._cursor
        name, name_span = cursor.name("a projection name")
        cursor.expect("ON")
        table, table_span = cursor.name("a table name")
        cursor.expect("(")
        columns = self._names("a column name")
        cursor.expect(")")
        ordered = cursor.take_words("ORDER BY") or cursor.take("ORDER BY")
        order_by = self._names("a column name") if ordered else ()
        return CreateProjection(
            name=name,
            name_span=name_span,
            table=table,
            table_span=table_span,
            columns=tuple(Name(*column) for column in columns),
            order_by=tuple(Name(*column) for column in order_by),
            or_replace=or_replace,
        )

    # --- the others -------------------------------------------------------------------------------

    def _drop(self) -> Statement:
        if self._cursor.take("PROJECTION"):
            return DropProjection(name=Name(*self._cursor.name("a projection name")))
        kind = self._kind()
        if_exists = self._cursor.take_words("IF EXISTS")
        name, span = self._cursor.name(f"a {kind.value} name")
        return Drop(kind=kind, name=name, name_span=span, if_exists=if_exists)

    def _describe(self) -> Statement:
        kind = self._kind() if self._cursor.at_word(*KINDS) else None
        name, span = self._cursor.name("a name")
        return Describe(kind=kind, name=name, name_span=span)

    def _explain(self) -> Statement:
        cursor = self._cursor
        mode = ExplainMode.DEFAULT
        for candidate in ExplainMode:
            if candidate is not ExplainMode.DEFAULT and cursor.take(candidate.value.upper()):
                mode = candidate
                break
        if cursor.take("PIPELINE"):
            return Explain(mode=mode, pipeline=cursor.name("a pipeline name"))
        if cursor.take_words("SHARED STREAM"):
            return Explain(mode=mode, shared_stream=cursor.name("a stream name"))
        return Explain(mode=mode, query=self.query())

    def _set(self) -> Statement:
        """`SET narrows.rule.x = off`: the name up to the equals sign, then one word."""
        cursor = self._cursor
        name, span = "", cursor.span
        while not cursor.at_end and cursor.text != "=":
            name += cursor.text
            span = Span(span.start, cursor.span.end)
            cursor.advance()
        if not name:
            raise fail(Code.SYNTAX_ERROR, f"expected a setting, found {cursor.found}", cursor.span)
        cursor.expect("=")
        value, value_span = cursor.text, cursor.span
        cursor.advance()
        return Set(name=name, name_span=span, value=value, value_span=value_span)

    def _analyze(self) -> Statement:
        self._cursor.expect("TABLE")
        name, span = self._cursor.name("a table name")
        self._cursor.take_words("COMPUTE STATISTICS")
        return Analyze(name=name, name_span=span)

    def _pipelines(self) -> tuple[tuple[str, Span], ...]:
        if not self._cursor.take("PIPELINES"):
            self._cursor.expect("PIPELINE")
        return self._names("a pipeline name")

    def _names(self, what: str) -> tuple[tuple[str, Span], ...]:
        names = [self._cursor.name(what)]
        while self._cursor.take(","):
            names.append(self._cursor.name(what))
        return tuple(names)

    def _kind(self, plural: bool = False) -> ObjectKind:
        cursor = self._cursor
        words = _PLURAL_KINDS if plural else KINDS
        kind = words.get(cursor.text.upper())
        if kind is None or cursor.at_end:
            hint = did_you_mean(cursor.text, words)
            expected = ", ".join(words)
            message = f"expected one of {expected}, found {cursor.found}"
            raise fail(Code.SYNTAX_ERROR, message, cursor.span, hint)
        cursor.advance()
        return kind


KINDS = {kind.value.upper(): kind for kind in ObjectKind}
_PLURAL_KINDS = {f"{word}S": kind for word, kind in KINDS.items()}
