"""Bodies of functions that take structs and maps apart: `keys(b)`, `object_pick(b, 'c')`.

A struct has its names in its type, so what these give is known when a query is planned: they become
accesses to fields, and only those are decoded. Of a map, Spark's functions do the same at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from narrows.errors import Code, NarrowsError, did_you_mean, fail
from narrows.expressions.nodes import Call, Expr, Literal
from narrows.expressions.text import expression_text
from narrows.functions.results import common
from narrows.schema import UNKNOWN, Array, Map, Struct, is_nested

_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'"})


def text(value: str) -> str:
    """A constant, as SQL reads it."""
    return f"'{value.translate(_ESCAPES)}'"


def arguments(args: Sequence[Expr]) -> str:
    return ", ".join(_names(args))


def keys(args: Sequence[Expr]) -> str:
    match _object("keys", args[0]):
        case Map():
            return "map_keys(_1)"
        case Struct() as struct:
            return _if_there(f"array({', '.join(map(text, struct.names))})")


def values(args: Sequence[Expr]) -> str:
    match _object("values", args[0]):
        case Map():
            return "map_values(_1)"
        case Struct() as struct:
            _one_type("values", args[0], struct)
            return _if_there(f"array({', '.join(_field('_1', name) for name in struct.names)})")


def items(name: str) -> Callable[[Sequence[Expr]], str]:
    def body(args: Sequence[Expr]) -> str:
        match _object(name, args[0]):
            case Map():
                return "map_entries(_1)"
            case Struct() as struct:
                _one_type(name, args[0], struct)
                entries = (
                    f"named_struct('key', {text(f)}, 'value', {_field('_1', f)})"
                    for f in struct.names
                )
                return _if_there(f"array({', '.join(entries)})")

    return body


def size(args: Sequence[Expr]) -> str:
    match _object("object_size", args[0]):
        case Map():
            return "if(_1 IS NULL, 0, size(_1))"
        case Struct() as struct:
            return f"if(_1 IS NULL, 0, {len(struct)})"


def zipped(args: Sequence[Expr]) -> str:
    """zip(pairs): of lists of two, or of structs of two."""
    pair = args[0].dtype.element if isinstance(args[0].dtype, Array) else UNKNOWN
    if isinstance(pair, Array):
        return "map_from_arrays(transform(_1, p -> p[0]), transform(_1, p -> p[1]))"
    if isinstance(pair, Struct) and len(pair) == 2:
        return "map_from_entries(_1)"
    raise _wrong("zip", args[0], "a list of pairs")


def constructed(args: Sequence[Expr]) -> str:
    """object_construct('a', 1, 'b', 2)"""
    if len(args) % 2:
        raise fail(Code.WRONG_ARITY, "`object_construct` takes names and values in turn")
    for name in args[::2]:
        _constant_texts("object_construct", name)
    return f"named_struct({arguments(args)})"


def concatenated(args: Sequence[Expr]) -> str:
    """object_concat(a, b): what the last of them says; one that is NULL says nothing."""
    found = [_object("object_concat", arg) for arg in args]
    names = _names(args)
    structs = [dtype for dtype in found if isinstance(dtype, Struct)]
    if len(structs) == len(found):
        return _structs_joined(structs, names)
    dtype = common(found)
    if not isinstance(dtype, Map):
        raise fail(
            Code.WRONG_TYPE,
            "`object_concat` takes structs, or maps of one type, not both",
        )
    empty = f"CAST(map() AS {dtype.sql()})"
    joined = f"coalesce({names[0]}, {empty})"
    for name in names[1:]:
        later = f"coalesce({name}, {empty})"
        kept = f"map_filter({joined}, (k, v) -> NOT map_contains_key({later}, k))"
        joined = f"map_concat({kept}, {later})"
    return joined


def _structs_joined(structs: Sequence[Struct], names: Sequence[str]) -> str:
    values: dict[str, tuple[str, str]] = {}
    for struct, name in zip(structs, names, strict=True):
        for field in struct.names:
            value = _field(name, field)
            shown, before = values.get(field.casefold(), (field, None))
            later = value if before is None else f"if({name} IS NULL, {before}, {value})"
            values[field.casefold()] = shown, later
    return f"named_struct({', '.join(f'{text(f)}, {value}' for f, value in values.values())})"


def picked(args: Sequence[Expr]) -> str:
    """object_pick(b, 'c', 'd.e'), object_pick(b, array('c', 'd.e'))"""
    paths = [path for arg in args[1:] for path in _constant_texts("object_pick", arg)]
    match _object("object_pick", args[0]):
        case Map():
            return f"map_filter(_1, (k, v) -> k IN ({', '.join(map(text, paths))}))"
        case Struct() as struct:
            return _picked("_1", struct, [path.split(".") for path in paths])


def _picked(value: str, struct: Struct, paths: Sequence[Sequence[str]]) -> str:
    below: dict[str, list[Sequence[str]]] = {}
    for first, *rest in paths:
        below.setdefault(_named("object_pick", struct, first), []).append(rest)
    fields = []
    for name, rests in below.items():
        inner, part = struct.fields[struct.ordinal(name)].type, _field(value, name)
        if all(rests):
            if not isinstance(inner, Struct):
                message = f"`object_pick`: field `{name}` is {inner.sql()}, it has no fields"
                raise fail(Code.NOT_A_STRUCT, message)
            part = _picked(part, inner, rests)
        fields.append(f"{text(name)}, {part}")
    return f"if({value} IS NULL, NULL, named_struct({', '.join(fields)}))"


def erased(args: Sequence[Expr]) -> str:
    """erase(b, 'c'), erase(b, array('c', 'd'))"""
    names = _constant_texts("erase", args[1])
    match _object("erase", args[0]):
        case Map():
            return f"map_filter(_1, (k, v) -> k NOT IN ({', '.join(map(text, names))}))"
        case Struct() as struct:
            gone = {_named("erase", struct, name) for name in names}
            kept = [name for name in struct.names if name not in gone]
            if not kept:
                raise fail(Code.NOT_SUPPORTED, "`erase` would leave a struct without fields")
            inside = ", ".join(f"{text(name)}, {_field('_1', name)}" for name in kept)
            return _if_there(f"named_struct({inside})")


def lists_joined(args: Sequence[Expr]) -> str:
    """array_concat(a, b, ...): lists that are NULL are left out."""
    lists = arguments(args)
    return f"if(coalesce({lists}) IS NULL, NULL, flatten(array_compact(array({lists}))))"


# --- what they are written with -------------------------------------------------------------------


def _names(args: Sequence[Expr]) -> list[str]:
    return [f"_{place}" for place in range(1, len(args) + 1)]


def _field(value: str, name: str) -> str:
    return f"{value}.`{name.replace('`', '``')}`"


def _if_there(value: str) -> str:
    return f"if(_1 IS NULL, NULL, {value})"


def _object(name: str, arg: Expr) -> Struct | Map:
    if isinstance(arg.dtype, Struct | Map):
        return arg.dtype
    raise _wrong(name, arg, "a struct or a map")


def _wrong(name: str, arg: Expr, what: str) -> NarrowsError:
    known = arg.dtype != UNKNOWN
    return fail(
        Code.WRONG_TYPE,
        f"`{name}` takes {what}, `{expression_text(arg)}` is"
        f" {arg.dtype.sql() if known else 'of a type that only Spark knows'}",
        hint=None if known else "say what it is: `CAST(... AS STRUCT<...>)`",
    )


def _one_type(name: str, arg: Expr, struct: Struct) -> None:
    """A list has values of one type."""
    types = [field.type for field in struct]
    if len(set(types)) > 1 and (common(types) == UNKNOWN or any(map(is_nested, types))):
        parts = ", ".join(dict.fromkeys(dtype.sql() for dtype in types))
        raise fail(
            Code.WRONG_TYPE,
            f"`{name}` makes a list, and the fields of `{expression_text(arg)}` are {parts}",
            hint="choose those of one type with `object_pick`, or write"
            " `array(CAST(... AS STRING), ...)`",
        )


def _named(function: str, struct: Struct, name: str) -> str:
    found = struct.find(name)
    if len(found) == 1:
        return struct.fields[found[0]].name
    raise fail(
        Code.UNKNOWN_FIELD,
        f"`{function}`: there is no field `{name}`",
        hint=did_you_mean(name, struct.names) or f"fields are {', '.join(struct.names)}",
    )


def _constant_texts(function: str, arg: Expr) -> list[str]:
    """`'a'` or `array('a', 'b')`"""
    parts = [arg]
    if isinstance(arg, Call) and arg.function.name == "array":
        parts = list(arg.args)
    found = [part.value for part in parts if isinstance(part, Literal)]
    texts = [value for value in found if isinstance(value, str)]
    if len(texts) == len(parts) and texts:
        return texts
    message = f"`{function}` takes constant names, not `{expression_text(arg)}`"
    raise fail(Code.WRONG_TYPE, message, hint="`'a'`, or `array('a', 'b')`")
