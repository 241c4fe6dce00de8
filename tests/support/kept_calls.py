"""Columns of all types, and aggregates of them that tasks fold: for tests that hold windows and
groups which tasks keep to those that Spark keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

NAN = float("nan")
NOON = datetime(2024, 10, 27, 12, tzinfo=UTC)
COLUMNS: dict[str, tuple[str, pa.DataType, Sequence[Any]]] = {
    "b": ("BOOLEAN", pa.bool_(), [True, False]),
    "t": ("TINYINT", pa.int8(), [0, 5, 127, -128]),
    "i": ("INT", pa.int32(), [0, 1, -1, 2**31 - 1]),
    "l": ("BIGINT", pa.int64(), [0, 3, 2**63 - 1, -(2**40)]),
    "f": ("FLOAT", pa.float32(), [0.0, 2.5, -1.5, NAN]),
    "d": ("DOUBLE", pa.float64(), [0.5, 0.25, -1.5, 1024.0]),
    "m": ("DECIMAL(6,2)", pa.decimal128(6, 2), [Decimal("0.01"), Decimal("9999.99")]),
    "w": ("DECIMAL(30,5)", pa.decimal128(30, 5), [Decimal("1.00001"), Decimal(10**22)]),
    "s": ("STRING", pa.string(), ["", "a", "ä", "𝄞"]),
    "y": ("BINARY", pa.binary(), [b"", b"a", b"\xff"]),
    "o": ("DATE", pa.date32(), [date(1970, 1, 1), date(1900, 1, 1)]),
    "p": ("TIMESTAMP", pa.timestamp("us", "UTC"), [NOON, NOON + timedelta(hours=1)]),
}
NUMBERS = ("t", "i", "l", "d", "m")


def all_calls() -> str:
    calls = ["count(*)", "count_if(i > 0)", "bool_and(b)", "some(t = 5)"]
    calls += ["count(*) FILTER (WHERE i = 1)", "min(i) FILTER (WHERE s = 'a')"]
    calls += [f"{call}({name})" for name in COLUMNS for call in ("min", "max", "count")]
    calls += [f"{call}({name})" for name in NUMBERS for call in ("sum", "avg")]
    return ", ".join(f"{call} AS v{place}" for place, call in enumerate(calls))


def chosen_calls() -> str:
    """Values of one of the rows, where it is not open of which."""
    calls = [f"max_by({name}, ts)" for name in COLUMNS]
    calls += ["min_by(s, ts) FILTER (WHERE i > 0)", "max_by(f, f)", "min_by(s, s)"]
    calls += ["any_value(k)", "any_value(s) FILTER (WHERE s = 'a') IGNORE NULLS"]
    return ", ".join(f"{call} AS v{place}" for place, call in enumerate(calls))


def spread_calls() -> str:
    """Rounded, for additions come in any order."""
    calls = [f"{call}({name})" for name in ("t", "f", "d") for call in ("stddev", "var_pop")]
    calls += ["variance(d) FILTER (WHERE i > 0)", "stddev_pop(t) FILTER (WHERE s = 'a')"]
    return ", ".join(f"round({call}, 7) AS v{place}" for place, call in enumerate(calls))


def random_columns(random: Random, rows: int) -> list[pa.Array]:
    """So many values of each of them, some of which are NULL."""
    return [
        pa.array([random.choice([None, *values]) for _ in range(rows)], kind)
        for _, kind, values in COLUMNS.values()
    ]
