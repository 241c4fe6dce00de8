"""Which WITH options exist: every connector and every format declares its own.

An option that nobody declared is an error with a suggestion, never silently ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from narrows.errors import Code, NarrowsError, Problem, did_you_mean, fail
from narrows.formats.plugins import load_plugins
from narrows.schema import STRING, Struct, is_nested
from narrows.sql.scope import Name
from narrows.sql.statements import Option, Options, OptionValue


@dataclass(frozen=True)
class OptionSpec:
    """A declared option: what values it takes, and what holds when it is not given."""

    name: str
    doc: str
    type: type[str] | type[int] | type[bool] = str
    default: OptionValue | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    duration: bool = False
    least: int | None = None

    def check(self, option: Option) -> OptionValue:
        value = option.value
        if type(value) is not self.type:
            raise self._invalid(option, f"takes {_TYPE_NAMES[self.type]}")
        if self.choices and value not in self.choices:
            hint = did_you_mean(str(value), self.choices)
            raise self._invalid(option, f"is one of {', '.join(self.choices)}", hint)
        if self.least is not None and isinstance(value, int) and value < self.least:
            raise self._invalid(option, f"is at least {self.least}")
        if self.duration and parse_duration(str(value)) is None:
            raise self._invalid(option, "takes a duration", "for example '5 seconds' or '500 ms'")
        return value

    def _invalid(self, option: Option, rule: str, hint: str | None = None) -> NarrowsError:
        message = f"option `{self.name}` {rule}, not `{option.value}`"
        return fail(Code.INVALID_OPTION, message, option.value_span, hint)


_TYPE_NAMES = {str: "a string", int: "a whole number", bool: "true or false"}


@dataclass(frozen=True)
class Connector:
    """Where payloads come from or go to. `None` for the direction that it does not have."""

    name: str
    source_options: tuple[OptionSpec, ...] | None = None
    sink_options: tuple[OptionSpec, ...] | None = None
    default_sink_format: str = "json"


@dataclass(frozen=True)
class Format:
    """How a payload is written. `None` for the direction that it does not have."""

    name: str
    source_options: tuple[OptionSpec, ...] | None = None
    sink_options: tuple[OptionSpec, ...] | None = None
    check_schema: Callable[[Struct], str | None] = lambda schema: None
    """Why a source of this format cannot have such a schema; None if it can."""


def _flat(schema: Struct) -> str | None:
    nested = [field.name for field in schema if is_nested(field.type)]
    return f"csv has no nested values, and `{nested[0]}` is one" if nested else None


def _one_string(schema: Struct) -> str | None:
    fits = len(schema) == 1 and schema.fields[0].type == STRING
    return None if fits else "a source of lines has exactly one column, of type STRING"


_PATH = OptionSpec("path", "folder, file or glob", required=True)
_FOLDER = OptionSpec("path", "folder to write into", required=True)
_ON_MISSING = OptionSpec(
    "on_missing",
    "what becomes of a file that is gone, or shorter, when it is read",
    default="dead_letter",
    choices=("dead_letter", "fail"),
)
_MAX_FILES = OptionSpec("max_files_per_trigger", "files that one micro-batch takes", type=int)
_MAX_BYTES = OptionSpec("max_bytes_per_trigger", "bytes that one micro-batch takes", type=int)
_BATCH_COUNT = OptionSpec("batch_count", "rows that one file holds at most", type=int, least=1)
_BATCH_DURATION = OptionSpec("batch_duration", "how long rows are gathered", duration=True)
_CSV = (
    OptionSpec("header", "the first line of a file names the columns", type=bool, default=False),
    OptionSpec("delimiter", "what stands between values", default=","),
)

_JSON_SINK = (
    OptionSpec(
        "layout",
        "one object a line, or one list of objects a file",
        default="lines",
        choices=("lines", "array"),
    ),
    OptionSpec("omit_null_columns", "leave out columns that are NULL", type=bool, default=False),
)
_PARQUET_SINK = (
    OptionSpec(
        "compression",
        "how pages are compressed",
        default="zstd",
        choices=("zstd", "snappy", "gzip", "lz4", "none"),
    ),
)

TAKES_ROWS = "none"
"""The format of sinks that take rows instead of payloads."""

CONNECTORS: dict[str, Connector] = {
    connector.name: connector
    for connector in (
        Connector(
            "file",
            source_options=(_PATH, _ON_MISSING, _MAX_FILES, _MAX_BYTES),
            sink_options=(_FOLDER, _BATCH_COUNT, _BATCH_DURATION),
        ),
        Connector("console", sink_options=(), default_sink_format=TAKES_ROWS),
        Connector("memory", sink_options=(), default_sink_format=TAKES_ROWS),
    )
}

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        Format("json", source_options=(), sink_options=_JSON_SINK),
        Format("csv", source_options=_CSV, sink_options=_CSV, check_schema=_flat),
        Format("text", source_options=(), check_schema=_one_string),
        Format("parquet", source_options=(), sink_options=_PARQUET_SINK),
        Format(TAKES_ROWS, sink_options=()),
    )
}


def register_format(form: Format) -> None:
    """Makes a format of a third party known to statements."""
    FORMATS[form.name] = form


_FORMAT = OptionSpec("format", "how a payload is written", default="json")
_CONNECTOR = OptionSpec("connector", "where payloads come from or go to", required=True)

TABLE_OPTIONS: tuple[OptionSpec, ...] = (
    _CONNECTOR,
    _FORMAT,
    OptionSpec(
        "on_error",
        "what becomes of a payload that cannot be read",
        default="dead_letter",
        choices=("dead_letter", "drop", "fail"),
    ),
)

STREAM_OPTIONS: tuple[OptionSpec, ...] = (
    *TABLE_OPTIONS,
    OptionSpec("shared", "decode once for all running pipelines", type=bool, default=False),
    OptionSpec(
        "start_at",
        "where a new pipeline begins on a shared stream",
        choices=("latest", "earliest"),
    ),
    OptionSpec("eventtime", "the column that says when a row happened"),
    OptionSpec(
        "eventtime_unit",
        "what an event time of type BIGINT counts since 1970",
        choices=("s", "ms", "us"),
    ),
    OptionSpec("watermark", "how late a row may come", duration=True),
)

SINK_OPTIONS: tuple[OptionSpec, ...] = (_CONNECTOR, OptionSpec("format", _FORMAT.doc))


@dataclass(frozen=True)
class Checked:
    """The options of an object, complete and of the right types."""

    connector: str
    format: str
    values: Mapping[str, OptionValue] = field(default_factory=dict)


def check_options(
    options: Options, common: tuple[OptionSpec, ...], *, sink: bool, owner: Name
) -> Checked:
    """Checks what the user gave against what is declared; reports all problems together.

    `owner` is whose options they are, for complaints about those that are missing.
    """
    connector = _connector(options, sink, owner)
    form = _format(options, connector, sink)
    specs = {
        spec.name: spec
        for spec in (
            *common,
            *((connector.sink_options if sink else connector.source_options) or ()),
            *((form.sink_options if sink else form.source_options) or ()),
        )
    }
    problems: list[Problem] = []
    values: dict[str, OptionValue] = {
        spec.name: spec.default for spec in specs.values() if spec.default is not None
    }
    for name, option in options.items():
        try:
            if name not in specs:
                raise _unknown(name, option, specs, connector, form)
            values[name] = specs[name].check(option)
        except NarrowsError as error:
            problems.extend(error.problems)
    for spec in specs.values():
        if spec.required and spec.name not in options:
            message = f"`{owner.text}` lacks the option `{spec.name}`: {spec.doc}"
            hint = f"connector `{connector.name}` needs it"
            problems.append(Problem(Code.INVALID_OPTION, message, owner.span, hint))
    if problems:
        raise NarrowsError(*problems)
    values["format"] = form.name
    return Checked(connector.name, form.name, values)


def _unknown(
    name: str, option: Option, specs: Iterable[str], connector: Connector, form: Format
) -> NarrowsError:
    known = sorted(specs)
    return fail(
        Code.UNKNOWN_OPTION,
        f"connector `{connector.name}` with format `{form.name}` has no option `{name}`",
        option.key_span,
        did_you_mean(name, known) or f"options are {', '.join(known)}",
    )


def _connector(options: Options, sink: bool, owner: Name) -> Connector:
    usable = [
        c.name
        for c in CONNECTORS.values()
        if (c.sink_options if sink else c.source_options) is not None
    ]
    option = options.get("connector")
    if option is None:
        hint = f"add `connector = '...'`, one of {', '.join(usable)}"
        message = f"`{owner.text}` lacks the option `connector`"
        raise fail(Code.UNKNOWN_CONNECTOR, message, owner.span, hint)
    name = _CONNECTOR.check(option)
    if name in usable:
        return CONNECTORS[str(name)]
    role = "sink" if sink else "source"
    hint = did_you_mean(str(name), usable) or f"{role} connectors are {', '.join(usable)}"
    message = f"no {role} connector is called `{name}`"
    raise fail(Code.UNKNOWN_CONNECTOR, message, option.value_span, hint)


def _format(options: Options, connector: Connector, sink: bool) -> Format:
    option = options.get("format")
    if option is None:
        return FORMATS[connector.default_sink_format if sink else "json"]
    name = _FORMAT.check(option)
    if name not in FORMATS:
        load_plugins()
    usable = [
        f.name
        for f in FORMATS.values()
        if (f.sink_options if sink else f.source_options) is not None
    ]
    if name in usable:
        return FORMATS[str(name)]
    role = "sink" if sink else "source"
    hint = did_you_mean(str(name), usable) or f"{role} formats are {', '.join(usable)}"
    raise fail(Code.UNKNOWN_FORMAT, f"no {role} format is called `{name}`", option.value_span, hint)


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
