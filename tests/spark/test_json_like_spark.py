"""Our JSON decoder reads what Spark's `from_json` reads, but for the differences listed here.

Spark is the oracle: nothing in this file says what a value should be, only where we differ and why.
Every query costs Spark a good part of a second, so documents are put into as few as possible.
"""

from __future__ import annotations

import json
import operator
import re
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import ANY

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from narrows.demand import ALL
from narrows.formats.decoder import Decoded
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.documents import find_documents
from narrows.formats.json.native import NativeJsonDecoder
from narrows.formats.kernel import is_native_usable
from narrows.projection.columns import DecodeProjection
from narrows.schema import DATE, STRING, TIMESTAMP, DataType, Field, Struct
from narrows.sql.parser.types import read_schema
from support.json_documents import (
    RIGHT,
    WRONG,
    Manner,
    make_document,
    make_json_struct,
    plain,
)
from support.kernels import outcome


class _NotNull:
    def __eq__(self, other: object) -> bool:
        return other is not None


SOMETHING = _NotNull()
"""What Spark reads depends on the day, or on the version of Java."""


@dataclass(frozen=True)
class Difference:
    """A document that we deliberately read in another way than Spark."""

    reason: str
    schema: str
    document: str
    ours: Any
    """The row as a dict, or the reason why there is none."""
    sparks: Any


DIFFERENCES = (
    # --- what is a row ----------------------------------------------------------------------------
    Difference(
        "what is no JSON makes no row; Spark makes one of NULLs",
        *("a INT", '{"a": 1', "not valid JSON: expecting ',' delimiter at byte 7", {"a": None}),
    ),
    Difference(
        "a payload is one value; Spark reads the first and ignores the rest",
        *("a INT", '{"a": 1} x', "not valid JSON: extra data at byte 9", {"a": 1}),
    ),
    Difference(
        "single quotes are no JSON",
        "a INT",
        "{'a': 1}",
        "not valid JSON: expecting property name enclosed in double quotes at byte 1",
        {"a": 1},
    ),
    Difference(
        "neither are NaN and Infinity; as texts they are read",
        *("a DOUBLE", '{"a": NaN}', "not valid JSON: NaN is no JSON value", {"a": "nan"}),
    ),
    Difference(
        "what is no object makes no row",
        *("a INT", "1", "not an object: it is a number", {"a": None}),
    ),
    Difference(
        "a list of objects is many rows, as when Spark reads files",
        *("a INT", '[{"a": 1}]', {"a": 1}, {"a": None}),
    ),
    Difference("a byte order mark is ignored", "a INT", '\ufeff{"a": 1}', {"a": 1}, {"a": None}),
    Difference(
        "nesting ends at 1024 levels, in Spark at 1000",
        "a INT",
        '{"b": ' + "[" * 1010 + "]" * 1010 + ', "a": 1}',
        {"a": 1},
        {"a": None},
    ),
    # --- what is a value --------------------------------------------------------------------------
    Difference(
        "of a repeated key the first counts, and nothing after it is looked at; in Spark the last",
        *("a INT", '{"a": 1, "a": 2}', {"a": 1}, {"a": 2}),
    ),
    Difference(
        "the same in a map; Spark keeps both entries",
        "m MAP<STRING, INT>",
        '{"m": {"k": 1, "k": 2}}',
        {"m": [("k", 1)]},
        {"m": [("k", 1), ("k", 2)]},
    ),
    Difference(
        "an element of the wrong type is NULL; in Spark the whole list is",
        *("a ARRAY<INT>", '{"a": [1, "x"]}', {"a": [1, None]}, {"a": None}),
    ),
    Difference(
        "the same in a map",
        "m MAP<STRING, INT>",
        '{"m": {"k": 1, "l": "x"}}',
        {"m": [("k", 1), ("l", None)]},
        {"m": None},
    ),
    Difference(
        "a TINYINT ends at 127; Spark takes 128 to 255 for negative numbers",
        *("a TINYINT", '{"a": 200}', {"a": None}, {"a": -56}),
    ),
    Difference(
        "a number too large for a TIMESTAMP is out of range; in Spark it overflows",
        "a TIMESTAMP",
        '{"a": 9223372036855}',
        {"a": None},
        {"a": -9223372036854551616},
    ),
    Difference(
        "a time without a date is no TIMESTAMP; in Spark it is today's, another value every day",
        *("a TIMESTAMP", '{"a": "10:20:30"}', {"a": None}, {"a": SOMETHING}),
    ),
    Difference(
        "a text that is a number of days is no DATE; Spark still reads what Spark 1.5 wrote",
        *("a DATE", '{"a": "202"}', {"a": None}, {"a": 202}),
    ),
    Difference(
        "a FLOAT is rounded from a DOUBLE; Spark rounds the text, which differs when the two"
        " nearest FLOATs are equally near to the DOUBLE",
        "a FLOAT",
        '{"a": 1.00000017881393432617187499}',
        {"a": 1.000000238418579},
        {"a": 1.0000001192092896},
    ),
    Difference(
        "a fraction as a STRING has as few digits as tell it apart; Java 17 may print more",
        *("a STRING", '{"a": 1e23}', {"a": "1.0E23"}, {"a": SOMETHING}),
    ),
    Difference(
        "a number beyond a DOUBLE is a STRING as it is written",
        *("a STRING", '{"a": 1e400}', {"a": "1e400"}, {"a": '"Infinity"'}),
    ),
    Difference(
        "half a surrogate pair is `?` also in a list or object that is read as a STRING",
        *("a STRING", '{"a": ["\\ud800"]}', {"a": '["?"]'}, {"a": '["\\uD800"]'}),
    ),
    Difference(
        "numbers may have more than 1000 digits",
        "a DOUBLE",
        '{"a": 0.' + "1" * 1100 + "}",
        {"a": 0.1111111111111111},
        {"a": None},
    ),
    Difference(
        "a DECIMAL with an absurd negative exponent is zero",
        "a DECIMAL(3, 2)",
        '{"a": 1e-999999999}',
        {"a": 0},
        {"a": None},
    ),
    Difference(
        "zones that only Java knows are no zones",
        "a TIMESTAMP",
        '{"a": "2020-01-02T03:04:05SystemV/PST8"}',
        {"a": None},
        {"a": ANY},
    ),
)


