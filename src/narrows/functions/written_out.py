"""Functions that Spark lacks, as what they are short for.

Stream engines for devices (eKuiper, veloFlux) have them; docs/functions.md lists all of theirs. A
body names its arguments `_1`, `_2` ... and is bound where the function is called, so pruning goes
through it: `object_pick(b, 'c')` decodes `c`, `keys(b)` whether there is a `b`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from narrows.errors import Code, NarrowsError, fail
from narrows.expressions.function import Body, Function, Kind
from narrows.expressions.nodes import Expr, Literal
from narrows.expressions.text import expression_text
from narrows.functions import objects
from narrows.schema import INTEGRAL, Decimal

_STRFTIME = {
    "Y": "yyyy",
    "y": "yy",
    "m": "MM",
    "d": "dd",
    "H": "HH",
    "I": "hh",
    "M": "mm",
    "S": "ss",
    "f": "SSSSSS",
    "j": "DDD",
    "a": "EEE",
    "A": "EEEE",
    "b": "MMM",
    "B": "MMMM",
    "p": "a",
    "F": "yyyy-MM-dd",
    "T": "HH:mm:ss",
    "Z": "zzz",
    "z": "xx",
}
"""Directives of strftime, as patterns of Spark's."""


def _time_pattern(args: Sequence[Expr]) -> str:
    """format_time(ts, '%Y-%m-%d')"""
    given = _constant("format_time", args[1], "a pattern")
    found, plain, rest = "", "", iter(given)
    for char in rest:
        directive = next(rest, "") if char == "%" else ""
        if char != "%" or directive == "%":
            plain += char
            continue
        if directive not in _STRFTIME:
            raise fail(
                Code.NOT_SUPPORTED,
                f"`format_time` knows no `%{directive}`",
                hint=f"it knows {', '.join(f'%{known}' for known in _STRFTIME)};"
                " `date_format` takes patterns of Spark's",
            )
        found += _plain(plain) + _STRFTIME[directive]
        plain = ""
    return f"date_format(_1, {objects.text(found + _plain(plain))})"


def _plain(text: str) -> str:
    """What stands between directives; letters would be some themselves."""
    return "'" + text.replace("'", "''") + "'" if any(map(str.isalpha, text)) else text


def _number_text(args: Sequence[Expr]) -> str:
    """format(x, digits [, 'en_US'])"""
    digits = args[1].value if isinstance(args[1], Literal) else None
    if not isinstance(digits, int) or digits < 0:
        raise fail(Code.WRONG_TYPE, "`format` takes a constant number of digits, 0 or more")
    if len(args) == 2:
        return f"if(_1 IS NULL, NULL, format_string('%.{digits}f', CAST(_1 AS DOUBLE)))"
    if _constant("format", args[2], "a locale").replace("-", "_") != "en_US":
        raise fail(Code.NOT_SUPPORTED, "`format` knows one locale, 'en_US'")
    return "format_number(_1, _2)"


def _truncated(args: Sequence[Expr]) -> str | None:
    """trunc(12.3456, 2); Spark's own trunc(date, 'MONTH') stays."""
    if args[1].dtype not in INTEGRAL:
        return None
    if not isinstance(args[1], Literal):
        raise _not_constant("trunc", args[1], "a number of digits")
    exact = isinstance(args[0].dtype, Decimal)
    number = "_1" if exact else "CAST(_1 AS DECIMAL(38, 15))"
    text = f"if({number} < 0, ceil({number}, _2), floor({number}, _2))"
    return text if exact else f"CAST({text} AS DOUBLE)"


def _if_base64(text: str) -> Callable[[Sequence[Expr]], str | None]:
    def body(args: Sequence[Expr]) -> str | None:
        given = args[1].value if len(args) == 2 and isinstance(args[1], Literal) else None
        return text if isinstance(given, str) and given.lower() == "base64" else None

    return body


def _constant(name: str, arg: Expr, what: str) -> str:
    if isinstance(arg, Literal) and isinstance(arg.value, str):
        return arg.value
    raise _not_constant(name, arg, what)


def _not_constant(name: str, arg: Expr, what: str) -> NarrowsError:
    message = f"`{name}` takes {what} that is constant, not `{expression_text(arg)}`"
    return fail(Code.WRONG_TYPE, message)


def _always(text: str) -> Body:
    return Body(lambda args: text)


def _scalar(name: str, least: int, most: int | None, body: str | Body) -> Function:
    return _function(name, Kind.SCALAR, least, most, body)


def _aggregate(name: str, body: str) -> Function:
    return _function(name, Kind.AGGREGATE, 1, 1, body)


def _function(name: str, kind: Kind, least: int, most: int | None, body: str | Body) -> Function:
    known = body if isinstance(body, Body) else _always(body)
    return Function(name, kind, least, most, body=known)


