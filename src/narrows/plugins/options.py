"""What an option of a WITH clause is: as it was written, and as it is declared."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from narrows.errors import Code, NarrowsError, Span, did_you_mean, fail
from narrows.plugins.row_text import ColumnsIn, RowTextError
from narrows.secrets import MASK, Secret, is_secret

OptionValue = str | int | float | bool | Secret

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A variable of the environment; see `plugins/secrets.py`."""


@dataclass(frozen=True)
class Option:
    """One `key = value` of a WITH clause, and where its parts stand."""

    value: OptionValue
    key_span: Span | None = None
    value_span: Span | None = None

    def inside(self, part: Span | None) -> Span | None:
        """Where a part of the value stands; the whole value, where it is not written as it is."""
        span, quotes = self.value_span, 2
        if part is None or span is None or span.end - span.start != len(str(self.value)) + quotes:
            return span
        return Span(span.start + 1 + part.start, span.start + 1 + part.end)


Options = Mapping[str, Option]


@dataclass(frozen=True)
class OptionSpec:
    """A declared option: what values it takes, and what holds when it is not given."""

    name: str
    """One that ends in `.*` is all options whose names begin so: `kafka.*`."""
    doc: str
    type: type[str] | type[int] | type[bool] | None = str
    """None for any of them."""
    default: OptionValue | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    duration: bool = False
    least: int | None = None
    of_files: bool = False
    """Is it about files? Then formats have it only where a connector brings such."""
    is_path: bool = False
    """Is it a place in the file system? Then a service may refuse it."""
    secret: bool = False
    """Must nobody see it? Options called `password`, `token` and so on are secret anyway."""
    names_columns: bool = False
    """Does a source's option name columns of its payloads, `a, b.c`? Then there must be such, with
    values that are not nested."""
    explained: bool = False
    """Does it change which rows of a source are read, and when? Then EXPLAIN shows it."""
    of_entries: bool = False
    """Are entries of a stream others with it? Then a checkpoint that was made without does not
    fit."""
    names_time: bool = False
    """Does a stream's option name the column that says when a row happened?"""
    needs: str | None = None
    """Another option, without which this one means nothing."""
    columns_in: ColumnsIn | None = None
    """Which columns of the row a sink's option names; see `row_text.py`."""
    refuses: Callable[[str, OptionValue], str | None] = lambda option, value: None
    """What is wrong, beside all that, with an option and its value: `takes ...`, `is ...`; None if
    nothing is."""
    hint: str | None = None
    """What to write instead of what is refused."""

    def covers(self, name: str) -> bool:
        """Is this the declaration of an option that is called so?"""
        return name == self.name or (
            self.name.endswith(".*") and name.startswith(self.name[:-1]) and name != self.name[:-1]
        )

    @property
    def is_secret(self) -> bool:
        return self.secret or is_secret(self.name)

    def check(self, option: Option) -> OptionValue:
        value = option.value
        if self.type is not None and type(value) is not self.type:
            raise self._invalid(option, f"takes {_TYPE_NAMES[self.type]}")
        if self.choices and value not in self.choices:
            hint = did_you_mean(str(value), self.choices)
            raise self._invalid(option, f"is one of {', '.join(self.choices)}", hint)
        if self.least is not None and isinstance(value, int) and value < self.least:
            raise self._invalid(option, f"is at least {self.least}")
        if self.duration and parse_duration(str(value)) is None:
            raise self._invalid(option, "takes a duration", "for example '5 seconds' or '500 ms'")
        wrong = self.refuses(self.name, value)
        if wrong is not None:
            raise self._invalid(option, wrong, self.hint)
        if self.columns_in is not None:
            self._check_columns(self.columns_in, option)
        refers = isinstance(value, str) and REFERENCE.fullmatch(value)
        if self.is_secret and not refers and isinstance(value, (str, int)):
            return Secret(value)
        return value

    def _check_columns(self, columns_in: ColumnsIn, option: Option) -> None:
        try:
            columns_in(str(option.value))
        except RowTextError as error:
            message = f"option `{self.name}`: {error}"
            span = option.inside(Span(error.start, error.end))
            raise fail(Code.INVALID_OPTION, message, span) from error

    def _invalid(self, option: Option, rule: str, hint: str | None = None) -> NarrowsError:
        given = MASK if self.is_secret else option.value
        message = f"option `{self.name}` {rule}, not `{given}`"
        return fail(Code.INVALID_OPTION, message, option.value_span, hint)


_TYPE_NAMES = {str: "a string", int: "a whole number", bool: "true or false"}


DEFAULT_FORMAT = "json"


_DURATION = re.compile(r"\s*(\d+)\s*([a-z]+)\s*", re.IGNORECASE)
_UNITS = {
    "ms": 1,
    "millisecond": 1,
    "s": 1000,
    "sec": 1000,
    "second": 1000,
    "min": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
}


def parse_duration(text: str) -> int | None:
    """Milliseconds of `5 seconds`, `500 ms`, `1 hour`; None when the text is no duration."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    unit = match[2].lower()
    factor = _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s"))
    return int(match[1]) * factor if factor is not None else None
