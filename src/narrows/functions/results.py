"""Result types of functions: the vocabulary that the function tables are written in.

Types are followed where they decide something: struct fields must be checked, lists and maps are
told apart, lambdas need the types of their parameters. Elsewhere `UNKNOWN` is a fine answer; Spark
computes the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from narrows.expressions.nodes import Expr, Lambda, Literal
from narrows.schema import (
    BIGINT,
    DOUBLE,
    INTEGRAL,
    STRING,
    UNKNOWN,
    VOID,
    Array,
    DataType,
    Field,
    Map,
    Struct,
)

Result = Callable[[Sequence[Expr]], DataType]


def fixed(dtype: DataType) -> Result:
    return lambda args: dtype


def of_argument(place: int) -> Result:
    return lambda args: args[place].dtype if place < len(args) else UNKNOWN


def with_sign(args: Sequence[Expr]) -> DataType:
    """`-x`, `abs(x)`: a number of the same type; a text is read as a DOUBLE."""
    dtype = args[0].dtype if args else UNKNOWN
    return DOUBLE if dtype in (STRING, VOID) else dtype


def first_rows(args: Sequence[Expr]) -> DataType:
    """`max_by(x, y)` is an x, `max_by(x, y, 3)` a list of them."""
    return Array(args[0].dtype) if len(args) > 2 else args[0].dtype


def element_of(dtype: DataType) -> DataType:
    match dtype:
        case Array(element):
            return element
        case Map(_, value):
            return value
        case _:
            return UNKNOWN


def element_of_argument(place: int) -> Result:
    return lambda args: element_of(args[place].dtype)


def list_of_argument(place: int) -> Result:
    return lambda args: Array(args[place].dtype)


def list_of_body(place: int) -> Result:
    return lambda args: Array(body_type(args[place]))


def body_type(expr: Expr) -> DataType:
    return expr.body.dtype if isinstance(expr, Lambda) else UNKNOWN


def common(dtypes: Sequence[DataType]) -> DataType:
    """The type of a value that is one of several; unknown where Spark would have to coerce."""
    known = [dtype for dtype in dtypes if dtype != VOID]
    if not known:
        return VOID
    first = known[0]
    if all(dtype == first for dtype in known):
        return first
    if isinstance(first, Struct):
        return _common_struct(known)
    if isinstance(first, Array):
        return Array(
            common([dtype.element if isinstance(dtype, Array) else UNKNOWN for dtype in known])
        )
    return numeric(known)


def _common_struct(dtypes: Sequence[DataType]) -> DataType:
    structs = [dtype for dtype in dtypes if isinstance(dtype, Struct)]
    names = structs[0].names
    if len(structs) < len(dtypes) or any(struct.names != names for struct in structs):
        return UNKNOWN
    members = zip(*(struct.fields for struct in structs), strict=True)
    return Struct(tuple(Field(same[0].name, common([f.type for f in same])) for same in members))


def of_any(args: Sequence[Expr]) -> DataType:
    return common([arg.dtype for arg in args])


def of_case(args: Sequence[Expr]) -> DataType:
    results = [arg.dtype for arg in args[1::2]]
    if len(args) % 2 == 1:
        results.append(args[-1].dtype)
    return common(results)


def of_branches(args: Sequence[Expr]) -> DataType:
    """if(condition, then, else), nvl2(x, then, else)"""
    return common([arg.dtype for arg in args[1:]])


def numeric(dtypes: Sequence[DataType]) -> DataType:
    """What arithmetic on these types gives, where that does not depend on Spark's settings."""
    if any(dtype == DOUBLE for dtype in dtypes):
        return DOUBLE
    if all(dtype in INTEGRAL for dtype in dtypes):
        return INTEGRAL[max(INTEGRAL.index(dtype) for dtype in dtypes)]
    return UNKNOWN


def arithmetic(args: Sequence[Expr]) -> DataType:
    return numeric([arg.dtype for arg in args])


def sum_of(args: Sequence[Expr]) -> DataType:
    dtype = args[0].dtype if args else UNKNOWN
    return BIGINT if dtype in INTEGRAL else numeric([dtype])


def with_element(args: Sequence[Expr]) -> DataType:
    """`array_append(list, x)`."""
    return Array(common([element_of(args[0].dtype), args[1].dtype]))


def flattened(args: Sequence[Expr]) -> DataType:
    inner = element_of(args[0].dtype)
    return inner if isinstance(inner, Array) else UNKNOWN


def concatenated(args: Sequence[Expr]) -> DataType:
    """concat joins strings, binaries or lists."""
    types = [arg.dtype for arg in args]
    return common(types) if types and isinstance(types[0], Array) else UNKNOWN


def list_of_keys(args: Sequence[Expr]) -> DataType:
    dtype = args[0].dtype
    return Array(dtype.key) if isinstance(dtype, Map) else UNKNOWN


def list_of_values(args: Sequence[Expr]) -> DataType:
    dtype = args[0].dtype
    return Array(dtype.value) if isinstance(dtype, Map) else UNKNOWN


def list_of_entries(args: Sequence[Expr]) -> DataType:
    dtype = args[0].dtype
    if not isinstance(dtype, Map):
        return UNKNOWN
    return Array(Struct((Field("key", dtype.key), Field("value", dtype.value))))


def list_of_common(args: Sequence[Expr]) -> DataType:
    return Array(of_any(args))


def map_of_pairs(args: Sequence[Expr]) -> DataType:
    return Map(of_any(args[0::2]), of_any(args[1::2]))


def map_of_body(args: Sequence[Expr]) -> DataType:
    """transform_values(m, (k, v) -> body)"""
    dtype = args[0].dtype
    return Map(dtype.key, body_type(args[1])) if isinstance(dtype, Map) else UNKNOWN


def named_struct(args: Sequence[Expr]) -> DataType:
    """`'name', value, 'name', value, ...`; unknown when a name is not a constant or repeats."""
    names = [a.value for a in args[0::2] if isinstance(a, Literal) and isinstance(a.value, str)]
    values = args[1::2]
    if len(names) != len(values) or len(set(names)) != len(names):
        return UNKNOWN
    return Struct(tuple(Field(n, v.dtype) for n, v in zip(names, values, strict=True)))
