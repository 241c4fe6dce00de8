"""What must be there after a restart: what was declared, and which pipelines shall run.

service/catalog.sql     one statement for each object, in an order in which they can be executed
service/desired.json    {"pipeline": "running" | "stopped" | "dropped"}

Both are written as a whole before an answer is given, so what was answered with success is there.
The catalog is text, for people to read, to keep in git and to give to another service.

A pipeline that is dropped is marked before it is gone from the catalog, and until its state is gone
too: a crash in between must not give its state to the next one of that name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args

from narrows.errors import Code, Span, fail
from narrows.files.atomic import make_private, write_atomically
from narrows.files.small import damaged, disk_errors
from narrows.sql.parser.script import parse_spans
from narrows.sql.parser.statements import (
    CreateFunction,
    CreatePipeline,
    CreateSink,
    CreateSource,
    CreateView,
    Drop,
    ObjectKind,
    Set,
)

Desired = Literal["running", "stopped", "dropped"]
Created = CreateSource | CreateView | CreateFunction | CreateSink | CreatePipeline
Declaration = Created | Drop | Set
"""Statements that change what is kept."""

_ORDER = (
    "set",
    *(ObjectKind.FUNCTION, ObjectKind.STREAM, ObjectKind.TABLE, ObjectKind.VIEW),
    *(ObjectKind.SINK, ObjectKind.PIPELINE),
)
"""Views know sources and functions, pipelines know all of them; nothing else knows anything."""
_KNOW_EACH_OTHER = (ObjectKind.FUNCTION, ObjectKind.VIEW)
_SOURCES = (ObjectKind.STREAM, ObjectKind.TABLE)

Key = tuple[object, str]


class ServiceStore:
    """The two files, and what is in them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._statements: dict[Key, str] = {}
        self._desired: dict[str, Desired] = {}

    # --- the catalog ------------------------------------------------------------------------------

    @property
    def catalog_file(self) -> Path:
        return self._folder / "catalog.sql"

    def load(self) -> str:
        """Reads both files; the text of the catalog, to be executed."""
        with disk_errors(self._folder):
            make_private(self._folder)
            text = self._read(self.catalog_file) or ""
            for statement, span in parse_spans(text, str(self.catalog_file)):
                if not isinstance(statement, Declaration):
                    message = f"`{self.catalog_file}` holds more than declarations"
                    raise fail(Code.NOT_SUPPORTED, message, span).located(text)
                self._keep(statement, declaring_text(statement, text, span))
            known = {name for kind, name in self._statements if kind is ObjectKind.PIPELINE}
            for name, desired in self._read_desired().items():
                if name not in known:
                    self._desired[name] = "dropped"
                else:  # a DROP that was not answered has not happened
                    self._desired[name] = "stopped" if desired == "dropped" else desired
            return self.text()

    def forgotten(self, pipeline: str) -> None:
        """The state of a dropped pipeline is gone."""
        self._desired.pop(pipeline.casefold(), None)
        self._write_desired()

    def text(self) -> str:
        """The catalog as statements."""
        return "".join(f"{text};\n\n" for text in self._ordered())

    def statement(self, kind: ObjectKind, name: str) -> str | None:
        """The statement that declares an object."""
        return self._statements.get((kind, name.casefold()))

    def keep(self, statement: Declaration, text: str) -> None:
        """Keeps what a statement has changed; it is on the disk when this returns."""
        before = dict(self._statements), dict(self._desired)
        self._keep(statement, text)
        try:
            with disk_errors(self._folder):
                if before[1] != self._desired:
                    self._write_desired()
                write_atomically(self.catalog_file, self.text().encode("utf-8", "surrogateescape"))
        except BaseException:
            self._statements, self._desired = before
            raise

    def _keep(self, statement: Declaration, text: str) -> None:
        match statement:
            case Set(name=name):
                self._statements[("set", name.lower())] = text
            case Drop(kind=kind, name=name):
                self._statements.pop((kind, name.casefold()), None)
                if kind is ObjectKind.PIPELINE:
                    self._desired[name.casefold()] = "dropped"
            case _:
                kind, name = kind_of(statement), statement.name.casefold()
                if kind in _SOURCES:  # streams and tables share their names
                    for other in _SOURCES:
                        if other is not kind:
                            self._statements.pop((other, name), None)
                self._statements[(kind, name)] = text

    def _ordered(self) -> Iterator[str]:
        for wanted in _ORDER:
            texts = {
                name: text for (kind, name), text in self._statements.items() if kind == wanted
            }
            yield from _used_first(texts) if wanted in _KNOW_EACH_OTHER else texts.values()

    # --- what shall run ---------------------------------------------------------------------------

    @property
    def desired(self) -> Mapping[str, Desired]:
        """For each pipeline that was ever started or stopped here; names have no case."""
        return self._desired

    def desire(self, pipeline: str, state: Desired) -> None:
        before = dict(self._desired)
        self._desired[pipeline.casefold()] = state
        if before != self._desired:
            try:
                with disk_errors(self._folder):
                    self._write_desired()
            except BaseException:
                self._desired = before
                raise

    def _write_desired(self) -> None:
        text = json.dumps(self._desired, indent=2, sort_keys=True)
        write_atomically(self._folder / "desired.json", text.encode("utf-8"))

    def _read_desired(self) -> dict[str, Desired]:
        path = self._folder / "desired.json"
        hint = "restore it from a backup, or remove it: then no pipeline is started"
        try:
            found = json.loads(self._read(path) or "{}")
        except ValueError as error:
            raise damaged(path, "what shall run", error, hint) from error
        if not isinstance(found, dict) or not set(found.values()) <= set(get_args(Desired)):
            raise damaged(path, "what shall run", "it holds something else", hint)
        return found

    def _read(self, path: Path) -> str | None:
        try:
            return path.read_text("utf-8", "surrogateescape")
        except FileNotFoundError:
            return None


def _used_first(texts: Mapping[str, str]) -> Iterator[str]:
    """Views, or functions, each after those that it names: one that was replaced may use a younger
    one."""
    waiting = dict(texts)
    while waiting:
        for name, text in waiting.items():
            words = set(re.findall(r"\w+", text.casefold()))
            if not words & (waiting.keys() - {name}):
                break
        yield waiting.pop(name)


def declaring_text(statement: Declaration, text: str, span: Span) -> str:
    """A declaration as it is kept: a CREATE without OR REPLACE and IF NOT EXISTS, which were about
    what was there before."""
    if isinstance(statement, Drop | Set):
        return text[span.start : span.end]
    return f"CREATE {kind_of(statement).value.upper()} {text[statement.name_span.start : span.end]}"


def kind_of(statement: Created | Drop) -> ObjectKind:
    match statement:
        case CreateView():
            return ObjectKind.VIEW
        case CreateFunction():
            return ObjectKind.FUNCTION
        case CreateSink():
            return ObjectKind.SINK
        case CreatePipeline():
            return ObjectKind.PIPELINE
        case _:
            return statement.kind
