"""Small random tables of TPC-DS, of which its queries find some rows.

`tools/spark_sql_inputs.py` writes them. Columns and types are read out of Spark's tests jar
(`TPCDSSchema`); keys point at rows that are there, dates are those of five years, and what queries
compare a column with is often what the column has.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_TABLES = {
    "ss": "store_sales",
    "sr": "store_returns",
    "cs": "catalog_sales",
    "cr": "catalog_returns",
    "ws": "web_sales",
    "wr": "web_returns",
    "inv": "inventory",
    "s": "store",
    "d": "date_dim",
    "cc": "call_center",
    "cp": "catalog_page",
    "web": "web_site",
    "wp": "web_page",
    "i": "item",
    "w": "warehouse",
    "c": "customer",
    "ca": "customer_address",
    "cd": "customer_demographics",
    "hd": "household_demographics",
    "ib": "income_band",
    "p": "promotion",
    "r": "reason",
    "sm": "ship_mode",
    "t": "time_dim",
}
_ROWS = {
    "store_sales": 3000,
    "catalog_sales": 2000,
    "web_sales": 1500,
    "inventory": 2000,
    "store_returns": 600,
    "catalog_returns": 400,
    "web_returns": 300,
    "date_dim": 2200,
    "item": 120,
    "customer": 150,
    "customer_address": 100,
    "customer_demographics": 150,
    "household_demographics": 60,
    "time_dim": 300,
    "promotion": 20,
    "store": 8,
    "warehouse": 5,
    "call_center": 4,
    "catalog_page": 20,
    "web_site": 4,
    "web_page": 10,
    "income_band": 20,
    "reason": 40,
    "ship_mode": 10,
}
_FACTS = ("_sales", "_returns", "inventory")
_KEYS = {
    "date": "date_dim",
    "addr": "customer_address",
    "cdemo": "customer_demographics",
    "hdemo": "household_demographics",
    "promo": "promotion",
    "time": "time_dim",
    **{name: name for name in ("item", "customer", "store", "warehouse", "call_center", "reason")},
    **{name: name for name in ("catalog_page", "web_site", "web_page", "ship_mode")},
    "income_band": "income_band",
}
_FIRST_DAY, _FIRST_KEY, _FIRST_WEEK = date(1998, 1, 1), 2450815, 5114


def write_tables(unpacked: Path, folder: Path) -> str:
    """Writes the tables as Parquet files; the statements that make views of them."""
    schema = _schema((unpacked / "org/apache/spark/sql/TPCDSSchema.class").read_bytes())
    paths = sorted(unpacked.glob("tpcds*/q*.sql"))
    compared = _compared("\n".join(path.read_text("utf-8") for path in paths))
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(7)
    views = []
    for table, columns in schema.items():
        key = "" if table.endswith(_FACTS) else next(iter(columns))
        values = {}
        for name, kind in columns.items():
            made = [
                row + 1
                if name == key and table != "date_dim"
                else _value(table, name, kind, row, compared, chance)
                for row in range(_ROWS[table])
            ]
            values[name] = pa.array(made, kind)
        path = (folder / f"{table}.parquet").resolve()
        pq.write_table(pa.table(values), path)
        views.append(f"CREATE OR REPLACE TEMP VIEW {table} AS SELECT * FROM parquet.`{path}`;\n")
    return "".join(views)


def _schema(compiled: bytes) -> dict[str, dict[str, pa.DataType]]:
    """Columns of tables, from the texts that a class was compiled with."""
    column = r"`([a-z_0-9]+)` ([A-Z]+)(?:\((\d+)(?:,\s*(\d+))?\))?"
    text = compiled.decode("latin-1")
    runs = [found[0] for found in re.finditer(rf"(?:\s*\|?{column},?\s*){{2,}}", text)]
    tables: dict[str, dict[str, pa.DataType]] = {}
    for run in runs:
        columns = re.findall(column, run)
        prefix = columns[0][0].partition("_")[0]
        tables[_TABLES[prefix]] = {name: _type(*kind) for name, *kind in columns}
    assert len(tables) == len(_TABLES), "this is no TPCDSSchema that we know"
    return tables


def _type(name: str, digits: str, scale: str) -> pa.DataType:
    if name == "DECIMAL":
        return pa.decimal128(int(digits), int(scale or 0))
    types = {"INT": pa.int32(), "BIGINT": pa.int64(), "DATE": pa.date32()}
    return types.get(name, pa.string())


def _compared(queries: str) -> Mapping[str, list[str]]:
    """What queries compare columns with."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, text, number in re.findall(
        r"\b([a-z_]+)\s*(?:=|<>)\s*(?:'([^']*)'|(\d+)\b)", queries
    ):
        found[name].add(text or number)
    listed = r"\b([a-z_]+)\s+IN\s*\(((?:\s*'[^']*'\s*,?)+)\)"
    for name, texts in re.findall(listed, queries, re.IGNORECASE):
        found[name].update(re.findall(r"'([^']*)'", texts))
    return {name: sorted(texts) for name, texts in found.items()}


def _value(
    table: str,
    name: str,
    kind: pa.DataType,
    row: int,
    compared: Mapping[str, list[str]],
    chance: random.Random,
) -> object:
    if table == "date_dim":
        return _of_day(name, kind, row)
    if chance.random() < 0.04 and not name.endswith("_id"):
        return None
    if name.endswith("_sk"):
        pointed = next((_KEYS[key] for key in sorted(_KEYS, key=len)[::-1] if key in name), None)
        first = _FIRST_KEY if pointed == "date_dim" else 1
        return first + chance.randrange(_ROWS[pointed] if pointed else 10)
    if name.endswith(("ticket_number", "order_number")):
        return chance.randrange(1, 900)
    if pa.types.is_date(kind):
        return _FIRST_DAY + timedelta(days=chance.randrange(2000))
    if pa.types.is_decimal(kind):
        return Decimal(chance.choice([-500, -600, -700] if "gmt" in name else range(20000))) / 100
    usual = compared.get(name, ())
    if pa.types.is_integer(kind):
        numbers = [int(text) for text in usual if text.isdecimal()]
        if numbers and chance.random() < 0.6:
            return chance.choice(numbers)
        return chance.randrange({"hour": 24, "minute": 60}.get(name.rpartition("_")[2], 100))
    if usual and chance.random() < 0.8:
        return chance.choice(usual)
    return f"{name[:4]}{chance.randrange(12)}"


def _of_day(name: str, kind: pa.DataType, row: int) -> object:
    day = _FIRST_DAY + timedelta(days=row)
    quarter = (day.month - 1) // 3
    known = {
        "d_date_sk": _FIRST_KEY + row,
        "d_date": day,
        "d_date_id": f"D{row}",
        "d_year": day.year,
        "d_moy": day.month,
        "d_dom": day.day,
        "d_qoy": quarter + 1,
        "d_dow": day.isoweekday() % 7,
        "d_day_name": f"{day:%A}",
        "d_month_seq": (day.year - 1900) * 12 + day.month - 1,
        "d_week_seq": _FIRST_WEEK + row // 7,
        "d_quarter_seq": (day.year - 1900) * 4 + quarter,
        "d_quarter_name": f"{day.year}Q{quarter + 1}",
    }
    return known.get(name, row % 100 if pa.types.is_integer(kind) else "N")
