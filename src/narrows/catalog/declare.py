"""Streams, tables and sinks, from the statements that declare them."""

from __future__ import annotations

from narrows.catalog.check_options import check_options
from narrows.catalog.objects import Sink, Source
from narrows.catalog.options import DELTA_OPTIONS, SINK_OPTIONS, STREAM_OPTIONS, TABLE_OPTIONS
from narrows.errors import Code, did_you_mean, fail
from narrows.plugins.declared import ConnectorSpec
from narrows.plugins.options import Options
from narrows.plugins.start_at import START_AT
from narrows.schema import BIGINT, TIMESTAMP, DataType, Struct, is_scalar
from narrows.sql.scope import Name
from narrows.sql.statements import CreateSink, CreateSource, ObjectKind


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
    begins_anywhere = any(spec.name == START_AT for spec in checked.connector.source_options or ())
    if START_AT in values and values.get("shared") is not True and not begins_anywhere:
        raise fail(
            Code.INVALID_OPTION,
            "only a shared stream has a place where its pipelines begin",
            statement.options[START_AT].key_span,
            "add `shared = true`; a regular stream begins with the first file",
        )
    return source


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


def _event_time(statement: CreateSource, source: Source) -> str:
    """The event-time column by its exact name."""
    options, schema = statement.options, source.row
    option = options["eventtime"]
    found = schema.find(str(option.value))
    if len(found) != 1:
        raise fail(
            Code.INVALID_OPTION,
            f"the event-time column `{option.value}` is not in the schema",
            option.value_span,
            did_you_mean(str(option.value), schema.names),
        )
    column = schema.fields[found[0]]
    if column.type not in (TIMESTAMP, BIGINT):
        raise fail(
            Code.INVALID_OPTION,
            f"the event-time column `{column.name}` is {source.type_text(column)}",
            option.value_span,
            "it must be TIMESTAMP, or BIGINT for an epoch",
        )
    if column.type == TIMESTAMP and "eventtime_unit" in options:
        raise fail(
            Code.INVALID_OPTION,
            f"the event-time column `{column.name}` is TIMESTAMP, which counts no units",
            options["eventtime_unit"].key_span,
            "`eventtime_unit` is for BIGINT columns",
        )
    return column.name
