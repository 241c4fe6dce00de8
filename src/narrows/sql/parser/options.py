"""`WITH (key = value, ...)`: the options of a statement."""

from __future__ import annotations

from narrows.errors import Code, NarrowsError, Span, fail
from narrows.plugins.options import Option, Options, OptionValue
from narrows.secrets import is_secret
from narrows.sql.parser.cursor import Cursor


def read_options(cursor: Cursor) -> Options:
    if cursor.at_end:
        return {}
    cursor.expect("WITH")
    cursor.expect("(")
    options: dict[str, Option] = {}
    if cursor.take(")"):
        return options
    while True:
        key, key_span = _option_key(cursor)
        if key in options:
            raise fail(Code.INVALID_OPTION, f"option `{key}` is given twice", key_span)
        cursor.expect("=")
        value, value_span = _option_value(cursor, key)
        options[key] = Option(value, key_span, value_span)
        if not cursor.take(","):
            cursor.expect(")")
            return options


def _option_value(cursor: Cursor, key: str) -> tuple[OptionValue, Span]:
    span = cursor.span
    try:
        return cursor.value()
    except NarrowsError:
        if not is_secret(key):
            raise
        message = f"expected a value of `{key}` in quotes"
        raise fail(Code.SYNTAX_ERROR, message, span) from None


def _option_key(cursor: Cursor) -> tuple[str, Span]:
    """A key may have dots: `spark.sql.shuffle.partitions`. Keys have no case."""
    key, span = cursor.name("an option name")
    while cursor.take("."):
        part, part_span = cursor.name("an option name")
        key, span = f"{key}.{part}", Span(span.start, part_span.end)
    return key.lower(), span
