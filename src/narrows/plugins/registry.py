"""Finds formats and connectors by name, in the same way on the driver and in the workers.

Those that come with Narrows stand in the tables below, one line each. All others come by entry
point: a package declares one in the group `narrows.formats` or `narrows.connectors`, under the name
that statements use, and it names an object as the lines here do. Nothing else is needed, and there
is no other way in: what a call on the driver registered would be unknown to the workers, which are
other processes. What is installed where they run they find as the driver does.

An object is imported when somebody asks for it: a worker that reads JSON loads nothing else, and a
package that is broken breaks what it brings and nothing more.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from narrows.errors import Code, Span, fail
from narrows.plugins.declared import ConnectorSpec, Declaration, FormatSpec

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T", bound=Declaration)


class PluginRegistry(Generic[T]):
    def __init__(
        self, kind: type[T], *, what: str, group: str, unknown: Code, built_in: Mapping[str, str]
    ) -> None:
        self.what = what
        """What it holds, in a word."""
        self.unknown = unknown
        self._kind = kind
        self._group = group
        self.built_in = built_in
        """Those that come with Narrows: where each is found."""
        self._loaded: dict[str, T] = {}

    def get(self, name: str, span: Span | None = None) -> T | None:
        """What has this name, or None; the span is where the user wrote it."""
        found = self._loaded.get(name)
        if found is None:
            reference = self.built_in.get(name)
            found = self._installed(name, span) if reference is None else self._ours(reference)
            if found is not None:
                self._loaded[name] = found
        return found

    def find(self, name: str) -> T:
        """What has this name. Statements have been checked by then, so it is known somewhere."""
        found = self.get(name)
        if found is None:
            message = f"no {self.what} called `{name}` is installed here"
            hint = "install the package that brings it on all machines that run tasks"
            raise fail(self.unknown, message, None, hint)
        return found

    def names(self) -> list[str]:
        installed = {entry.name for entry in self._entries()}
        return [*self.built_in, *sorted(installed.difference(self.built_in))]

    def usable(self, *, sink: bool) -> Iterator[T]:
        """Everything that a source or a sink may name; not what fails to load."""
        for name in self.names():
            try:
                found = self.get(name)
            except Exception:
                continue
            if found is not None and found.by_statement and found.options(sink=sink) is not None:
                yield found

    def _ours(self, reference: str) -> T:
        module, _, attribute = reference.partition(":")
        found = getattr(importlib.import_module(module), attribute)
        assert isinstance(found, self._kind)
        return found

    def _entries(self, name: str | None = None) -> list[EntryPoint]:
        """Looked up each time, for it is rare: a package may be installed while a notebook runs."""
        from importlib.metadata import entry_points

        found = entry_points(group=self._group)
        return [entry for entry in found if name is None or entry.name == name]

    def _installed(self, name: str, span: Span | None) -> T | None:
        entries = self._entries(name)
        if not entries:
            return None
        if len(entries) > 1:
            packages = " and ".join(sorted(map(_package, entries)))
            message = f"{self.what} `{name}` is brought by {packages}"
            raise fail(Code.BROKEN_PACKAGE, message, span, "uninstall one of them")
        try:
            found = entries[0].load()
            if not isinstance(found, self._kind):
                raise TypeError(f"`{entries[0].value}` is no {self._kind.__name__}")
            if found.name != name:
                raise TypeError(f"`{entries[0].value}` calls itself `{found.name}`")
        except Exception as error:  # whatever somebody else's code may raise
            why = f"{type(error).__name__}: {error}"
            message = f"{self.what} `{name}` of {_package(entries[0])} cannot be loaded: {why}"
            raise fail(Code.BROKEN_PACKAGE, message, span) from error
        return found


def _package(entry: EntryPoint) -> str:
    found = entry.dist
    return f"`{entry.value}`" if found is None else f"package `{found.name} {found.version}`"


FORMATS = PluginRegistry(
    FormatSpec,
    what="format",
    group="narrows.formats",
    unknown=Code.UNKNOWN_FORMAT,
    built_in={
        "json": "narrows.formats.json:FORMAT",
        "csv": "narrows.formats.csv:FORMAT",
        "text": "narrows.formats.text:FORMAT",
        "parquet": "narrows.formats.parquet:FORMAT",
        "rows": "narrows.formats.rows:FORMAT",  # how topics in memory are read
    },
)

CONNECTORS = PluginRegistry(
    ConnectorSpec,
    what="connector",
    group="narrows.connectors",
    unknown=Code.UNKNOWN_CONNECTOR,
    built_in={
        "file": "narrows.connectors.file:CONNECTOR",
        "kafka": "narrows.connectors.kafka:CONNECTOR",
        "mqtt": "narrows.connectors.mqtt:CONNECTOR",
        "http": "narrows.connectors.http:CONNECTOR",
        "console": "narrows.connectors.console:CONNECTOR",
        "memory": "narrows.connectors.memory:CONNECTOR",
        "dataframe": "narrows.connectors.dataframe:CONNECTOR",  # made by `session.register`
        "shared log": "narrows.shared.connector:CONNECTOR",  # how a shared stream is read
    },
)
