"""Functions by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from narrows.expressions.function import Function, Kind
from narrows.schema import DataType


class FunctionRegistry:
    """Functions by name, in any case. A child sees its parent's functions."""

    def __init__(
        self, functions: Iterable[Function] = (), parent: FunctionRegistry | None = None
    ) -> None:
        self._functions = {function.name: function for function in functions}
        self._parent = parent
        self._hidden: frozenset[str] = frozenset()
        self.elsewhere: Callable[[str], Function | None] | None = None
        """Who is asked for a function that is not here."""
        self.variables: Callable[[str], DataType | None] | None = None
        """Who is asked for a name that nothing in a query has: a Spark session has variables."""

    def find(self, name: str) -> Function | None:
        if name.lower() in self._hidden:
            return None
        found = self._functions.get(name.lower())
        if found is None and self._parent is not None:
            found = self._parent.find(name)
        if found is None and self.elsewhere is not None:
            found = self.elsewhere(name.lower())
        return found

    def variable(self, name: str) -> DataType | None:
        """The type of a variable; None where there is none."""
        if self.variables is not None:
            return self.variables(name)
        return self._parent.variable(name) if self._parent is not None else None

    def add(self, function: Function) -> None:
        self._functions[function.name] = function

    def hide(self, *names: str) -> None:
        """Makes functions unknown here, whatever the parent has."""
        self._hidden |= {name.lower() for name in names}

    def __iter__(self) -> Iterator[Function]:
        if self._parent is not None:
            known = {*self._functions, *self._hidden}
            yield from (f for f in self._parent if f.name not in known)
        yield from (f for f in self._functions.values() if f.name not in self._hidden)

    def names(self) -> list[str]:
        """Names that a user may call; operators are not called by name."""
        return [f.name for f in self if f.kind is not Kind.OPERATOR]
