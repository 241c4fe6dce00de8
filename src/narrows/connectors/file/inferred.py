"""Files that nobody declared: `FROM 'data/*.json'`. What is in them tells their columns.

    json     fields of the first payloads; a whole number is a BIGINT, one with a point a DOUBLE,
             what is of two kinds a STRING
    csv      the first line names the columns, the lines after it tell their types
    parquet  the schema of the first file
    text     one column, `value`

Of JSON and CSV some thousand payloads are looked at: a field that turns up only later is not known.
Declare a table where that matters.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePath

import pyarrow.parquet

from narrows.arrow.types import our_struct
from narrows.catalog.declare import declared_source
from narrows.catalog.objects import Source
from narrows.errors import Code, Span, fail
from narrows.files.lines import read_blocks
from narrows.files.listing import list_files
from narrows.files.ranges import FileRange
from narrows.plugins.options import Option, OptionValue
from narrows.schema import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    STRING,
    VOID,
    Array,
    DataType,
    Field,
    Struct,
)
from narrows.sql.parser.statements import CreateSource, ObjectKind
from narrows.sql.scope import Name

_FORMATS = {
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "json"),
    ".csv": "csv",
    ".parquet": "parquet",
    ".txt": "text",
}
_COMPRESSED = (".gz", ".zst")
_LOOKED_AT = 5_000


def undeclared_files(path: str, span: Span | None = None) -> Source | None:
    """A table of these files; None where the name is that of no file of a format that we read."""
    suffixes = [s.lower() for s in PurePath(path).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    form = _FORMATS.get(suffixes[-1]) if suffixes else None
    if form is None:
        return None
    files = [entry.path for entry in list_files(path)]
    if not files:
        raise fail(Code.UNREADABLE_FILE, f"there is no file at `{path}`", span)
    options: dict[str, OptionValue] = {"connector": "file", "path": path, "format": form}
    if form == "csv":
        options["header"] = True
    statement = CreateSource(
        name=path,
        name_span=span or Span(0, 0),
        kind=ObjectKind.TABLE,
        schema=_schema(form, files),
        options={key: Option(value) for key, value in options.items()},
    )
    return declared_source(statement)


def _schema(form: str, files: Sequence[str]) -> Struct:
    match form:
        case "json":
            return _of_json(islice(_payloads(files), _LOOKED_AT))
        case "csv":
            return _of_csv(islice(_payloads(files[:1]), _LOOKED_AT))
        case "parquet":
            return our_struct(pyarrow.parquet.read_schema(files[0]))
        case _:
            return Struct((Field("value", STRING),))


def _payloads(files: Sequence[str]) -> Iterator[bytes]:
    for path in files:
        whole = FileRange(path, 0, os.path.getsize(path))
        for block in read_blocks(whole, block_payloads=1_000):
            yield from block.payloads


# --- JSON -----------------------------------------------------------------------------------------


def _of_json(payloads: Iterator[bytes]) -> Struct:
    found: DataType = Struct(())
    for payload in payloads:
        try:
            value = json.loads(payload)
        except ValueError:
            continue  # a dead letter, when it is read
        if isinstance(value, dict):
            found = _both(found, _type_of(value))
    settled = _settled(found)
    assert isinstance(settled, Struct)
    return settled


def _type_of(value: object) -> DataType:
    match value:
        case None:
            return VOID
        case bool():
            return BOOLEAN
        case int():
            return BIGINT if -(2**63) <= value < 2**63 else DOUBLE
        case float():
            return DOUBLE
        case dict():
            return Struct(tuple(Field(name, _type_of(part)) for name, part in value.items()))
        case list():
            element: DataType = VOID
            for part in value:
                element = _both(element, _type_of(part))
            return Array(element)
        case _:
            return STRING


def _both(one: DataType, other: DataType) -> DataType:
    """A type that values of both have room in."""
    if one == other or other == VOID:
        return one
    if one == VOID:
        return other
    match one, other:
        case Struct(), Struct():
            parts = {field.name: field.type for field in one}
            for field in other:
                known = parts.get(field.name, VOID)
                parts[field.name] = _both(known, field.type)
            return Struct(tuple(Field(name, dtype) for name, dtype in parts.items()))
        case Array(mine), Array(theirs):
            return Array(_both(mine, theirs))
        case _:
            return DOUBLE if {one, other} == {BIGINT, DOUBLE} else STRING


def _settled(dtype: DataType) -> DataType:
    """What was NULL wherever it was looked at may be any text."""
    match dtype:
        case Struct(members):
            return Struct(tuple(Field(part.name, _settled(part.type)) for part in members))
        case Array(element):
            return Array(_settled(element))
        case _:
            return STRING if dtype == VOID else dtype


# --- CSV ------------------------------------------------------------------------------------------


def _of_csv(payloads: Iterator[bytes]) -> Struct:
    lines = (payload.decode("utf-8", errors="replace") for payload in payloads)
    rows = csv.reader(lines)
    names = next(rows, [])
    types: list[DataType] = [VOID] * len(names)
    for row in rows:
        for place, text in enumerate(row[: len(names)]):
            types[place] = _both(types[place], _type_of_text(text))
    fields = zip(names, types, strict=True)
    return Struct(tuple(Field(name, _settled(dtype)) for name, dtype in fields))


def _type_of_text(text: str) -> DataType:
    if not text:
        return VOID
    if text.lower() in ("true", "false"):
        return BOOLEAN
    digits = text.removeprefix("-")
    if digits.isdecimal() and digits.isascii() and len(digits) <= 18:
        return BIGINT
    try:
        float(text)
    except ValueError:
        return STRING
    return DOUBLE


class FilesInQueries:
    """Where a catalog looks for names that are paths of files."""

    def table(self, parts: Sequence[Name]) -> Source | None:
        return undeclared_files(parts[0].text, parts[0].span) if len(parts) == 1 else None

    def function(self, name: str) -> None:
        return None
