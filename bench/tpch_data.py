"""TPC-H: its tables as NDJSON, from `tpchgen-cli`, and its 22 queries."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import narrows

_MONEY = "DECIMAL(15,2)"

SCHEMAS = {
    "region": "r_regionkey BIGINT, r_name STRING, r_comment STRING",
    "nation": "n_nationkey BIGINT, n_name STRING, n_regionkey BIGINT, n_comment STRING",
    "supplier": "s_suppkey BIGINT, s_name STRING, s_address STRING, s_nationkey BIGINT,"
    f" s_phone STRING, s_acctbal {_MONEY}, s_comment STRING",
    "customer": "c_custkey BIGINT, c_name STRING, c_address STRING, c_nationkey BIGINT,"
    f" c_phone STRING, c_acctbal {_MONEY}, c_mktsegment STRING, c_comment STRING",
    "part": "p_partkey BIGINT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING,"
    f" p_size INT, p_container STRING, p_retailprice {_MONEY}, p_comment STRING",
    "partsupp": "ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty INT,"
    f" ps_supplycost {_MONEY}, ps_comment STRING",
    "orders": "o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus STRING,"
    f" o_totalprice {_MONEY}, o_orderdate DATE, o_orderpriority STRING, o_clerk STRING,"
    " o_shippriority INT, o_comment STRING",
    "lineitem": "l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT,"
    f" l_quantity {_MONEY}, l_extendedprice {_MONEY}, l_discount {_MONEY}, l_tax {_MONEY},"
    " l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE,"
    " l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING",
}


def queries() -> dict[str, str]:
    """The queries by name: q1 to q22."""
    text = (Path(__file__).parent / "tpch_queries.sql").read_text("utf-8")
    parts = re.split(r"^-- (q\d+)$", text, flags=re.MULTILINE)[1:]
    return {
        name: sql.strip().rstrip(";") for name, sql in zip(parts[::2], parts[1::2], strict=True)
    }


def write(spark: SparkSession, folder: Path, scale: float) -> int:
    """Writes the tables as NDJSON, once; their size in bytes."""
    done = folder / f"scale-{scale}"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        generated = folder / "parquet"
        generator = Path(sys.executable).with_name("tpchgen-cli")
        command = [str(generator), "parquet", "-s", str(scale), "--output-dir", str(generated)]
        subprocess.run(command, check=True, capture_output=True)
        for table in SCHEMAS:
            rows = spark.read.parquet(str(generated / f"{table}.parquet"))
            rows.repartition(2).write.json(str(folder / table))
        shutil.rmtree(generated)
        done.touch()
    return sum(file.stat().st_size for file in folder.rglob("*.json"))


def declare(session: narrows.Session, folder: Path) -> None:
    """The tables, for Narrows."""
    for table, schema in SCHEMAS.items():
        session.execute(
            f"CREATE TABLE {table} ({schema})"
            f" WITH (connector = 'file', path = '{folder / table}', format = 'json')"
        )


def declare_views(spark: SparkSession, folder: Path) -> None:
    """The tables, for Spark's own JSON reader, which is told the schema."""
    for table, schema in SCHEMAS.items():
        reader = spark.read.schema(schema)
        reader.json(str(folder / table)).createOrReplaceTempView(table)
