"""Values of every scalar type, those among them that are easily got wrong."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal as DecimalValue
from typing import Any

from narrows.schema import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    Decimal,
)

NAN, INFINITY = float("nan"), float("inf")
NUMBERS = [0, 1, -1, 5, 100]
MONEY = Decimal(6, 2)
LONG = Decimal(38, 4)
VALUES: dict[DataType, Sequence[Any]] = {
    BOOLEAN: [True, False],
    TINYINT: [*NUMBERS, 127, -128],
    SMALLINT: [*NUMBERS, 32767, -32768],
    INT: [*NUMBERS, 2**31 - 1, -(2**31)],
    BIGINT: [*NUMBERS, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)],
    FLOAT: [0.0, -0.0, 0.5, -0.5, NAN, INFINITY, -INFINITY],
    DOUBLE: [0.0, -0.0, 0.5, -0.5, NAN, INFINITY, -INFINITY],
    MONEY: [*map(DecimalValue, ("0.00", "9999.99", "-9999.99", "1.50"))],
    LONG: [*map(DecimalValue, ("0.0000", "9" * 34 + ".9999", "-" + "9" * 34, "0.0001"))],
    STRING: ["", "a", "b", "ä", "𝄞", "a\0"],
    BINARY: [b"", b"a", b"\xff", b"\x00"],
    DATE: [date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31)],
    TIMESTAMP: [datetime(1970, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 1, UTC)],
}
