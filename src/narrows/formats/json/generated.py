"""Python source that reads the demanded values of a row, made for one projection.

Interpreting a projection for each row would cost more than simdjson takes to parse it, so the
decoder writes out what it would do, and lets Python compile it. For `a` and `b.c`:

    def row(root):
        try:
            v = root[b'a']
        except KeyError:
            v = miss0(0)
        a0(v if v.__class__ is int or v is None else r0(v))
        try:
            o1 = root[b'b']
        ...

`a0` appends to the column, `r0` reads what is no plain integer, `miss0` counts a missing key and
returns None. For simdjson a missing key is a C++ exception, which costs as much as forty hits; a
struct whose keys are often missing is therefore *guarded*: its keys are listed first.

The same source reads the rows of simdjson and those of `parse_exactly`: the names in it mean
something else there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from narrows.demand import ALL, NOTHING, Demand, Fields, Items, Keys
from narrows.formats.json.columns import ColumnSink
from narrows.formats.json.places import JsonPlace
from narrows.formats.json.values import inline_test
from narrows.projection.columns import Key, Step
from narrows.schema import STRING, Array, DataType, Decimal, Map, Struct, is_scalar

Lines = list[str]

_MAX_INLINE = 6
"""Values nested deeper than this get a function of their own: Python's blocks nest 20 deep."""
_MAX_LINES_IN_LOOP = 500
"""A longer row is read by a function: the call no longer matters, and compiling it once does."""
_WIDE = 100
"""Demanded members from which on a struct is listed as a whole. simdjson finds a key by comparing
it with one after the other, so looking up 15 000 of them would take half a second a row."""
_FEW_INDICES = 8


