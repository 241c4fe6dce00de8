"""What users can call, as a text: whoever changes it sees it in a diff. `make golden` rewrites it.

Of classes everything is listed whose name does not begin with an underscore. That a name stands
here does not promise that it stays; that it goes must not happen by accident.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import Parameter
from pathlib import PurePath
from textwrap import dedent
from typing import Any, get_args, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

import narrows
from narrows.cli.main import app
from narrows.errors import Code
from support.golden import GOLDEN, REWRITE

SNAPSHOT = GOLDEN / "api.txt"


def test_the_api_is_as_it_was() -> None:
    actual = "\n".join((*_names(), *_commands(), "error codes", *_codes())) + "\n"
    if REWRITE:
        SNAPSHOT.write_text(actual, "utf-8")
    assert actual == SNAPSHOT.read_text("utf-8"), "the API has changed: see `make golden`"


def _codes() -> Iterator[str]:
    return (f"  {code.value}" for code in sorted(Code))


# --- Python ---------------------------------------------------------------------------------------


def _names() -> Iterator[str]:
    for name in narrows.__all__:
        value = getattr(narrows, name)
        if inspect.isclass(value):
            yield f"class narrows.{name}{_parameters(value)}"
            yield from (f"  {line}" for line in sorted(_members(value)))
        elif callable(value):
            yield f"narrows.{name}{_parameters(value)}{_answer(value)}"
        else:
            yield f"narrows.{name}: {type(value).__name__}"
        yield ""


def _members(kind: type) -> Iterator[str]:
    """Methods, properties and attributes, inherited ones of ours too."""
    ours = [base for base in kind.__mro__ if base.__module__.startswith("narrows.")]
    for name in {name for base in ours for name in vars(base) if not name.startswith("_")}:
        value = inspect.getattr_static(kind, name)
        if isinstance(value, property):
            assert value.fget is not None
            yield f"{name}{_answer(value.fget, ': ')}"
        elif callable(value):
            yield f"{name}{_parameters(value)}{_answer(value)}"
    yield from _attributes(kind)


def _attributes(kind: type) -> Iterator[str]:
    """The fields of a dataclass, or what the constructor assigns."""
    if is_dataclass(kind):
        yield from (f"{field.name}: {field.type}" for field in fields(kind))
        return
    for node in ast.walk(ast.parse(dedent(inspect.getsource(kind.__init__)))):  # type: ignore[misc]
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]):
                declared = ""
            case ast.AnnAssign(
                target=ast.Attribute(value=ast.Name(id="self"), attr=name), annotation=dtype
            ):
                declared = f": {ast.unparse(dtype)}"
            case _:
                continue
        if not name.startswith("_"):
            yield f"{name}{declared}"


def _parameters(function: Callable[..., object]) -> str:
    """As in the source: how Python shows annotations depends on its version."""
    shown: list[str] = []
    stars: dict[object, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
    keywords_only = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is Parameter.KEYWORD_ONLY and not keywords_only:
            shown.append("*")
        keywords_only |= parameter.kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_POSITIONAL)
        text = f"{stars.get(parameter.kind, '')}{parameter.name}: {parameter.annotation}"
        if parameter.default is not Parameter.empty:
            text += f" = {_value(parameter.default)}"
        shown.append(text)
    return f"({', '.join(shown)})"


def _answer(function: Callable[..., object], arrow: str = " -> ") -> str:
    return f"{arrow}{inspect.signature(function).return_annotation}"


def _value(value: object) -> str:
    match value:
        case Enum():
            return f"{type(value).__name__}.{value.name}"
        case PurePath():
            return repr(str(value))
        case _:
            return repr(value)


# --- the command line -----------------------------------------------------------------------------


def _commands() -> Iterator[str]:
    functions = {
        command.name or function.__name__: function
        for command in app.registered_commands
        if (function := command.callback) is not None
    }
    for name, function in sorted(functions.items()):
        yield f"$ narrows {name}"
        hints = get_type_hints(function, include_extras=True)
        for parameter in inspect.signature(function).parameters.values():
            match get_args(hints[parameter.name]):
                case (dtype, ArgumentInfo()):
                    yield f"  {parameter.name.upper()}{_kind(dtype)}{_default(parameter)}"
                case (dtype, OptionInfo() as option):
                    # Where a name is given, it is in the place of the default.
                    given = option.default if isinstance(option.default, str) else None
                    spelt = given or f"--{parameter.name.replace('_', '-')}"
                    yield f"  {spelt}{_kind(dtype)}{_default(parameter)}"
        yield ""


def _kind(dtype: Any) -> str:
    """Enums as their values; a flag has nothing but its name."""
    if dtype is bool:
        return ""
    if inspect.isclass(dtype) and issubclass(dtype, Enum):
        return f": {'|'.join(str(choice.value) for choice in dtype)}"
    return f": {inspect.formatannotation(dtype).replace('pathlib.', '')}"


def _default(parameter: Parameter) -> str:
    if parameter.default is Parameter.empty:
        return ""
    value = parameter.default
    return f" = {value.value if isinstance(value, Enum) else _value(value)}"
