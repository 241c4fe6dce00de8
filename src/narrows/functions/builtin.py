"""The functions a query may call.

`spark_functions.tsv` lists all that Spark has, with kind, arity and result type; it is read off a
running Spark by `tools/list_spark_functions.py`. The tables here say more of some of them: how they
look at their arguments, what nested types they give, which arguments are lambdas. Beside them stand
Narrows' own; stream windows and stateful functions say themselves what they are (`stateful/`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from narrows.demand import ALL, LENGTH, PRESENCE, items, keys
from narrows.expressions.function import Function, Generator, Kind, Output
from narrows.expressions.nodes import Expr, Literal
from narrows.functions import looks, results
from narrows.functions.looks import each, same, same_if_present, shuffled
from narrows.functions.registry import FunctionRegistry
from narrows.functions.results import element_of, of_argument
from narrows.functions.stateful import remembering, stream_window
from narrows.functions.written_out import WRITTEN_OUT, WRITTEN_OUT_SOMETIMES
from narrows.schema import (
    BIGINT,
    BOOLEAN,
    INT,
    SCALARS,
    STRING,
    TIMESTAMP,
    TINYINT,
    UNKNOWN,
    Array,
    DataType,
    Field,
    Map,
    Struct,
)
from narrows.stateful.functions import FUNCTIONS
from narrows.stateful.windows import WINDOWS

_KINDS = {
    "scalar": Kind.SCALAR,
    "aggregate": Kind.AGGREGATE,
    "window": Kind.ANALYTIC,
    "generator": Kind.GENERATOR,
    "table": Kind.TABLE,
}

_DRAWN = frozenset(
    (
        *("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle", "input_file_name"),
        *("monotonically_increasing_id", "spark_partition_id", "reflect", "java_method"),
        *("try_reflect", "input_file_block_start", "input_file_block_length"),
    )
)
"""Another value wherever they stand."""
_NON_DETERMINISTIC = _DRAWN | frozenset(
    (
        *("curdate", "localtime", "unix_timestamp"),
        *("now", "current_timestamp", "current_date", "current_time", "localtimestamp"),
    )
)


def _element(types: Sequence[DataType]) -> Sequence[DataType]:
    return (element_of(types[0]),)


def _element_and_index(types: Sequence[DataType]) -> Sequence[DataType]:
    return (element_of(types[0]), INT)


def _two_elements(types: Sequence[DataType]) -> Sequence[DataType]:
    return (element_of(types[0]), element_of(types[0]))


def _paired_elements(types: Sequence[DataType]) -> Sequence[DataType]:
    return (element_of(types[0]), element_of(types[1]))


def _accumulator_and_element(types: Sequence[DataType]) -> Sequence[DataType]:
    return (types[1], element_of(types[0]))


def _accumulator(types: Sequence[DataType]) -> Sequence[DataType]:
    return (types[1],)


def _entry(types: Sequence[DataType]) -> Sequence[DataType]:
    return (types[0].key, types[0].value) if isinstance(types[0], Map) else (UNKNOWN, UNKNOWN)


def _key_and_two_values(types: Sequence[DataType]) -> Sequence[DataType]:
    return (*_entry(types), element_of(types[1]))


def _exploded(args: Sequence[Expr]) -> Sequence[Output] | None:
    match args[0].dtype:
        case Array(element):
            return [Output("col", element)]
        case Map(key, value):
            return [Output("key", key), Output("value", value)]
        case _:
            return None


def _exploded_with_position(args: Sequence[Expr]) -> Sequence[Output] | None:
    inner = _exploded(args)
    return [Output("pos", INT), *inner] if inner is not None else None


def _inlined(args: Sequence[Expr]) -> Sequence[Output] | None:
    element = element_of(args[0].dtype)
    if not isinstance(element, Struct):
        return None
    return [Output(field.name, field.type) for field in element]


def _stacked(args: Sequence[Expr]) -> Sequence[Output] | None:
    rows = args[0].value if isinstance(args[0], Literal) else None
    if not isinstance(rows, int) or rows < 1:
        return None
    width = -(-(len(args) - 1) // rows)
    return [
        Output(f"col{place}", results.common([arg.dtype for arg in args[1 + place :: width]]))
        for place in range(width)
    ]


def _of_text(args: Sequence[Expr]) -> Sequence[Output]:
    return [Output(f"c{place}", STRING) for place in range(len(args) - 1)]


_explode = Generator(_exploded, looks.explode)
_posexplode = Generator(_exploded_with_position, looks.explode)
_inline = Generator(_inlined, looks.inline)
_OF_VARIANT = {
    "kind": Kind.GENERATOR,
    "generator": Generator(
        lambda args: [Output("pos", INT), Output("key", STRING), Output("value", UNKNOWN)],
        looks.whole_generator,
        in_from=True,
    ),
}

_TIME_WINDOW = Struct((Field("start", TIMESTAMP), Field("end", TIMESTAMP)))

_FIRST = {"result": of_argument(0), "look": each(same_if_present, ALL)}
_COLLECT = {
    "result": results.list_of_argument(0),
    "look": each(lambda wanted: looks.of_element(wanted) | PRESENCE),
}
_LIST_TO_LIST = {
    "result": of_argument(0),
    "look": each(shuffled, ALL),
    "any_shape": frozenset({0}),
}
_KEEPS_TYPE = {"result": of_argument(0)}
_UNIT_FIRST = {"unit_first": True}
_FIRST_ONLY = frozenset({0})
_SIZE = {"result": results.fixed(INT), "look": each(LENGTH), "any_shape": _FIRST_ONLY}
_COALESCE = {"result": results.of_any, "look": each(same_if_present)}
_ELEMENT_AT = {
    "result": results.element_of_argument(0),
    "look": looks.element_at,
    "any_shape": _FIRST_ONLY,
}
_TEST = {
    "result": results.fixed(BOOLEAN),
    "look": looks.test_elements,
    "lambdas": {1: _element},
    "any_shape": _FIRST_ONLY,
}
_FOLD = {
    "result": lambda args: args[1].dtype if len(args) < 4 else results.body_type(args[3]),
    "look": looks.fold,
    "any_shape": _FIRST_ONLY,
    "lambdas": {2: _accumulator_and_element, 3: _accumulator},
}

_NAMES_KEYS = {"kind": Kind.AGGREGATE, "names_keys": True}

_REFINEMENTS: dict[str, Mapping[str, Any]] = {
    # how long, whether there
    "size": _SIZE,
    "cardinality": _SIZE,
    "array_size": _SIZE,
    "isnull": {"look": each(PRESENCE), "any_shape": _FIRST_ONLY},
    "isnotnull": {"look": each(PRESENCE), "any_shape": _FIRST_ONLY},
    # one of the arguments
    "coalesce": _COALESCE,
    "nvl": _COALESCE,
    "ifnull": _COALESCE,
    "nvl2": {"result": results.of_branches, "look": each(PRESENCE, same)},
    "if": {"result": results.of_branches, "look": each(ALL, same)},
    "nullif": {"result": of_argument(0)},
    **dict.fromkeys(("shiftleft", "shiftright", "shiftrightunsigned"), _KEEPS_TYPE),
    "positive": {"result": results.with_sign},
    "greatest": {"result": results.of_any},
    "least": {"result": results.of_any},
    # constructors
    "struct": {"with_names": "named_struct"},
    "named_struct": {"result": results.named_struct, "look": looks.named_struct},
    "array": {"result": results.list_of_common, "look": looks.array},
    "map": {"result": results.map_of_pairs, "look": looks.map_of_pairs},
    # access
    "element_at": _ELEMENT_AT,
    "try_element_at": _ELEMENT_AT,
    "get": {**_ELEMENT_AT, "look": looks.get},
    # lists
    "slice": _LIST_TO_LIST,
    "reverse": _LIST_TO_LIST,
    "shuffle": _LIST_TO_LIST,
    "array_compact": {
        "result": of_argument(0),
        "look": each(lambda wanted: shuffled(wanted) | items(rest=PRESENCE)),
        "any_shape": _FIRST_ONLY,
    },
    "array_distinct": _KEEPS_TYPE,
    "array_union": _KEEPS_TYPE,
    "array_intersect": _KEEPS_TYPE,
    "array_except": _KEEPS_TYPE,
    "array_remove": _KEEPS_TYPE,
    "array_append": {"result": results.with_element},
    "array_prepend": {"result": results.with_element},
    "array_insert": _KEEPS_TYPE,
    "sort_array": _KEEPS_TYPE,
    "array_max": {"result": results.element_of_argument(0)},
    "array_min": {"result": results.element_of_argument(0)},
    "array_repeat": {"result": results.list_of_argument(0)},
    "flatten": {"result": results.flattened},
    "concat": {"result": results.concatenated},
    "split": {"result": results.fixed(Array(STRING))},
    "sequence": {"result": results.list_of_argument(0)},
    # maps
    "map_keys": {
        "result": results.list_of_keys,
        "look": each(looks.of_key),
        "any_shape": _FIRST_ONLY,
    },
    "map_values": {
        "result": results.list_of_values,
        "look": each(looks.of_value),
        "any_shape": _FIRST_ONLY,
    },
    "map_entries": {"result": results.list_of_entries},
    "map_contains_key": {
        "result": results.fixed(BOOLEAN),
        "look": each(lambda wanted: keys(rest=PRESENCE), ALL),
    },
    "map_concat": _KEEPS_TYPE,
    # higher-order functions
    "transform": {
        "result": results.list_of_body(1),
        "look": looks.transform,
        "any_shape": _FIRST_ONLY,
        "lambdas": {1: _element_and_index},
        "optional_parameters": 1,
    },
    "filter": {
        "result": of_argument(0),
        "look": looks.filter_elements,
        "any_shape": _FIRST_ONLY,
        "lambdas": {1: _element_and_index},
        "optional_parameters": 1,
    },
    "exists": _TEST,
    "forall": _TEST,
    "aggregate": _FOLD,
    "reduce": _FOLD,
    "zip_with": {
        "result": results.list_of_body(2),
        "look": looks.zip_lists,
        "any_shape": frozenset({0, 1}),
        "lambdas": {2: _paired_elements},
    },
    "array_sort": {"result": of_argument(0), "lambdas": {1: _two_elements}},
    "map_filter": {
        "result": of_argument(0),
        "look": looks.filter_entries,
        "any_shape": _FIRST_ONLY,
        "lambdas": {1: _entry},
    },
    "transform_values": {
        "result": results.map_of_body,
        "look": looks.transform_values,
        "any_shape": _FIRST_ONLY,
        "lambdas": {1: _entry},
    },
    "transform_keys": {"lambdas": {1: _entry}},
    "map_zip_with": {"lambdas": {2: _key_and_two_values}},
    # aggregates
    "count": {"result": results.fixed(BIGINT), "look": each(PRESENCE), "takes_star": True},
    "count_if": {"result": results.fixed(BIGINT)},
    "sum": {"result": results.sum_of},
    "min": _KEEPS_TYPE,
    "max": _KEEPS_TYPE,
    "mode": _KEEPS_TYPE,
    "first": _FIRST,
    "first_value": _FIRST,
    "last": _FIRST,
    "last_value": _FIRST,
    "any_value": _FIRST,
    "max_by": {"result": results.first_rows, "look": looks.first_rows},
    "min_by": {"result": results.first_rows, "look": looks.first_rows},
    "collect_list": _COLLECT,
    "array_agg": _COLLECT,
    "collect_set": {"result": results.list_of_argument(0)},
    "grouping": {**_NAMES_KEYS, "result": results.fixed(TINYINT)},
    "grouping_id": {**_NAMES_KEYS, "result": results.fixed(BIGINT)},
    # generators
    "explode": {"generator": _explode, "any_shape": _FIRST_ONLY},
    "explode_outer": {"generator": _explode, "any_shape": _FIRST_ONLY},
    "posexplode": {"generator": _posexplode, "any_shape": _FIRST_ONLY},
    "posexplode_outer": {"generator": _posexplode, "any_shape": _FIRST_ONLY},
    "inline": {"generator": _inline, "any_shape": _FIRST_ONLY},
    "inline_outer": {"generator": _inline, "any_shape": _FIRST_ONLY},
    "stack": {"generator": Generator(_stacked, looks.whole_generator)},
    "json_tuple": {"generator": Generator(_of_text, looks.whole_generator)},
    "variant_explode": _OF_VARIANT,
    "variant_explode_outer": _OF_VARIANT,
    # in FROM
    "range": {"table": lambda args: [Output("id", BIGINT)]},
    "sql_keywords": {
        "table": lambda args: [Output("keyword", STRING), Output("reserved", BOOLEAN)]
    },
    # Spark's own time windows, as an expression in GROUP BY
    "window": {"result": results.fixed(_TIME_WINDOW), "key_name": "window"},
    "session_window": {"result": results.fixed(_TIME_WINDOW), "key_name": "session_window"},
    "abs": {"result": results.with_sign},
    "date_add": _UNIT_FIRST,
    "dateadd": _UNIT_FIRST,
    "date_diff": _UNIT_FIRST,
    "datediff": _UNIT_FIRST,
}


_NARROWS: tuple[Function, ...] = (
    *map(stream_window, WINDOWS),
    *map(remembering, FUNCTIONS),
    Function(
        "last_row",
        Kind.AGGREGATE,
        1,
        1,
        result=of_argument(0),
        look=each(same_if_present),
        by_order=True,
    ),
    Function("timestampadd", Kind.SCALAR, 3, 3, unit_first=True),
    Function("timestampdiff", Kind.SCALAR, 3, 3, unit_first=True),
    Function("timediff", Kind.SCALAR, 3, 3, unit_first=True),
    Function("window_start", Kind.WINDOW_BOUND, 0, 0, result=results.fixed(TIMESTAMP)),
    Function("window_end", Kind.WINDOW_BOUND, 0, 0, result=results.fixed(TIMESTAMP)),
)


@cache
def builtin_functions() -> FunctionRegistry:
    """All of Spark's functions and Narrows' own. Shared: give users a child of it to add to."""
    registry = FunctionRegistry(_spark_functions())
    for name, changes in _REFINEMENTS.items():
        function = registry.find(name)
        assert function is not None, f"Spark has no function {name}"
        registry.add(replace(function, **changes))
    for function in _NARROWS:
        registry.add(function)
    for name, body in WRITTEN_OUT_SOMETIMES.items():
        function = registry.find(name)
        assert function is not None, f"Spark has no function {name}"
        registry.add(replace(function, body=body))
    for function in WRITTEN_OUT:
        assert registry.find(function.name) is None, f"Spark has a function {function.name}"
        registry.add(function)
    return registry


def _spark_functions() -> list[Function]:
    table = files("narrows.functions").joinpath("spark_functions.tsv").read_text("utf-8")
    by_type = {scalar.sql(): scalar for scalar in SCALARS}
    functions = []
    for line in table.splitlines():
        if not line or line.startswith("#"):
            continue
        name, kind, low, high, result = line.split("\t")
        functions.append(
            Function(
                name,
                _KINDS[kind],
                int(low),
                None if high == "*" else int(high),
                result=results.fixed(by_type.get(result, UNKNOWN)),
                deterministic=name not in _NON_DETERMINISTIC,
                drawn=name in _DRAWN,
                generator=_opaque_generator(kind),
            )
        )
    return functions


def _opaque_generator(kind: str) -> Generator | None:
    """A generator of which only Spark knows the columns."""
    if kind != "generator":
        return None
    return Generator(lambda args: None, looks.whole_generator)