@dataclass
class GeneratedCode:
    """The functions for a projection, as text, and the names that they use."""

    guarded: frozenset[int] = frozenset()
    """Structs, by number, whose keys are listed before they are looked up."""
    sinks: list[ColumnSink] = field(default_factory=list)
    """By number: what `a3`, `l3`, `x3` append to, measure, extend, and `r3` reads values for."""
    structs: list[ColumnSink | None] = field(default_factory=list)
    """By number: the column that the struct is built into, if it is."""
    may_need_exact_parse: bool = False
    _numbers: dict[int, int] = field(default_factory=dict)
    _functions: Lines = field(default_factory=list)
    _variables: set[str] = field(default_factory=lambda: {"v"})

    def write(self, row: JsonPlace) -> str:
        body = self._parts(row, "root", 0)
        steps = body if len(body) <= _MAX_LINES_IN_LOOP else ["row(root)"]
        if self.may_need_exact_parse:
            steps = [
                "current.payload = payload",
                "current.mistyped_before = mistyped.total",
                "try:",
                *_in(steps),
                "except NeedsExactParseError:",
                "    again(payload)",
            ]
        lines = [
            *self._functions,
            "def row(root):",
            *_in(body or ["pass"]),
            "def run(payloads):",
            "    for payload in payloads:",
            "        try:",
            "            root = parse(payload)",
            "        except FAILURES:",
            "            unusual(payload, None)",
            "            continue",
            "        if root.__class__ is not Object:",
            "            unusual(payload, root)",
            "            root = None",
            "            continue",
            *_in(_in(steps)),
            # All that refers to a document must be gone before the next one is parsed.
            "        " + " = ".join(["root", *sorted(self._variables), "None"]),
        ]
        return "\n".join(lines) + "\n"

    # --- places: values on the way to flat columns ------------------------------------------------

    def _place(self, place: JsonPlace, value: str, depth: int) -> Lines:
        if depth >= _MAX_INLINE:
            return self._call(lambda: self._place_in_line(place, "o0", 0), value)
        return self._place_in_line(place, value, depth)

    def _place_in_line(self, place: JsonPlace, value: str, depth: int) -> Lines:
        lines = []
        for sink, demand in place.values:
            lines += self._value(sink, place.dtype, demand, value, depth)
        there = []
        if place.presence is not None:
            there.append(f"a{self._number(place.presence)}(True)")
        if place.length is not None:
            count = f"len({value})" if isinstance(place.dtype, Array) else f"len({{*{value}}})"
            there.append(f"a{self._number(place.length)}({count})")
        there += self._parts(place, value, depth)
        if not there:
            return lines
        return [*lines, *self._if_there(place.dtype, value, there, self._absent(place))]

    def _parts(self, place: JsonPlace, value: str, depth: int) -> Lines:
        lines: Lines = []
        if isinstance(place.dtype, Array):
            known = [index for index in place.parts if _is_index(index)]
            if len(known) > _FEW_INDICES:
                # An element is found by counting from the first one on.
                self._variables.add(f"e{depth}")
                lines.append(f"e{depth} = [*islice({value}, {max(known) + 1})]")
                value = f"e{depth}"
            for index, part in place.parts.items():
                inner = self._variable(part.dtype, depth)
                found = f"{value}[{index}] if len({value}) > {index} else None"
                lines.append(f"{inner} = {found if index in known else None}")
                lines += self._place(part, inner, depth + 1)
        elif place.parts:
            members = _Members(self, None, value, depth, wide=len(place.parts) > _WIDE)
            lines += members.prepare()
            for step, part in place.parts.items():
                inner = self._variable(part.dtype, depth)
                name = str(step.value) if isinstance(step, Key) else str(step)
                lines += members.look_up(name, part.dtype, inner)
                lines += self._place(part, inner, depth + 1)
        return lines

    def _absent(self, place: JsonPlace) -> Lines:
        """What is collected at a place, and in it, when there is nothing."""
        lines = []
        if place.presence is not None:
            lines.append(f"a{self._number(place.presence)}(False)")
        if place.length is not None:
            lines.append(f"a{self._number(place.length)}(None)")
        for part in place.parts.values():
            for sink, _ in part.values:
                lines += self._null(sink)
            lines += self._absent(part)
        return lines

    # --- values: what is built --------------------------------------------------------------------

    def _value(
        self, sink: ColumnSink, dtype: DataType, demand: Demand, value: str, depth: int
    ) -> Lines:
        """Collect a value, but only what is demanded of it; NULL stands for the rest."""
        if demand is NOTHING:
            return self._null(sink)
        if is_scalar(dtype):
            return [f"a{self._number(sink)}({self._scalar(sink, dtype, value)})"]
        if depth >= _MAX_INLINE:
            return self._call(lambda: self._value(sink, dtype, demand, "o0", 0), value)
        match dtype:
            case Struct():
                there = self._struct_members(sink, dtype, demand, value, depth)
            case Array(element):
                there = self._elements(sink, element, demand, value, depth)
            case Map(_, inner):
                there = self._entries(sink, inner, demand, value, depth)
        return self._if_there(dtype, value, there, self._null(sink))

    def _scalar(self, sink: ColumnSink, dtype: DataType, value: str) -> str:
        if isinstance(dtype, Decimal):
            self.may_need_exact_parse = True
        return f"{value} if {inline_test(dtype, value)} else r{self._number(sink)}({value})"

    def _struct_members(
        self, sink: ColumnSink, dtype: Struct, demand: Demand, value: str, depth: int
    ) -> Lines:
        lines = [f"a{self._number(sink)}(True)"]
        built = sink.dtype
        assert isinstance(built, Struct)
        members = _Members(self, sink, value, depth, wide=len(built) > _WIDE)
        lines += members.prepare()
        for member, part in zip(built, sink.parts, strict=True):
            wanted = _of_field(demand, member.name)
            if wanted is NOTHING:
                lines += self._null(part)
                continue
            inner_type = dtype.fields[dtype.ordinal(member.name)].type
            inner = self._variable(inner_type, depth)
            lines += members.look_up(member.name, inner_type, inner)
            lines += self._value(part, inner_type, wanted, inner, depth + 1)
        return lines

    def _elements(
        self, sink: ColumnSink, element: DataType, demand: Demand, value: str, depth: int
    ) -> Lines:
        (part,) = sink.parts
        number = self._number(part)
        lines = [f"a{self._number(sink)}(len(l{number}))"]
        each = demand.rest if isinstance(demand, Items) else ALL if demand is ALL else NOTHING
        special = demand.parts if isinstance(demand, Items) else {}
        if is_scalar(part.dtype) and not special:
            if each is NOTHING:
                return [*lines, f"x{number}([None] * len({value}))"]
            read = self._scalar(part, element, "v")
            # Listing scalars is fast, but nested values lose what a STRING would show of them.
            listed = value if element == STRING else f"elements({value})"
            return [*lines, f"x{number}([{read} for v in {listed}])"]
        inner = self._variable(element, depth)
        if not special:
            loop = f"for {inner} in {value}:"
            return [*lines, loop, *_in(self._value(part, element, each, inner, depth + 1))]
        place = f"i{depth}"
        loop = f"for {place}, {inner} in enumerate({value}):"
        choice = self._choice(part, element, special, each, place, inner, depth)
        return [*lines, loop, *_in(choice)]

    def _entries(
        self, sink: ColumnSink, inner_type: DataType, demand: Demand, value: str, depth: int
    ) -> Lines:
        keys, part = sink.parts
        lines = [f"a{self._number(sink)}(len(l{self._number(keys)}))"]
        each = demand.rest if isinstance(demand, Keys) else ALL if demand is ALL else NOTHING
        special = demand.parts if isinstance(demand, Keys) else {}
        key = f"k{depth}"
        inner = self._variable(inner_type, depth)
        if is_scalar(inner_type):
            loop = f"for {key}, {inner} in first_items({value}).items():"
            found = self._as_it_was(value, key, inner_type, inner)
        else:
            # simdjson lists the entries of an object only with all that is in them; each key is
            # looked up instead.
            self.may_need_exact_parse = True
            loop = f"for {key} in unique({value}):"
            found = [f"{inner} = {value}[{key}]"]
        choice = self._choice(part, inner_type, special, each, key, inner, depth)
        return [*lines, loop, *_in([f"a{self._number(keys)}({key})", *found, *choice])]

    def _choice(
        self,
        part: ColumnSink,
        dtype: DataType,
        special: Mapping[object, Demand],
        rest: Demand,
        place: str,
        value: str,
        depth: int,
    ) -> Lines:
        """Elements and entries: some places have a demand of their own."""
        lines: Lines = []
        for key, demand in special.items():
            lines.append(f"{'elif' if lines else 'if'} {place} == {key!r}:")
            lines += _in(self._value(part, dtype, demand, value, depth + 1))
        otherwise = self._value(part, dtype, rest, value, depth + 1)
        return [*lines, "else:", *_in(otherwise)] if lines else otherwise

    def _null(self, sink: ColumnSink) -> Lines:
        absent = "False" if isinstance(sink.dtype, Struct) else "None"
        lines = [f"a{self._number(sink)}({absent})"]
        if isinstance(sink.dtype, Struct):
            for part in sink.parts:
                lines += self._null(part)
        return lines

    # --- pieces -----------------------------------------------------------------------------------

    def _if_there(self, dtype: DataType, value: str, there: Lines, absent: Lines) -> Lines:
        kind = "Array" if isinstance(dtype, Array) else "Object"
        return [
            f"if {value}.__class__ is {kind}:",
            *_in(there),
            "else:",
            *_in([f"if {value} is not None: mistyped({value})", *absent]),
        ]

    def _as_it_was(self, value: str, key: str, dtype: DataType, listed: str) -> Lines:
        """A STRING shows also what a listed member has lost, such as repeated keys in it."""
        if dtype != STRING:
            return []
        self.may_need_exact_parse = True
        return [
            f"if {listed}.__class__ is dict or {listed}.__class__ is list:",
            f"    {listed} = member({value}, {key})",
        ]

    def _call(self, write_body: Callable[[], Lines], value: str) -> Lines:
        variables, self._variables = self._variables, set()
        body = write_body()
        self._variables = variables
        name = f"f{len(self._functions)}"
        self._functions += [f"def {name}(o0):", *_in(body)]
        return [f"{name}({value})"]

    def _variable(self, dtype: DataType, depth: int) -> str:
        name = "v" if is_scalar(dtype) else f"o{depth + 1}"
        self._variables.add(name)
        return name

    def _number(self, sink: ColumnSink) -> int:
        number = self._numbers.setdefault(id(sink), len(self.sinks))
        if number == len(self.sinks):
            self.sinks.append(sink)
        return number


