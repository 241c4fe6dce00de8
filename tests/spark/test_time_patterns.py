"""`timestamp_format` and `date_format` mean what Spark's `timestampFormat` and `dateFormat` mean.

Every text is read by every pattern, in one query each for JSON and CSV.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from narrows.demand import ALL
from narrows.formats.csv.decoder import CsvDecoder
from narrows.formats.decoder import RecordDecoder
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.native import NativeJsonDecoder
from narrows.formats.kernel import is_native_usable
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema
from support.json_documents import plain

PATTERNS = (
    "yyyy-MM-dd HH:mm:ss",
    "dd/MM/yyyy HH:mm",
    "d.M.yyyy H:m:s",
    "yyyyMMddHHmmss",
    "yyyyMMddHHmmssSSS",
    "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]XXX",
    "yyyy-MM-dd'T'HH:mm:ss.SSSX",
    "yyyy-MM-dd HH:mm:ss.SSSSSSSSS xx",
    "yyyy-MM-dd HH:mm Z",
    "dd MMM yyyy hh:mm:ss a",
    "MMMM d, yyyy",
    "MM/dd/yy h:mm a",
    "dd/MMM/yyyy:HH:mm:ss Z",
    "yyyy",
    "HH:mm",
    "yyyy-M-d[ H[:m]]",
    "''yy 'o''clock' HH",
)
DATES = ("yyyy-MM-dd", "dd.MM.yyyy", "d/M/yy", "yyyyMMdd", "MMM d yyyy", "MM-yyyy")

_FORMS = (
    *("%Y-%m-%d %H:%M:%S", "%d/%m/%Y %H:%M", "%Y%m%d%H%M%S", "%Y%m%d%H%M%S123"),
    *("%Y-%m-%dT%H:%M:%S%:z", "%Y-%m-%dT%H:%M:%S.%f%:z", "%Y-%m-%dT%H:%M:%S.123Z"),
    *("%Y-%m-%dT%H:%M:%S.5+01", "%Y-%m-%d %H:%M:%S.123456789 %z", "%Y-%m-%d %H:%M %z"),
    *("%d %b %Y %I:%M:%S %p", "%B %-d, %Y", "%m/%d/%y %-I:%M %p", "%d/%b/%Y:%H:%M:%S %z"),
    *("%Y", "%H:%M", "%Y-%-m-%-d", "%Y-%-m-%-d %-H", "%Y-%m-%d %H:%M", "'%y o'clock %H"),
    *("%-d.%-m.%Y %-H:%-M:%-S", "%Y-%m-%d", "%d.%m.%Y", "%-d/%-m/%y", "%Y%m%d", "%b %-d %Y"),
    *("%m-%Y", "%b %d %Y"),
)
_ODD = (
    *("", " ", "x", "2024-02-30 00:00:00", "2023-02-29", "2024-13-01 00:00:00", "20240101"),
    *("2024-01-01 24:00:00", "2024-01-01 00:60:00", " 2024-01-01 00:00:00", "0000-01-01 00:00:00"),
    *("01 Foo 2024 01:00:00 AM", "01 JAN 2024 01:00:00 am", "01 jan 2024 13:00:00 PM", "0000"),
    *("01 Jan 2024 12:00:00 AM", "01 Jan 2024 12:00:00 PM", "01 Jan 2024 00:00:00 AM"),
    *("2024-01-01t00:00:00z", "2024-01-01T00:00:00+19:00", "2024-01-01T00:00:00.1234567Z"),
    *("2024-01-01 00:00:00 extra", "1.1.2024 1:1:1", "001.1.2024 1:1:1", "31.4.2024 1:1:1"),
    *("1700000000", "-5", "2024-1-1 ", "2024-1-1 5", "2024-1-1 5:7", "2024-1-1 5:", "29.02.1900"),
)


def _text(moment: datetime, form: str) -> str:
    zone = moment.strftime("%z")
    return moment.strftime(form.replace("%:z", f"{zone[:3]}:{zone[3:]}"))


def _texts() -> list[str]:
    random = Random(7)
    found = list(_ODD)
    for form in _FORMS:
        for _ in range(4):
            zone = timezone(timedelta(minutes=random.choice((0, 60, -330, 765))))
            moment = datetime(1900, 1, 1, tzinfo=zone) + timedelta(
                seconds=random.randrange(200 * 365 * 86_400), microseconds=random.randrange(10**6)
            )
            found.append(_text(moment, form))
    return list(dict.fromkeys(found))


def _is_documented(pattern: str, text: str) -> bool:
    """One letter takes one or two digits, where Java would take nineteen; and we read a fraction
    right behind other digits, which Spark never does."""
    return (text.startswith("001.") and pattern.startswith("d.")) or pattern.endswith("ssSSS")


@pytest.mark.parametrize(
    ("column", "options", "patterns"),
    [
        ("TIMESTAMP", ("timestamp_format", "timestampFormat"), PATTERNS),
        ("DATE", ("date_format", "dateFormat"), DATES),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_as_in_spark(
    spark: SparkSession, column: str, options: tuple[str, str], patterns: tuple[str, ...], zone: str
) -> None:
    ours, theirs = options
    texts = _texts()
    documents = [json.dumps({"v": text}) for text in texts]
    lines = [json.dumps(text) for text in texts]
    schema = read_schema(f"v {column}")
    projection = DecodeProjection(schema, ALL)
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = spark.createDataFrame(
            list(zip(documents, lines, strict=True)), "d STRING, c STRING"
        )
        read = [
            function(
                given,
                F.lit(f"v {column}") if function is F.from_csv else f"v {column}",
                {theirs: pattern, "timeZone": zone},
            )["v"].alias(f"{name}{place}")
            for place, pattern in enumerate(patterns)
            for name, given, function in (("json", "d", F.from_json), ("csv", "c", F.from_csv))
        ]
        found = frame.select(*read).toArrow()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    differing: list[Any] = []
    for place, pattern in enumerate(patterns):
        given = {ours: pattern}
        decoders: list[tuple[str, RecordDecoder, list[str]]] = [
            ("json", JsonDecoder(zone, **given), documents)
        ]
        if is_native_usable():
            decoders.append(("json", NativeJsonDecoder(zone, **given), documents))
        decoders.append(("csv", CsvDecoder({**given, "timezone": zone}), lines))
        for name, decoder, payloads in decoders:
            decoded = decoder.decode_with_projection([p.encode() for p in payloads], projection)
            assert not decoded.bad
            expected = plain(found.column(f"{name}{place}"))
            read_by_us = plain(decoded.batch.column(0))
            assert any(value is not None for value in read_by_us), pattern
            differing += [
                (name, pattern, text, our, their)
                for text, our, their in zip(texts, read_by_us, expected, strict=True)
                if our != their and not _is_documented(pattern, text)
            ]
    assert not differing, "\n".join(map(str, differing))
