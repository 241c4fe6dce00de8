"""What SHOW and DESCRIBE answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from narrows.catalog.objects import Pipeline, Sink, Source, SqlFunction, View
from narrows.catalog.statistics import TableStatistics
from narrows.catalog.store import CatalogObject
from narrows.secrets import without_passwords
from narrows.sql.parser.statements import ObjectKind


@dataclass(frozen=True)
class ResultTable:
    """An answer in rows and columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


_COLUMNS = {
    ObjectKind.STREAM: ("name", "connector", "format", "columns", "shared"),
    ObjectKind.TABLE: ("name", "connector", "format", "columns", "shared"),
    ObjectKind.VIEW: ("name", "query"),
    ObjectKind.FUNCTION: ("name", "parameters", "returns", "body"),
    ObjectKind.SINK: ("name", "connector", "format"),
    ObjectKind.PIPELINE: ("name", "sinks", "query"),
}


def show(objects: Iterable[CatalogObject], kind: ObjectKind) -> ResultTable:
    """One row for each object, sorted by name."""
    ordered = sorted(objects, key=lambda declared: declared.name.casefold())
    return ResultTable(_COLUMNS[kind], tuple(_summary(declared) for declared in ordered))


def _summary(declared: CatalogObject) -> tuple[str, ...]:
    match declared:
        case Source(name=name, connector=connector, format=form, schema=schema):
            return (name, connector, form, str(len(schema)), _text(declared.shared))
        case View(name=name, query=query):
            return (name, " ".join(query.sql.split()))
        case SqlFunction(name=name, parameters=parameters):
            texts = ", ".join(field.sql() for field in parameters)
            return (name, texts, _returns(declared), " ".join(declared.sql.split()))
        case Sink(name=name, connector=connector, format=form):
            return (name, connector, form)
        case Pipeline(name=name, sinks=sinks, query=query):
            return (name, ", ".join(sinks), " ".join(query.sql.split()))


def describe(declared: CatalogObject) -> ResultTable:
    """Columns and types of a source, options of a sink, the query of a pipeline."""
    match declared:
        case Source(schema=schema, options=options):
            columns = tuple((f.name, declared.type_text(f)) for f in schema)
            metadata = tuple((f"METADATA {f.name}", f.type.sql()) for f in declared.metadata)
            counted = _statistics(declared.statistics)
            rows = (*columns, *metadata, *_options(options), *counted)
            return ResultTable(("name", "value"), rows)
        case View(columns=named, query=query):
            names = [("columns", ", ".join(name.text for name in named))] if named else []
            return ResultTable(("name", "value"), (*names, ("query", query.sql)))
        case SqlFunction(parameters=parameters):
            texts = tuple((f"PARAMETER {field.name}", field.type.sql()) for field in parameters)
            rows = (*texts, ("returns", _returns(declared)), ("body", declared.sql))
            return ResultTable(("name", "value"), rows)
        case Sink(options=options):
            return ResultTable(("name", "value"), _options(options))
        case Pipeline(sinks=sinks, query=query):
            given = _options({name: option.value for name, option in declared.options.items()})
            rows = (("sinks", ", ".join(sinks)), ("query", query.sql), *given)
            return ResultTable(("name", "value"), rows)


def _returns(function: SqlFunction) -> str:
    return function.returns.sql() if function.returns is not None else "what its body gives"


def _statistics(counted: TableStatistics | None) -> tuple[tuple[str, str], ...]:
    if counted is None:
        return ()
    columns = []
    for name, column in counted.columns.items():
        distinct = f", {column.distinct} distinct" if column.distinct is not None else ""
        text = f"{column.width:.1f} bytes{distinct}, {column.null_fraction:.1%} NULL"
        columns.append((f"STATISTICS {name}", text))
    return (("STATISTICS rows", str(counted.rows)), *columns)


def _options(options: object) -> tuple[tuple[str, str], ...]:
    assert isinstance(options, dict)
    return tuple((f"WITH {name}", _text(value)) for name, value in sorted(options.items()))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else without_passwords(str(value))