class _Members:
    """Looks up the members of one struct, or the wanted keys of a map."""

    def __init__(
        self, source: GeneratedCode, sink: ColumnSink | None, value: str, depth: int, wide: bool
    ) -> None:
        self._source = source
        self._value = value
        self._depth = depth
        self._number = len(source.structs)
        source.structs.append(sink)
        self._wide = wide
        self._guarded = not wide and self._number in source.guarded

    def prepare(self) -> Lines:
        if self._wide:
            return [f"d{self._depth} = first_items({self._value})"]
        return [f"s{self._depth} = {{*{self._value}}}"] if self._guarded else []

    def look_up(self, name: str, dtype: DataType, into: str) -> Lines:
        value, depth, key = self._value, self._depth, repr(name)
        if self._wide and is_scalar(dtype):
            get = f"{into} = d{depth}.get({key})"
            return [get, *self._source._as_it_was(value, key, dtype, into)]
        if self._wide or "\0" in name:
            # pysimdjson hands keys over as C strings, which end at the first zero.
            self._source.may_need_exact_parse = True
            among = f"d{depth}" if self._wide else f"{{*{value}}}"
            return [f"{into} = member({value}, {key}) if {key} in {among} else None"]
        found = f"{value}[{name.encode()!r}]"
        if self._guarded:
            return [f"{into} = {found} if {key} in s{depth} else None"]
        return [
            "try:",
            f"    {into} = {found}",
            "except KeyError:",
            f"    {into} = miss{self._number}(0)",
        ]


def _is_index(step: Step) -> TypeGuard[int]:
    """Can a list have an element there?"""
    return isinstance(step, int) and 0 <= step < 2**31


def _of_field(demand: Demand, name: str) -> Demand:
    if isinstance(demand, Fields):
        return demand.at(name)
    return ALL if demand is ALL else NOTHING


def _in(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]