_SLEEP = "java_method('java.lang.Thread', 'sleep', CAST(_1 AS BIGINT))"
"""Answers with `null`, a text, when the time is over."""

WRITTEN_OUT: tuple[Function, ...] = (
    # numbers
    _scalar("bitand", 2, 2, "_1 & _2"),
    _scalar("bitor", 2, 2, "_1 | _2"),
    _scalar("bitxor", 2, 2, "_1 ^ _2"),
    _scalar("bitnot", 1, 1, "~_1"),
    _scalar("hex2dec", 1, 1, "CAST(conv(regexp_replace(_1, '^0[xX]', ''), 16, 10) AS BIGINT)"),
    _scalar("dec2hex", 1, 1, "concat('0x', lower(hex(_1)))"),
    # texts
    _scalar("format", 2, 3, Body(_number_text)),
    _scalar("indexof", 2, 2, "instr(_1, _2) - 1"),
    _scalar("numbytes", 1, 1, "octet_length(_1)"),
    _scalar("regexp_matches", 2, 2, "regexp_like(_1, _2)"),
    _scalar("regexp_substring", 2, 2, "regexp_extract(_1, _2, 0)"),
    _scalar("split_value", 3, 3, "split_part(_1, _2, if(_3 < 0, _3, _3 + 1))"),
    _scalar("sha256", 1, 1, "sha2(_1, 256)"),
    _scalar("sha384", 1, 1, "sha2(_1, 384)"),
    _scalar("sha512", 1, 1, "sha2(_1, 512)"),
    _scalar("newuuid", 0, 0, "uuid()"),
    # times
    _scalar("cur_date", 0, 0, "date_format(now(), 'yyyy-MM-dd')"),
    _scalar("cur_time", 0, 0, "date_format(now(), 'HH:mm:ss.SSSSSS')"),
    _scalar("tstamp", 0, 0, "unix_millis(now())"),
    _scalar("format_time", 2, 2, Body(_time_pattern)),
    _scalar("day_name", 1, 1, "date_format(_1, 'EEEE')"),
    _scalar("day_of_month", 1, 1, "dayofmonth(_1)"),
    _scalar("day_of_week", 1, 1, "dayofweek(_1)"),
    _scalar("day_of_year", 1, 1, "dayofyear(_1)"),
    _scalar("from_unix_time", 1, 1, "timestamp_seconds(_1)"),
    _scalar("microsecond", 1, 1, "pmod(unix_micros(_1), 1000000)"),
    _scalar("month_name", 1, 1, "date_format(_1, 'MMMM')"),
    # lists
    _scalar("array_create", 0, None, Body(lambda args: f"array({objects.arguments(args)})")),
    _scalar(
        "array_last_position",
        2,
        2,
        "if(array_position(reverse(_1), _2) > 0, size(_1) - array_position(reverse(_1), _2), -1L)",
    ),
    _scalar("array_contains_any", 2, 2, "coalesce(arrays_overlap(_1, _2), false)"),
    _scalar("array_concat", 1, None, Body(objects.lists_joined)),
    # structs and maps
    _scalar("keys", 1, 1, Body(objects.keys)),
    _scalar("values", 1, 1, Body(objects.values)),
    _scalar("items", 1, 1, Body(objects.items("items"))),
    _scalar("obj_to_kvpair_array", 1, 1, Body(objects.items("obj_to_kvpair_array"))),
    _scalar("object", 2, 2, "map_from_arrays(_1, _2)"),
    _scalar("zip", 1, 1, Body(objects.zipped)),
    _scalar("object_concat", 2, None, Body(objects.concatenated)),
    _scalar("object_construct", 2, None, Body(objects.constructed)),
    _scalar("object_size", 1, 1, Body(objects.size)),
    _scalar("object_pick", 2, None, Body(objects.picked)),
    _scalar("erase", 2, 2, Body(objects.erased)),
    # what is handed on
    _scalar("bypass", 1, 1, "_1"),
    _scalar("delay", 2, 2, f"if(_1 IS NOT NULL AND {_SLEEP} IS NOT NULL, _2, NULL)"),
    # aggregates
    _aggregate("ndv", "count(DISTINCT _1)"),
    _aggregate("deduplicate", "if(count(_1) = 0, NULL, array_distinct(collect_list(_1)))"),
    _aggregate("stddevs", "stddev_samp(_1)"),
    _aggregate("var", "var_pop(_1)"),
    _aggregate("vars", "var_samp(_1)"),
)

WRITTEN_OUT_SOMETIMES: dict[str, Body] = {
    "encode": Body(_if_base64("base64(CAST(_1 AS BINARY))")),
    "decode": Body(_if_base64("CAST(unbase64(_1) AS STRING)")),
    "trunc": Body(_truncated),
}
"""Functions of Spark's that mean something else for arguments that Spark refuses."""