def decode(schema: Struct, documents: list[bytes], zone: str = "UTC") -> Decoded:
    """Decoded by every kernel that there is."""
    projection = DecodeProjection(schema, ALL)
    decoded = JsonDecoder(zone).decode_with_projection(documents, projection)
    if is_native_usable():
        native = NativeJsonDecoder(zone).decode_with_projection(documents, projection)
        assert outcome(native) == outcome(decoded)
    return decoded


def our_rows(schema: Struct, documents: list[bytes], zone: str = "UTC") -> list[Any]:
    decoded = decode(schema, documents, zone)
    assert not decoded.bad
    columns = [plain(column) for column in decoded.batch.columns]
    return [dict(zip(schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def spark_columns(
    spark: SparkSession, schemas: list[Struct], documents: list[tuple[str, ...]]
) -> list[list[Any]]:
    """What `from_json` makes of each column of documents, with a schema for each."""
    names = [f"c{place}" for place in range(len(schemas))]
    source: DataFrame = spark.createDataFrame(
        [(number, *texts) for number, texts in enumerate(documents)],
        "number INT, " + ", ".join(f"{name} STRING" for name in names),
    )
    parsed = [
        F.from_json(name, schema.sql(), {"mode": "PERMISSIVE"}).alias(name)
        for name, schema in zip(names, schemas, strict=True)
    ]
    table = source.coalesce(1).sortWithinPartitions("number").select(*parsed).toArrow()
    return [plain(table.column(name)) for name in names]


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda d: d.reason[:60])
def test_our_side_of_a_difference(difference: Difference) -> None:
    schema = read_schema(difference.schema)
    payload = difference.document.encode()
    if isinstance(difference.ours, str):
        (bad,) = decode(schema, [payload]).bad
        assert bad.reason == difference.ours
    else:
        assert our_rows(schema, [payload]) == [difference.ours]


def test_sparks_side_of_the_differences(spark: SparkSession) -> None:
    schemas = [read_schema(difference.schema) for difference in DIFFERENCES]
    documents = tuple(difference.document for difference in DIFFERENCES)
    found = [column[0] for column in spark_columns(spark, schemas, [documents])]
    assert found == [difference.sparks for difference in DIFFERENCES]


# --- every spelling of a value, for every type ----------------------------------------------------


def is_documented(dtype: DataType, text: str) -> bool:
    """Is this value of this type one of the differences?"""
    if dtype == TIMESTAMP:
        return re.fullmatch("-?[0-9]+", text) is not None and abs(int(text)) > 9223372036854
    if dtype == DATE:
        return re.fullmatch('"[+-]?([0-9]{1,3}|[0-9]{8,})"', text) is not None
    return dtype == STRING and "1e400" in text


def test_every_value_for_every_type(spark: SparkSession) -> None:
    texts = list(
        dict.fromkeys(text for pool in (RIGHT, WRONG) for ts in pool.values() for text in ts)
    )
    texts += ["null", "{}", "[]", '{"a": 1}']
    schemas = [Struct((Field("v", dtype),)) for dtype in RIGHT]
    documents = [f'{{"v": {text}}}' for text in texts]
    theirs = spark_columns(spark, schemas, [(document,) * len(schemas) for document in documents])
    differing = []
    for schema, column in zip(schemas, theirs, strict=True):
        dtype = schema.fields[0].type
        ours = our_rows(schema, [document.encode() for document in documents])
        for text, our, their in zip(texts, ours, column, strict=True):
            if our != their and not is_documented(dtype, text):
                differing.append((str(dtype), text, our, their))
    assert differing == []


def test_wrong_values_are_counted() -> None:
    for dtype, texts in WRONG.items():
        documents = [f'{{"v": {text}}}'.encode() for text in texts]
        decoded = decode(Struct((Field("v", dtype),)), documents)
        assert decoded.mistyped == len(texts) == decoded.batch.column(0).null_count, dtype


def test_times_in_the_zone_of_the_session(spark: SparkSession) -> None:
    schema = Struct((Field("t", TIMESTAMP), Field("d", DATE)))
    texts = [*RIGHT[TIMESTAMP], *WRONG[TIMESTAMP], '"2021-03-28 02:30:00"', '"1800-01-01 00:00:00"']
    documents = [f'{{"t": {text}, "d": {text}}}' for text in texts]
    zone = "Europe/Paris"
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        (theirs,) = spark_columns(spark, [schema], [(document,) for document in documents])
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert our_rows(schema, [document.encode() for document in documents], zone) == theirs


# --- random documents -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_random_documents(spark: SparkSession, seed: int) -> None:
    choose = Random(seed).choice
    manner = Manner(wrong_elements=False, repeated=False)
    schemas = [make_json_struct(choose, depth=4) for _ in range(12)]
    documents = [
        tuple(make_document(schema, choose, manner).decode() for schema in schemas)
        for _ in range(60)
    ]
    theirs = spark_columns(spark, schemas, documents)
    for place, schema in enumerate(schemas):
        ours = our_rows(schema, [row[place].encode() for row in documents])
        for number, (our, their) in enumerate(zip(ours, theirs[place], strict=True)):
            assert our == their, (schema.sql(), documents[number][place])


def test_lists_of_objects(spark: SparkSession) -> None:
    schema = read_schema("a INT, b ARRAY<STRING>")
    document = '[{"a": 1, "b": ["x", 2]}, {"a": 2}, {}]'
    source = spark.createDataFrame([(document,)], "d STRING")
    parsed = source.select(F.from_json("d", f"ARRAY<{schema.sql()}>").alias("r"))
    (theirs,) = plain(parsed.toArrow().column("r"))
    assert our_rows(schema, [document.encode()]) == theirs


def test_objects_over_several_lines(spark: SparkSession, tmp_path: Path) -> None:
    documents = [
        {"a": n, "b": {"c": ["]", "\\", '"{'], "d": [n, None]}, "t": "ä\n"} for n in range(5)
    ]
    files = [
        json.dumps(documents[0], indent=4),
        json.dumps(documents[1:4], indent="\t", ensure_ascii=False),
        "\ufeff\n" + json.dumps([documents[4]]) + "\n",
        "[]",
    ]
    for number, text in enumerate(files):
        (tmp_path / f"{number}.json").write_text(text, "utf-8")
    schema = "a INT, b STRUCT<c: ARRAY<STRING>, d: ARRAY<INT>>, t STRING"
    frame = spark.read.schema(schema).option("multiLine", True).json(str(tmp_path))
    theirs = plain(frame.select(F.struct("*").alias("r")).toArrow().column("r"))
    payloads = [
        payload
        for path in sorted(tmp_path.iterdir())
        for found in find_documents(iter([path.read_bytes()]))
        for payload in found.payloads
    ]
    by_number = operator.itemgetter("a")
    assert our_rows(read_schema(schema), payloads) == sorted(theirs, key=by_number)
