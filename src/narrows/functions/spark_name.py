"""What Spark calls a column that a query gives no name: `sum(v)`, `(a + b)`, `count(1)`.

These names are keys in JSON and headers in CSV, so they must not depend on who runs the query.
Spark writes expressions as it has understood them: in brackets, without qualifiers, texts without
quotes, with arguments that were left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from narrows.expressions.function import Kind
from narrows.expressions.nodes import (
    Call,
    Cast,
    Column,
    ElementAccess,
    Expr,
    FieldAccess,
    Lambda,
    Literal,
    SortKey,
    SyntaxForm,
    Variable,
)
from narrows.schema import DOUBLE, FLOAT, INTEGRAL, Decimal

_VARIABLE = "namedlambdavariable()"
_COLLATE = " COLLATE "
_MOMENT = "yyyy-MM-dd HH:mm:ss"

_LEFT_OUT: dict[str, tuple[int, Sequence[str]]] = {
    **dict.fromkeys(("substr", "substring"), (2, ["2147483647"])),
    **dict.fromkeys(("round", "bround"), (1, ["0"])),
    **dict.fromkeys(("lpad", "rpad"), (2, [" "])),
    **dict.fromkeys(("lag", "lead"), (1, ["1", "NULL"])),
    **dict.fromkeys(("listagg", "string_agg"), (1, ["NULL"])),
    **dict.fromkeys(("unix_timestamp", "to_unix_timestamp", "from_unixtime"), (1, [_MOMENT])),
    "aggregate": (3, [f"lambdafunction({_VARIABLE}, {_VARIABLE})"]),
    "locate": (2, ["1"]),
    "months_between": (2, ["true"]),
    "percentile": (2, ["1"]),
    "regexp_replace": (3, ["1"]),
    "replace": (2, [""]),
    "sort_array": (1, ["true"]),
    "split": (2, ["-1"]),
}
"""Arguments that Spark adds to calls of so many."""

_IN_CAPITALS = frozenset(
    (
        *("acos", "acosh", "asin", "asinh", "atan", "atanh", "atan2", "cbrt", "cos", "cosh", "cot"),
        *("csc", "degrees", "exp", "expm1", "hypot", "log10", "log1p", "log2", "power", "radians"),
        *("rint", "sec", "signum", "sin", "sinh", "sqrt", "tan", "tanh"),
        *("rank", "dense_rank", "percent_rank"),
    )
)
_OF_UNITS = {
    **dict.fromkeys(("dateadd", "date_add", "timestampadd"), "timestampadd"),
    **dict.fromkeys(("datediff", "date_diff", "timediff", "timestampdiff"), "timestampdiff"),
}
"""What functions are called that are given a unit first: `timediff(HOUR, a, b)`."""
_SHOWN_FIRST = frozenset(
    (
        *("first", "last", "first_value", "last_value", "any_value"),
        *("from_json", "from_csv", "from_xml", "to_xml"),
    )
)
"""Functions of which only the first argument is shown."""

_NUMBERING = frozenset(("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"))
_START = "UNBOUNDED PRECEDING"


def spark_name(expr: Expr) -> str:
    if expr.written_as is not None:
        return expr.written_as
    match expr:
        case Column(name=name):
            return name
        case Variable():
            return _VARIABLE
        case Literal():
            return _constant(expr)
        case FieldAccess(base=base, name=name):
            return f"{spark_name(base)}.{name}"
        case ElementAccess(base=base, index=index):
            return f"{spark_name(base)}[{spark_name(index)}]"
        case Cast(operand=operand, to=to, safe=safe):
            return f"{'TRY_CAST' if safe else 'CAST'}({spark_name(operand)} AS {to})"
        case Lambda(parameters=parameters, body=body):
            return (
                f"lambdafunction({', '.join([spark_name(body), *[_VARIABLE] * len(parameters)])})"
            )
        case SyntaxForm(pieces=pieces, operands=operands):
            inner = [*map(spark_name, operands), ""]
            if pieces[-1].startswith(_COLLATE):
                return f"collate({inner[0]}, {pieces[-1].removeprefix(_COLLATE)})"
            # SUBSTRING, TRIM and EXTRACT have a syntax of their own, which Spark forgets.
            first = pieces[0] if pieces[0].endswith(" ") else pieces[0].lower()
            first = first.replace("EXTRACT(", "extract(", 1)
            parts = zip((first, *pieces[1:]), inner, strict=True)
            return "".join(piece + text for piece, text in parts)
        case Call():
            return _call(expr)
        case _:
            raise AssertionError(f"no name for {type(expr).__name__}")


def column_name(expr: Expr) -> str:
    """The name of an output column: of a column that is cast, the column's."""
    if expr.written_as is not None:
        return expr.written_as
    match expr:
        case Cast(operand=Column(name=name)):
            return name
        case _:
            return spark_name(expr)


_CASTS = frozenset(
    (
        *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
        *("date", "timestamp", "binary", "string"),
    )
)
"""Functions that are casts by another name, of which Spark shows what is cast and nothing else."""


def _constant(constant: Literal) -> str:
    if isinstance(constant.value, str):
        return constant.value
    if constant.dtype == DOUBLE:
        return repr(float(constant.text.rstrip("dD")))
    if constant.dtype in INTEGRAL and constant.value is not None:
        return str(constant.value)
    if constant.dtype in (*INTEGRAL, FLOAT) or isinstance(constant.dtype, Decimal):
        return constant.text.rstrip("LSYBDFlsybdf")
    return constant.text.replace("TIMESTAMP_LTZ '", "TIMESTAMP '", 1)


