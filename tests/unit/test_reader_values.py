"""Which expressions readers compute; that they compute what Spark does is shown in
`tests/spark/test_reader_values.py`."""

from __future__ import annotations

import pytest

import narrows

SCHEMA = (
    "i INT, n BIGINT, f FLOAT, x DOUBLE, d DECIMAL(6,2), large DECIMAL(38,0), s STRING,"
    " at TIMESTAMP, items ARRAY<BIGINT>, p STRUCT<q: BIGINT>"
)
DIGITS = ["large * 2", "large * d"]
MAY_OVERFLOW = ["i + 1", "-i", "n * n", "i - n"]


@pytest.fixture
def catalog() -> narrows.Catalog:
    made = narrows.Catalog()
    made.execute(
        f"CREATE STREAM t ({SCHEMA}) WITH (connector = 'file', path = 'data');"
        "CREATE SINK out WITH (connector = 'file', path = 'out')"
    )
    return made


@pytest.mark.parametrize(
    "expression",
    [
        *("i % 10", "mod(n, -3)", "i DIV 3", "i / 2", "x / 2.5", "CAST(i AS BIGINT)"),
        *("p.q % 2", "items[0] % 2", "s LIKE 'a%' OR i > 1", "CAST(n AS DOUBLE)"),
        *("x * 2 + i", "x - f", "x * 1.5", "d * (1 - d) * (1 + d)", "d + 0.005", "2 * d", "-x"),
        *("sqrt(x)", "sqrt(i)"),
        *DIGITS,
        *("CASE WHEN i > 1 THEN n ELSE 0 END", "CASE s WHEN 'a' THEN 1 END", "if(i > 1, s, NULL)"),
        *("coalesce(i, n, 7)", "coalesce(s, 'none')", "length(s)", "concat(s, '-', s)", "s || 'x'"),
        *(
            "substring(s, 1, 2)",
            "substring(s FROM 1 FOR 2)",
            "substr(s, 3, 0)",
            "left(s, 2)",
            "d > 0.06 - 0.01",
            "d < 2 * 1.5",
        ),
        *MAY_OVERFLOW,
    ],
)
def test_what_readers_compute(catalog: narrows.Catalog, expression: str) -> None:
    assert _in_reader(catalog, expression)


@pytest.mark.parametrize(
    "expression",
    [
        *("x / i", "i % n", "i % 0", "n DIV -1", "i / 0", "f / 2", "i / 2.5"),
        *("CAST(s AS INT)", "CAST(n AS INT)", "CAST(x AS FLOAT)", "CAST(i AS STRING)"),
        *("d * d * d * d * d * d", "large + 2", "large * large"),  # more than 38 digits
        *("d + i", "d * x", "f * f", "f * 1.5", "-d", "-f", "d + 1Y"),
        *("CASE WHEN i > 1 THEN i ELSE x END", "coalesce(d, 1)", "if(upper(s) = 'A', 1, 2)"),
        *("upper(s)", "rand()", "date_trunc('hour', at)", "size(items)", "concat(s, i)", "s || i"),
        *(
            "substring(s, -2, 2)",
            "substring(s, 0, 2)",
            "substring(s, 2)",
            "left(s, -1)",
            "left(s, i)",
        ),
        *("substring(s, i, 2)", "d > 0.005 - 0.001", "d > 9999 + 1.5"),
    ],
)
def test_what_is_left_to_spark(catalog: narrows.Catalog, expression: str) -> None:
    assert not _in_reader(catalog, expression)


@pytest.mark.parametrize("expression", [*MAY_OVERFLOW, *DIGITS])
def test_what_is_an_error_in_ansi_mode_is_left_to_spark(
    catalog: narrows.Catalog, expression: str
) -> None:
    catalog.is_ansi = lambda: True
    assert not _in_reader(catalog, expression)
    assert not _in_reader(catalog, f"if({expression} > 1, 1, 2)")


def _in_reader(catalog: narrows.Catalog, expression: str) -> bool:
    catalog.execute(f"CREATE OR REPLACE PIPELINE p INTO out AS SELECT {expression} AS v FROM t")
    text = catalog.plan_pipeline("p").explain("physical")
    return "in=reader" in text
