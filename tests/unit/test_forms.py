"""Every expression class of the parser is accounted for, so that none is planned by accident."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator

import pytest
from sqlglot import exp

from narrows.functions import operator
from narrows.sql.binder import access, arguments, calls, expression, forms, operators
from narrows.sql.parser.expression import NarrowsParser

VALUES: frozenset[type[exp.Expr]] = frozenset(
    (
        *forms.BINARY_OPERATORS,
        *forms.CONNECTORS,
        *forms.UNARY_OPERATORS,
        *forms.NILADIC,
        *forms.BOUND,
        *forms.CARRIED,
        *forms.REFUSED,
    )
)
"""The classes that may stand for a value, each with a known fate."""

CALL_TABLES = ("FUNCTIONS", "FUNCTION_PARSERS", "NO_PAREN_FUNCTIONS", "NO_PAREN_FUNCTION_PARSERS")
"""The parser's tables of functions, which our dialect makes its own, nearly empty ones of."""

STATEMENT_TABLES = (
    *("STATEMENT_PARSERS", "PROPERTY_PARSERS", "CONSTRAINT_PARSERS", "ALTER_PARSERS"),
    *("ALTER_ALTER_PARSERS", "SHOW_PARSERS", "SET_PARSERS", "PIPE_SYNTAX_TRANSFORM_PARSERS"),
)
"""Tables for statements: only queries are given to the parser."""


def _subclasses(base: type[exp.Expr]) -> Iterator[type[exp.Expr]]:
    for child in base.__subclasses__():
        yield child
        yield from _subclasses(child)


CLASSES = sorted(set(_subclasses(exp.Expr)), key=lambda kind: kind.__name__)


def _is_no_expression(kind: type[exp.Expr]) -> bool:
    by_base = issubclass(kind, forms.NOT_EXPRESSION_BASES)
    return by_base or kind.__name__ in forms.NOT_EXPRESSIONS


# --- what the parser can make of a query ----------------------------------------------------------


def _members() -> dict[str, list[ast.AST]]:
    """The methods and tables of the parser's classes, as syntax."""
    members: dict[str, list[ast.AST]] = {}
    for kind in NarrowsParser.__mro__[:-1]:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
        assert isinstance(definition, ast.ClassDef)
        for item in definition.body:
            match item:
                case ast.FunctionDef(name=name):
                    members.setdefault(name, []).append(item)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.AST() as value):
                    members.setdefault(name, []).append(value)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    members.setdefault(name, []).append(value)
    return members


def _mentions(node: ast.AST) -> tuple[set[str], set[str]]:
    """Which classes of `exp` a piece of the parser makes, and which other pieces it uses."""
    classes: set[str] = set()
    names: set[str] = set()
    pending = [node]
    while pending:
        part = pending.pop()
        match part:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
                continue  # asks for a class, makes none
            case ast.Attribute(value=ast.Name(id="exp"), attr=name):
                classes.add(name)
            case ast.Attribute(attr=name) | ast.Name(id=name):
                names.add(name)
        pending.extend(ast.iter_child_nodes(part))
    return classes, names


def _kept_parsers() -> Iterator[Callable[..., object]]:
    yield from NarrowsParser.FUNCTION_PARSERS.values()
    yield from NarrowsParser.NO_PAREN_FUNCTION_PARSERS.values()


def _producible() -> set[type[exp.Expr]]:
    """The classes that a query may be parsed into, as far as the parser's source tells."""
    members = _members()
    classes: set[str] = set()
    seen: set[str] = {*CALL_TABLES, *STATEMENT_TABLES}
    pending = ["_parse_select", "_parse_query_modifiers"]
    pending.extend(name for parser in _kept_parsers() for name in parser.__code__.co_names)
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for node in members.get(name, ()):
            found, used = _mentions(node)
            classes |= found
            pending.extend(used)
    kinds = [getattr(exp, name, None) for name in classes]
    made = {kind for kind in kinds if isinstance(kind, type) and issubclass(kind, exp.Expr)}
    return made | set(NarrowsParser.NO_PAREN_FUNCTIONS.values())


# --- tests ----------------------------------------------------------------------------------------


def test_there_are_classes() -> None:
    assert len(CLASSES) > 1000
    assert {exp.Add, exp.Column, exp.Upper, exp.Create} <= set(CLASSES)


@pytest.mark.parametrize("module", sorted({kind.__module__ for kind in CLASSES}))
def test_every_class_is_classified(module: str) -> None:
    unknown = [
        kind.__name__
        for kind in CLASSES
        if kind.__module__ == module
        and kind not in VALUES
        and not issubclass(kind, exp.Func)
        and not _is_no_expression(kind)
    ]
    assert unknown == [], "say in sql/binder/forms.py what becomes of them"


def test_every_function_class_that_can_be_parsed_is_classified() -> None:
    """Calls are parsed by name; the classes of a few forms are made by the parser all the same."""
    unknown = [
        kind.__name__
        for kind in _producible()
        if issubclass(kind, exp.Func) and kind not in VALUES and not _is_no_expression(kind)
    ]
    assert sorted(unknown) == [], "say in sql/binder/forms.py what becomes of them"


def test_what_can_be_parsed_is_found() -> None:
    """The analysis of the parser's source sees through tables, lambdas and methods."""
    made = _producible()
    assert {exp.Cast, exp.Extract, exp.Case, exp.Bracket, exp.Like, exp.Lambda} <= made
    assert not {exp.Upper, exp.Sum, exp.JSONObject, exp.Decode} & made


def test_calls_are_left_as_they_are() -> None:
    assert NarrowsParser.FUNCTIONS == {}


def test_no_class_has_two_fates() -> None:
    groups = (
        set(forms.BINARY_OPERATORS) | set(forms.CONNECTORS) | set(forms.UNARY_OPERATORS),
        set(forms.NILADIC),
        set(forms.BOUND),
        set(forms.CARRIED),
        set(forms.REFUSED),
    )
    assert sum(len(group) for group in groups) == len(VALUES)
    assert [kind.__name__ for kind in VALUES if _is_no_expression(kind)] == []


def test_the_list_names_classes_that_exist() -> None:
    names = {kind.__name__ for kind in CLASSES}
    assert sorted(forms.NOT_EXPRESSIONS - names) == []


def test_the_list_names_nothing_that_a_base_covers() -> None:
    covered = [
        kind.__name__
        for kind in CLASSES
        if kind.__name__ in forms.NOT_EXPRESSIONS and issubclass(kind, forms.NOT_EXPRESSION_BASES)
    ]
    assert covered == []


@pytest.mark.parametrize(
    "name",
    sorted(
        {
            *forms.BINARY_OPERATORS.values(),
            *forms.CONNECTORS.values(),
            *forms.UNARY_OPERATORS.values(),
        }
    ),
)
def test_every_operator_is_a_function(name: str) -> None:
    assert operator(name).syntax is not None


def test_every_bound_form_is_handled_by_the_binder() -> None:
    """A class in BOUND is named in the binder's code, not carried by accident."""
    modules = (expression, access, arguments, calls, operators)
    handled = "".join(map(inspect.getsource, modules))
    assert [k.__name__ for k in forms.BOUND if f"exp.{k.__name__}" not in handled] == []
