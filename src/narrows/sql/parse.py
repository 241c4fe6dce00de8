"""From text to statements.

Queries are sqlglot's business; the statements around them are ours and are read here, token by
token, so that every complaint can point at its place.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from narrows.errors import Code, NarrowsError, Span, did_you_mean, fail, nearest
from narrows.plugins.options import Option, Options, OptionValue
from narrows.secrets import is_secret
from narrows.sql.cursor import MISSING_SEMICOLON, Cursor
from narrows.sql.dialect import check_query, new_parser, tokenize
from narrows.sql.scope import Name
from narrows.sql.statements import (
    Analyze,
    CreatePipeline,
    CreateProjection,
    CreateSink,
    CreateSource,
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
from narrows.sql.types import read_columns

_DECLARING = ("CREATE", "DROP", "SHOW", "DESCRIBE")
_COMMANDS = (*_DECLARING, "EXPLAIN", "ANALYZE", "REFRESH", "START", "STOP")
_STATEMENTS = (*_COMMANDS, "SET", "SELECT", "WITH", "VALUES")
_WRITING = "rows are written by pipelines: `CREATE PIPELINE name INTO sink AS SELECT ...`"
_OTHER_STATEMENTS = {
    **dict.fromkeys(("INSERT", "MERGE", "COPY"), _WRITING),
    **dict.fromkeys(("UPDATE", "DELETE", "TRUNCATE"), "what tables read is not ours to change"),
    "ALTER": "declare it anew: `CREATE OR REPLACE ...`",
}
"""Statements that others have, and what there is for them."""
_CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "JOIN", "LATERAL")
_QUERY_WORDS = ("SELECT", "WITH", "FROM", "VALUES", "(")
_RECURSION_LIMIT = 10_000
_SQLGLOT_INTERNALS = ("Invalid expression", "Required keyword", "but got <", "<class")
"""Messages that tell a user nothing: what was unexpected, and where, says more."""


def parse(text: str, filename: str | None = None) -> list[Statement]:
    """All statements of a text. An empty text has none."""
    try:
        tokens = tokenize(text)
        return [_StatementParser(part, text).statement() for part in _split(tokens)]
    except NarrowsError as error:
        raise error.located(text, filename) from None


def parse_spans(text: str, filename: str | None = None) -> list[tuple[Statement, Span]]:
    """All statements of a text, and where each of them stands."""
    try:
        return [
            (_StatementParser(part, text).statement(), Span(part[0].start, part[-1].end + 1))
            for part in _split(tokenize(text))
        ]
    except NarrowsError as error:
        raise error.located(text, filename) from None


def parse_each(text: str) -> Iterator[tuple[Statement | NarrowsError, str | None]]:
    """The statements of a text, or what is wrong with them, one by one; and what each declares."""
    try:
        parts = list(_split(tokenize(text)))
    except NarrowsError as error:
        yield error, None
        return
    for part in parts:
        name = _declared_name(part)
        try:
            yield _StatementParser(part, text).statement(), name
        except NarrowsError as error:
            yield error, name


def _declared_name(tokens: list[Token]) -> str | None:
    words = [token.text for token in tokens]
    if words[0].upper() != "CREATE":
        return None
    return next((word for word in words if word.upper() not in _BEFORE_A_NAME), None)


def parse_query(text: str) -> Query:
    """A text that must be a single query."""
    try:
        tokens = tokenize(text)
        parts = list(_split(tokens))
        if not parts:
            raise fail(Code.SYNTAX_ERROR, "expected a query, found nothing")
        if len(parts) > 1:
            second = parts[1][0]
            span = Span(second.start, second.end + 1)
            raise fail(Code.SYNTAX_ERROR, "expected a single query, found another statement", span)
        parser = _StatementParser(parts[0], text)
        return parser.query()
    except NarrowsError as error:
        raise error.located(text) from None


_planning = threading.Lock()
_planners = 0
_found: tuple[int, bool] = (0, False)
"""How many threads are inside `deep_recursion`, and what the first of them found."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Room for queries that nest deeply, and a clear error for those that nest without end.

    sqlglot takes some 20 Python frames for a pair of parentheses, so Python's usual limit would
    refuse what people do write. The garbage collector rests meanwhile: a query of 15 000 columns is
    half a million small objects, none of them garbage, which it would walk through again and again.

    Both are settings of the process: the first thread that comes in changes them, the last one that
    leaves puts them back.
    """
    global _planners, _found
    with _planning:
        if _planners == 0:
            _found = sys.getrecursionlimit(), gc.isenabled()
            sys.setrecursionlimit(max(_found[0], _RECURSION_LIMIT))
            gc.disable()
        _planners += 1
    try:
        yield
    except RecursionError:
        raise fail(Code.NESTED_TOO_DEEPLY, "the query is nested too deeply to be planned") from None
    finally:
        with _planning:
            _planners -= 1
            if _planners == 0:
                sys.setrecursionlimit(_found[0])
                if _found[1]:
                    gc.enable()


def _syntax_hint(read: list[Token]) -> str | None:
    """What may be wrong, from the tokens up to the one that did not fit: a statement that begins
    before the last one has ended, or a word before it that is misspelt."""
    open_brackets = sum((token.text == "(") - (token.text == ")") for token in read)
    if len(read) > 2 and not open_brackets:
        before, last = read[-2:]
        if _is_word(before, _COMMANDS) or _is_word(last, (*_COMMANDS, "SELECT")):
            return MISSING_SEMICOLON
    for token in reversed(read[-3:]):
        meant = nearest(token.text, _CLAUSES) if token.token_type is TokenType.VAR else None
        if meant is not None and not _is_word(token, _CLAUSES):
            return f"did you mean `{meant}` in place of `{token.text}`?"
    return None


def _is_word(token: Token, words: tuple[str, ...]) -> bool:
    quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
    return not quoted and token.text.upper() in words


def _split(tokens: list[Token]) -> Iterator[list[Token]]:
    part: list[Token] = []
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            part.append(token)
        elif part:
            yield part
            part = []
    if part:
        yield part


class _StatementParser:
    """Reads one statement."""

    def __init__(self, tokens: list[Token], source: str) -> None:
        self._cursor = Cursor(tokens, source)
        self._source = source

    def statement(self) -> Statement:
        cursor = self._cursor
        if cursor.at_word(*_QUERY_WORDS):
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
        if not cursor.at_word(*_QUERY_WORDS):
            hint = _OTHER_STATEMENTS.get(cursor.text.upper())
            message = f"expected a query, found {cursor.found}"
            raise fail(Code.SYNTAX_ERROR, message, cursor.span, hint)
        tokens = cursor.take_rest()
        span = Span(tokens[0].start, tokens[-1].end + 1)
        check_query(tokens)
        with deep_recursion():
            try:
                (tree,) = new_parser().parse(tokens, self._source)
            except ParseError as error:
                raise self._syntax_error(error, tokens) from None
            except TokenError:  # inside a hint, which sqlglot reads by itself
                raise fail(Code.SYNTAX_ERROR, "a hint or comment cannot be read", span) from None
        if tree is None:
            raise fail(Code.SYNTAX_ERROR, "expected a query, found nothing", span)
        return Query(tree, self._source, span)

    def _syntax_error(self, error: ParseError, tokens: list[Token]) -> NarrowsError:
        details = error.errors[0] if error.errors else {}
        message = str(details.get("description") or error).rstrip(".")
        # sqlglot tells line and column of the *end* of the token that it stumbled over.
        line, column = details.get("line"), details.get("col")
        stumbled = [t for t in tokens if t.line == line and t.col == column]
        token = stumbled[0] if stumbled else tokens[-1]
        if any(internal in message for internal in _SQLGLOT_INTERNALS):
            at_end = token is tokens[-1]
            where = "the query ends too early, after" if at_end else "unexpected"
            message = f"{where} `{token.text}`"
        return fail(
            Code.SYNTAX_ERROR,
            message[:1].lower() + message[1:],
            Span(token.start, token.end + 1),
            _syntax_hint(tokens[: tokens.index(token) + 1]),
        )

    # --- CREATE -----------------------------------------------------------------------------------

    def _create(self) -> Statement:
        cursor = self._cursor
        or_replace = cursor.take_words("OR REPLACE")
        if cursor.take("PROJECTION"):
            return self._create_projection(or_replace)
        kind = self._kind()
        if_not_exists = cursor.take_words("IF NOT EXISTS")
        name, name_span = cursor.name(f"a {kind.value} name")
        match kind:
            case ObjectKind.STREAM | ObjectKind.TABLE:
                cursor.expect("(")
                schema = read_columns(cursor)
                cursor.expect(")")
                return CreateSource(
                    name=name,
                    name_span=name_span,
                    if_not_exists=if_not_exists,
                    or_replace=or_replace,
                    kind=kind,
                    schema=schema,
                    options=self._options(),
                )
            case ObjectKind.SINK:
                return CreateSink(
                    name=name,
                    name_span=name_span,
                    if_not_exists=if_not_exists,
                    or_replace=or_replace,
                    options=self._options(),
                )
            case ObjectKind.PIPELINE:
                cursor.expect("INTO")
                sinks = self._names("a sink name")
                cursor.expect("AS")
                return CreatePipeline(
                    name=name,
                    name_span=name_span,
                    if_not_exists=if_not_exists,
                    or_replace=or_replace,
                    sinks=sinks,
                    query=self.query(),
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

    def _options(self) -> Options:
        cursor = self._cursor
        if cursor.at_end:
            return {}
        cursor.expect("WITH")
        cursor.expect("(")
        options: dict[str, Option] = {}
        if cursor.take(")"):
            return options
        while True:
            key, key_span = self._option_key()
            if key in options:
                raise fail(Code.INVALID_OPTION, f"option `{key}` is given twice", key_span)
            cursor.expect("=")
            value, value_span = self._option_value(key)
            options[key] = Option(value, key_span, value_span)
            if not cursor.take(","):
                cursor.expect(")")
                return options

    def _option_value(self, key: str) -> tuple[OptionValue, Span]:
        span = self._cursor.span
        try:
            return self._cursor.value()
        except NarrowsError:
            if not is_secret(key):
                raise
            message = f"expected a value of `{key}` in quotes"
            raise fail(Code.SYNTAX_ERROR, message, span) from None

    def _option_key(self) -> tuple[str, Span]:
        """A key may have dots: `spark.sql.shuffle.partitions`. Keys have no case."""
        key, span = self._cursor.name("an option name")
        while self._cursor.take("."):
            part, part_span = self._cursor.name("an option name")
            key, span = f"{key}.{part}", Span(span.start, part_span.end)
        return key.lower(), span

    # --- the others -------------------------------------------------------------------------------

    def _drop(self) -> Statement:
        if self._cursor.take("PROJECTION"):
            return DropProjection(name=Name(*self._cursor.name("a projection name")))
        kind = self._kind()
        if_exists = self._cursor.take_words("IF EXISTS")
        name, span = self._cursor.name(f"a {kind.value} name")
        return Drop(kind=kind, name=name, name_span=span, if_exists=if_exists)

    def _describe(self) -> Statement:
        kind = self._kind() if self._cursor.at_word(*_KINDS) else None
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
        words = _PLURAL_KINDS if plural else _KINDS
        kind = words.get(cursor.text.upper())
        if kind is None or cursor.at_end:
            hint = did_you_mean(cursor.text, words)
            expected = ", ".join(words)
            message = f"expected one of {expected}, found {cursor.found}"
            raise fail(Code.SYNTAX_ERROR, message, cursor.span, hint)
        cursor.advance()
        return kind


_KINDS = {kind.value.upper(): kind for kind in ObjectKind}
_PLURAL_KINDS = {f"{word}S": kind for word, kind in _KINDS.items()}
_BEFORE_A_NAME = frozenset(("CREATE", "OR", "REPLACE", "IF", "NOT", "EXISTS", *_KINDS))
