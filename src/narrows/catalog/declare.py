"""Streams, tables and sinks, from the statements that declare them."""

from __future__ import annotations

from narrows.catalog.check_options import check_options
from narrows.catalog.objects import Sink, Source
from narrows.catalog.options import DELTA_OPTIONS, SINK_OPTIONS, STREAM_OPTIONS, TABLE_OPTIONS
from narrows.errors import Code, did_you_mean, fail
from narrows.plugins.declared import ConnectorSpec
from narrows.plugins.options import Options
from narrows.plugins.sampling import SAMPLE
from narrows.plugins.start_at import START_AT
from narrows.schema import BIGINT, TIMESTAMP, DataType, Struct, is_scalar
from narrows.sql.parser.statements import CreateSink, CreateSource, ObjectKind
from narrows.sql.scope import Name


def declared_source(statement: CreateSource, connector: ConnectorSpec | None = None) -> Source:
    """The source; of this connector, where no option names it."""
    bounded = statement.kind is ObjectKind.TABLE
    common = TABLE_OPTIONS if bounded else STREAM_OPTIONS
    owner = Name(statement.name, statement.name_span)
    checked = check_options(statement.options, common, sink=False, owner=owner, connector=connector)
    assert checked.format is not None
    problem = checked.format.check_schema(statement.schema)
    if problem is not None:
        raise fail(Code.WRONG_TYPE, problem, statement.name_span)
    for name, made in statement.converted.items():
        if checked.format.has_types and not made.from_times:
            raise fail(
                Code.WRONG_TYPE,
                f"format `{checked.format.name}` has no {made.type}, which `{name}` is to be",
                statement.name_span,
                "declare it as what the files have, and CAST it in the query",
            )
    values = dict(checked.values)
    source = Source(
        name=statement.name,
        schema=statement.schema,
        bounded=bounded,
        connector=checked.connector.name,
        format=checked.format_name,
        options=values,
        converted=statement.converted,
    )
    for spec in checked.connector.source_options or ():
        if spec.names_columns and spec.name in values:
            values[spec.name] = _columns(spec.name, statement.options, statement.schema)
        if spec.names_time and spec.name in values:
            _refuse_for_tables(statement, spec.name)
            values[spec.name] = _time(spec.name, statement, source)
    if "eventtime" in values:
        values["eventtime"] = _event_time(statement, source)
    for option, what in (("watermark", "a watermark"), ("eventtime_unit", "a unit of time")):
        if option in values and "eventtime" not in values:
            raise fail(
                Code.INVALID_OPTION,
                f"{what} needs an event time",
                statement.options[option].key_span,
                "add `eventtime = '...'`, the column that says when a row happened",
            )
    for spec in (*common, *(checked.connector.source_options or ())):
        if spec.name in statement.options and spec.needs is not None and spec.needs not in values:
            raise fail(
                Code.INVALID_OPTION,
                f"option `{spec.name}` means nothing without `{spec.needs}`",
                statement.options[spec.name].key_span,
                f"add `{spec.needs} = '...'`",
            )
    if SAMPLE.name in values:
        _check_sample(statement.options, checked.connector)
    begins_anywhere = any(spec.name == START_AT for spec in checked.connector.source_options or ())
    if START_AT in values and values.get("shared") is not True and not begins_anywhere:
        raise fail(
            Code.INVALID_OPTION,
            "only a shared stream has a place where its pipelines begin",
            statement.options[START_AT].key_span,
            "add `shared = true`; a regular stream begins with the first file",
        )
    return source


def _check_sample(options: Options, connector: ConnectorSpec) -> None:
    span = options[SAMPLE.name].key_span
    if not connector.samples:
        message = f"connector `{connector.name}` cannot tell which payload is the newest"
        hint = "leave it out; a window, or `on_change`, also makes fewer rows of many"
        raise fail(Code.INVALID_OPTION, message, span, hint)
    limits = [name for name in options if name.startswith("max_") and name.endswith("_per_trigger")]
    if limits:
        raise fail(
            Code.INVALID_OPTION,
            f"a sample is one payload of all that has come, which `{limits[0]}` would cut short",
            options[limits[0]].key_span,
            f"leave `{limits[0]}` out: no more than one payload is read",
        )


def declared_sink(statement: CreateSink) -> Sink:
    owner = Name(statement.name, statement.name_span)
    checked = check_options(statement.options, SINK_OPTIONS, sink=True, owner=owner)
    for spec in DELTA_OPTIONS:
        if spec.name in statement.options and checked.values.get("mode") != "delta":
            raise fail(
                Code.INVALID_OPTION,
                f"option `{spec.name}` is for sinks that write what has changed",
                statement.options[spec.name].key_span,
                "add `mode = 'delta'`",
            )
    return Sink(
        name=statement.name,
        connector=checked.connector.name,
        format=checked.format_name,
        options=checked.values,
    )


def _columns(name: str, options: Options, schema: Struct) -> str:
    """The columns that an option names, `a, b.c`, by their exact names."""
    option = options[name]
    found = []
    for path in str(option.value).split(","):
        dtype: DataType = schema
        names: list[str] = []
        for step in path.strip().split("."):
            places = dtype.find(step) if isinstance(dtype, Struct) else []
            if not isinstance(dtype, Struct) or len(places) != 1:
                message = f"option `{name}`: column `{path.strip()}` is not in the schema"
                near = did_you_mean(step, dtype.names) if isinstance(dtype, Struct) else None
                raise fail(Code.INVALID_OPTION, message, option.value_span, near)
            field = dtype.fields[places[0]]
            names.append(field.name)
            dtype = field.type
        if not is_scalar(dtype):
            message = f"option `{name}`: column `{path.strip()}` is {dtype.sql()}"
            hint = "name what is in it: `a.b`"
            raise fail(Code.INVALID_OPTION, message, option.value_span, hint)
        found.append(".".join(names))
    return ", ".join(found)


def _refuse_for_tables(statement: CreateSource, option: str) -> None:
    if statement.kind is ObjectKind.TABLE:
        message = f"a table is read at once, so it has no option `{option}`"
        span = statement.options[option].key_span
        raise fail(Code.INVALID_OPTION, message, span, "make it a stream: `CREATE STREAM ...`")


def _event_time(statement: CreateSource, source: Source) -> str:
    """The event-time column by its exact name."""
    options, schema = statement.options, source.row
    name = _time("eventtime", statement, source)
    if schema.fields[schema.ordinal(name)].type == TIMESTAMP and "eventtime_unit" in options:
        raise fail(
            Code.INVALID_OPTION,
            f"the event-time column `{name}` is TIMESTAMP, which counts no units",
            options["eventtime_unit"].key_span,
            "`eventtime_unit` is for BIGINT columns",
        )
    return name


def _time(name: str, statement: CreateSource, source: Source) -> str:
    """The column that an option names by its exact name: one that says when a row happened."""
    option, schema = statement.options[name], source.row
    what = "the event-time column" if name == "eventtime" else f"option `{name}`: the column"
    found = schema.find(str(option.value))
    if len(found) != 1:
        raise fail(
            Code.INVALID_OPTION,
            f"{what} `{option.value}` is not in the schema",
            option.value_span,
            did_you_mean(str(option.value), schema.names),
        )
    column = schema.fields[found[0]]
    if column.type not in (TIMESTAMP, BIGINT):
        raise fail(
            Code.INVALID_OPTION,
            f"{what} `{column.name}` is {source.type_text(column)}",
            option.value_span,
            "it must be TIMESTAMP, or BIGINT for an epoch",
        )
    return column.name