def _call(call: Call) -> str:
    args = [spark_name(arg) for arg in call.args]
    name = call.function.name
    written = _WRITTEN.get(name)
    if written is not None:
        return written(args)
    if name in _CASTS and len(args) == 1:
        return args[0]
    if call.function.takes_star and not args:
        args = ["1"]
    if name == "log" and len(args) == 1:
        args = ["E()", *args]
    at, added = _LEFT_OUT.get(name, (-1, ()))
    if name in _SHOWN_FIRST:
        args = args[:1]
    elif len(args) == at:
        args += added
    elif name in ("lag", "lead") and len(args) == 2:
        args.append("NULL")
    name = _shown_name(call)
    text = f"{name}({'DISTINCT ' if call.distinct else ''}{', '.join(args)})"
    if call.order_by:
        plain = call.function.name not in _LISTS
        keys = ", ".join(_sort_key(key, plain=plain) for key in call.order_by)
        text += f" WITHIN GROUP (ORDER BY {keys})"
    if call.filter is not None:
        text += f" FILTER (WHERE {spark_name(call.filter)})"
    return text + _over(call, args) if call.function.kind is Kind.ANALYTIC else text


_LISTS = frozenset(("listagg", "string_agg"))


def _shown_name(call: Call) -> str:
    name = call.function.name
    if len(call.args) == 3 and name in _OF_UNITS:
        return _OF_UNITS[name]
    rounds = name in ("ceil", "floor") and len(call.args) == 1
    return name.upper() if rounds or name == "log" or name in _IN_CAPITALS else name


# --- OVER -----------------------------------------------------------------------------------------


def _over(call: Call, args: Sequence[str]) -> str:
    parts = []
    if call.partition_by:
        parts.append(f"PARTITION BY {', '.join(map(spark_name, call.partition_by))}")
    if call.sorted_by:
        parts.append(f"ORDER BY {', '.join(map(_sort_key, call.sorted_by))}")
    parts.append(call.frame or _frame(call, args))
    return f" OVER ({' '.join(parts)})"


def _frame(call: Call, args: Sequence[str]) -> str:
    name = call.function.name
    if name in ("lag", "lead"):
        row = f"{'-' if name == 'lag' else ''}{args[1]} FOLLOWING"
        return f"ROWS BETWEEN {row} AND {row}"
    if name in _NUMBERING:
        return f"ROWS BETWEEN {_START} AND CURRENT ROW"
    if call.sorted_by:
        return f"RANGE BETWEEN {_START} AND CURRENT ROW"
    return f"ROWS BETWEEN {_START} AND UNBOUNDED FOLLOWING"


def _sort_key(key: SortKey, plain: bool = False) -> str:
    text = spark_name(key.expr)
    if plain and not key.descending and key.nulls_first:
        return text
    direction = "DESC" if key.descending else "ASC"
    return f"{text} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


# --- operators ------------------------------------------------------------------------------------

Write = Callable[[Sequence[str]], str]


def _infix(symbol: str) -> Write:
    return lambda args: f"({args[0]} {symbol} {args[1]})"


def _chain(word: str) -> Write:
    """Spark halves chains: `((a AND b) AND (c AND d))`."""

    def write(args: Sequence[str]) -> str:
        if len(args) == 1:
            return args[0]
        middle = (len(args) + 1) // 2
        return f"({write(args[:middle])} {word} {write(args[middle:])})"

    return write


def _case(args: Sequence[str]) -> str:
    branches = [f"WHEN {args[i]} THEN {args[i + 1]}" for i in range(0, len(args) - 1, 2)]
    default = [f"ELSE {args[-1]}"] if len(args) % 2 else []
    return f"CASE {' '.join([*branches, *default])} END"


def _like(args: Sequence[str]) -> str:
    escape = f" ESCAPE '{args[2]}'" if len(args) > 2 else ""
    return f"{args[0]} LIKE {args[1]}{escape}"


_WRITTEN: dict[str, Write] = {
    **{symbol: _infix(symbol) for symbol in ("+", "-", "*", "/", "%", "&", "|", "^", "div")},
    **{symbol: _infix(symbol) for symbol in ("=", "<", "<=", ">", ">=", "<=>")},
    "shiftleft": _infix("<<"),
    "shiftright": _infix(">>"),
    "shiftrightunsigned": _infix(">>>"),
    "and": _chain("AND"),
    "or": _chain("OR"),
    "<>": lambda args: f"(NOT ({args[0]} = {args[1]}))",
    "||": lambda args: f"concat({', '.join(args)})",
    "not": lambda args: f"(NOT {args[0]})",
    **{name: lambda args: f"({args[0]} IS NULL)" for name in ("is null", "is unknown", "isnull")},
    **{name: lambda args: f"({args[0]} IS NOT NULL)" for name in ("is not null", "isnotnull")},
    "is true": lambda args: f"({args[0]} <=> true)",
    "is false": lambda args: f"({args[0]} <=> false)",
    "in": lambda args: f"({args[0]} IN ({', '.join(args[1:])}))",
    "between": lambda args: f"between({', '.join(args)})",
    "like": _like,
    "ilike": lambda args: f"ilike({', '.join(args)})",
    "rlike": lambda args: f"RLIKE({', '.join(args)})",
    "negative": lambda args: f"(- {args[0]})",
    "positive": lambda args: f"(+ {args[0]})",
    "bitnot": lambda args: f"~{args[0]}",
    "if": lambda args: f"(IF({', '.join(args)}))",
    "case": _case,
}
