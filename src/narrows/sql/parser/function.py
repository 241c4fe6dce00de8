"""CREATE FUNCTION f (a INT, b STRING) RETURNS INT RETURN a + length(b)"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from narrows.errors import Code, Span, fail
from narrows.schema import Field, Struct
from narrows.sql.parser.cursor import Cursor
from narrows.sql.parser.query import QUERY_WORDS, read_query
from narrows.sql.parser.statements import CreateFunction, Query
from narrows.sql.parser.types import read_type
from narrows.sql.scope import Name


def read_function(
    cursor: Cursor, source: str, name: Name, if_not_exists: bool, or_replace: bool
) -> CreateFunction:
    """What follows the name."""
    assert name.span is not None
    cursor.expect("(")
    parameters = _parameters(cursor)
    cursor.expect(")")
    returns = None
    if cursor.take("RETURNS"):
        if cursor.at_word("TABLE"):
            _refuse(cursor.span, "functions that return tables", "use a view: `CREATE VIEW ...`")
        returns = read_type(cursor)
    while not cursor.take("RETURN"):
        _read_characteristic(cursor)
    return CreateFunction(
        name=name.text,
        name_span=name.span,
        if_not_exists=if_not_exists,
        or_replace=or_replace,
        parameters=parameters,
        returns=returns,
        body=_body(cursor, source),
    )


def _parameters(cursor: Cursor) -> Struct:
    fields: list[Field] = []
    while not cursor.at_word(")") and cursor.text != ")":
        name, span = cursor.name("a parameter")
        if name.casefold() in (field.name.casefold() for field in fields):
            raise fail(Code.DUPLICATE_COLUMN, f"parameter `{name}` is declared twice", span)
        fields.append(Field(name, read_type(cursor)))
        if cursor.at_word("DEFAULT"):
            _refuse(cursor.span, "parameters with a default", "declare two functions")
        if cursor.take("COMMENT"):
            cursor.value()
        if not cursor.take(","):
            break
    return Struct(tuple(fields))


def _read_characteristic(cursor: Cursor) -> None:
    """What Spark lets stand before RETURN; nothing of it changes what the function means."""
    for words in ("LANGUAGE SQL", "NOT DETERMINISTIC", "DETERMINISTIC", "CONTAINS SQL"):
        if cursor.take_words(words):
            return
    if cursor.take("COMMENT"):
        cursor.value()
        return
    if cursor.at_word("LANGUAGE"):
        _refuse(cursor.span, "functions in other languages", "register it: `spark.udf.register`")
    message = f"expected `RETURN` and an expression, found {cursor.found}"
    raise fail(Code.SYNTAX_ERROR, message, cursor.span)


def _body(cursor: Cursor, source: str) -> Query:
    if cursor.at_end:
        raise fail(Code.SYNTAX_ERROR, "expected an expression after `RETURN`", cursor.span)
    if cursor.at_word(*(word for word in QUERY_WORDS if word != "(")):
        _refuse(cursor.span, "a function whose body is a query", "use a view: `CREATE VIEW ...`")
    tokens = cursor.take_rest()
    first = tokens[0]
    select = Token(TokenType.SELECT, "SELECT", first.line, first.col, first.start, first.start - 1)
    query = read_query([select, *tokens], source)
    if len(query.tree.expressions) != 1 or any(
        value for key, value in query.tree.args.items() if key not in ("expressions", "kind")
    ):
        raise fail(
            Code.SYNTAX_ERROR,
            "a function has one expression for a body",
            query.span,
            "a list of values is `struct(...)`",
        )
    return query


def _refuse(span: Span, what: str, hint: str) -> None:
    raise fail(Code.NOT_SUPPORTED, f"{what} cannot be declared", span, hint)
