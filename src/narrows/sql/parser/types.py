"""Reads data types and column lists: `a BIGINT, b STRUCT<c: BIGINT, items: ARRAY<...>>`."""

from __future__ import annotations

import re

from sqlglot import exp

from narrows.errors import Code, NarrowsError, Span, did_you_mean, fail
from narrows.schema import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    UNKNOWN,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
)
from narrows.sql.parser.constant import WRITTEN
from narrows.sql.parser.converted_types import Converted, read_converted
from narrows.sql.parser.cursor import Cursor
from narrows.sql.parser.dialect import MAX_NESTING, NarrowsDialect, tokenize

_SCALARS: dict[str, DataType] = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": TINYINT,
    "BYTE": TINYINT,
    "SMALLINT": SMALLINT,
    "SHORT": SMALLINT,
    "INT": INT,
    "INTEGER": INT,
    "BIGINT": BIGINT,
    "LONG": BIGINT,
    "FLOAT": FLOAT,
    "REAL": FLOAT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "BINARY": BINARY,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_LTZ": TIMESTAMP,
}
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
_TEXTS = ("VARCHAR", "CHAR")
_NESTED = ("STRUCT", "ARRAY", "MAP")
_MAX_PRECISION = 38
_ANY_VALUE = "a STRING holds any value, as JSON text"
_BY_ITSELF = (
    "only a column by itself may be one; inside of others use STRING, and `CAST(x AS {})` in the"
    " query"
)
_OTHER_TYPES = {
    "VARIANT": "only a column by itself may be one; inside of others use STRING: " + _ANY_VALUE,
    "JSON": _ANY_VALUE,
    "OBJECT": "`STRUCT<name: TYPE, ...>` for fields that are known, `MAP<STRING, TYPE>` for others",
    "TEXT": "use STRING",
    "DATETIME": "use TIMESTAMP",
    "TIMESTAMP_NTZ": _BY_ITSELF.format("TIMESTAMP_NTZ"),
    "INTERVAL": _BY_ITSELF.format("INTERVAL DAY TO SECOND"),
    "TIMESTAMPTZ": "use TIMESTAMP",
    "TIME": "use STRING, and `CAST(x AS TIME)` in the query, if Spark knows the type: it does with"
    " `spark.sql.timeType.enabled`",
}
"""Types that others have, and what there is for them."""


def read_schema(text: str) -> Struct:
    """A schema from its text, as in `session.register(..., schema="a BIGINT, b STRING")`."""
    cursor = Cursor(tokenize(text), text)
    schema = read_columns(cursor)
    cursor.expect_end("the column list")
    return schema


def read_type_text(text: str) -> DataType:
    """A type from its text."""
    cursor = Cursor(tokenize(text), text)
    dtype = read_type(cursor)
    cursor.expect_end("the type")
    return dtype


def any_type(text: str) -> DataType:
    """A type of Spark's from its text; unknown where no column may have it."""
    try:
        return read_type_text(text)
    except NarrowsError:
        return UNKNOWN


def read_columns(
    cursor: Cursor, depth: int = 0, converted: dict[str, Converted] | None = None
) -> Struct:
    """`name TYPE, name TYPE, ...`, for the columns of a row and the fields of a struct alike. Where
    columns may be of types that no reader has, it is noted in `converted` what is made of them."""
    fields: list[Field] = []
    seen: set[str] = set()
    while True:
        name, span = cursor.name("a column name")
        if name in seen:
            raise fail(Code.DUPLICATE_COLUMN, f"column `{name}` is declared twice", span)
        seen.add(name)
        cursor.take(":")
        made = None if converted is None else read_converted(cursor)
        if made is None:
            fields.append(Field(name, read_type(cursor, depth)))
        else:
            fields.append(Field(name, STRING))
            assert converted is not None
            converted[name] = made
        _refuse_constraints(cursor)
        if not cursor.take(","):
            return Struct(tuple(fields))


def _refuse_constraints(cursor: Cursor) -> None:
    if cursor.at_word("NOT", "DEFAULT", "PRIMARY", "COMMENT", "GENERATED", "CHECK", "UNIQUE"):
        raise fail(
            Code.NOT_SUPPORTED,
            f"column constraints ({cursor.text.upper()}) are not supported",
            cursor.span,
            "any value may be missing from a payload, so every column is nullable",
        )


def read_type(cursor: Cursor, depth: int = 0) -> DataType:
    span = cursor.span
    if depth > MAX_NESTING:
        message = f"types are nested more than {MAX_NESTING} deep"
        raise fail(Code.NESTED_TOO_DEEPLY, message, span)
    word = cursor.text.upper()
    if cursor.at_end or not word.isidentifier():
        raise fail(Code.SYNTAX_ERROR, f"expected a type, found {cursor.found}", span)
    cursor.advance()
    if word in _SCALARS:
        return _SCALARS[word]
    if word in _DECIMALS:
        return _read_decimal(cursor, span)
    if word in _TEXTS:
        if cursor.take("("):
            cursor.integer("a length")
            cursor.expect(")")
        return STRING
    if word == "STRUCT":
        return _read_struct(cursor, depth + 1)
    if word == "ARRAY":
        cursor.expect("<")
        element = read_type(cursor, depth + 1)
        cursor.expect(">")
        return Array(element)
    if word == "MAP":
        cursor.expect("<")
        key = read_type(cursor, depth + 1)
        cursor.expect(",")
        value = read_type(cursor, depth + 1)
        cursor.expect(">")
        return Map(key, value)
    names = (*_SCALARS, *_DECIMALS, *_NESTED)
    hint = _OTHER_TYPES.get(word) or did_you_mean(word, names) or f"types are {', '.join(names)}"
    raise fail(Code.UNKNOWN_TYPE, f"unknown type `{word}`", span, hint)


def _read_struct(cursor: Cursor, depth: int) -> DataType:
    if cursor.take("<>"):
        return Struct(())
    cursor.expect("<")
    if cursor.take(">"):
        return Struct(())
    struct = read_columns(cursor, depth)
    cursor.expect(">")
    return struct


def _read_decimal(cursor: Cursor, span: Span) -> DataType:
    if not cursor.take("("):
        return Decimal()
    precision = cursor.integer("a precision")
    scale = cursor.integer("a scale") if cursor.take(",") else 0
    cursor.expect(")")
    if not (1 <= precision <= _MAX_PRECISION and 0 <= scale <= precision):
        raise fail(
            Code.UNKNOWN_TYPE,
            f"DECIMAL({precision},{scale}) does not exist",
            span,
            f"precision is 1 to {_MAX_PRECISION}, scale at most the precision",
        )
    return Decimal(precision, scale)


def written_type(node: exp.Expr) -> tuple[str, DataType]:
    """A type in an expression, as SQL text and as a type of ours; unknown where no column may have
    it (INTERVAL, VARIANT ...), and then its text is the user's: sqlglot would translate it."""
    written = node.meta.get(WRITTEN) or node.sql(dialect=NarrowsDialect)
    text = " ".join(_COMMENT.sub(" ", written).split())
    try:
        cursor = Cursor(tokenize(text), text)
        dtype = read_type(cursor)
        cursor.expect_end("the type")
        return dtype.sql(), dtype
    except NarrowsError:
        return text.upper() if _PLAIN_WORDS.fullmatch(text) else text, UNKNOWN


_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_PLAIN_WORDS = re.compile(r"[A-Za-z_ ]+(\(\s*\d+\s*\))?")
