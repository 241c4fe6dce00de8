"""Sinks: what is written equals Spark's `to_json`, and does not depend on any rewrite."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import narrows
from narrows.optimizer.runner import rule_name, snake_case
from narrows.planner.rules import PHYSICAL_RULES
from narrows.spark.write.json_lines import json_lines

SCHEMA = """
    id BIGINT, flag BOOLEAN, tiny TINYINT, f FLOAT, d DOUBLE, dec DECIMAL(20, 6), t STRING,
    bin BINARY, day DATE, ts TIMESTAMP, s STRUCT<x: BIGINT, y: STRING, z: STRUCT<q: DOUBLE>>,
    l ARRAY<STRUCT<x: BIGINT, y: STRING>>, m MAP<STRING, BIGINT>, ll ARRAY<ARRAY<STRING>>
"""
DOCUMENTS: list[dict[str, Any]] = [
    {"id": 1, "flag": True, "tiny": -128, "f": 0.1, "d": 1e300, "dec": 12.5, "t": "plain",
     "bin": "AP8=", "day": "2026-11-15", "ts": "2026-11-15T10:00:00.123456Z",
     "s": {"x": 1, "y": "a", "z": {"q": 0.5}}, "l": [{"x": 1, "y": "p"}, None, {"x": None}],
     "m": {"k": 1, "weird \"key\"": None}, "ll": [["a", None], None, []]},
    {"id": 2},
    {"id": 3, "t": "esc \" \\ \n \u0001 ü ☃ 😀 \u007f", "s": {"z": None}, "l": [], "m": {},
     "ll": []},
    {"id": -9223372036854775808, "d": -0.0, "dec": 0.000001, "day": "0001-01-01",
     "ts": "1969-12-31T23:59:59.999999Z", "s": {"x": 9223372036854775807}, "l": [{"y": "\u2028"}]},
    {"id": 5, "d": 123456789012345.0, "f": 3.4e38, "day": "9999-12-31",
     "ts": "2038-01-19T03:14:08Z"},
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("encoding")
    (made / "in").mkdir()
    lines = [json.dumps(document, ensure_ascii=False) for document in DOCUMENTS]
    (made / "in" / "a.json").write_text("\n".join(lines[:3]) + "\n", "utf-8")
    (made / "in" / "b.json").write_text("\n".join(lines[3:]) + "\nnot json\n", "utf-8")
    return made


@pytest.fixture
def session(spark: SparkSession, folder: Path, tmp_path: Path) -> Iterator[narrows.Session]:
    with narrows.connect(spark, state=tmp_path / "state") as made:
        made.execute(f"CREATE STREAM s ({SCHEMA}) WITH (connector = 'file', path = '{folder}/in')")
        made.execute(f"CREATE TABLE names (id BIGINT, name STRING, s STRUCT<x: BIGINT>)"
                     f" WITH (connector = 'file', path = '{names(folder)}')")  # fmt: skip
        yield made


def names(folder: Path) -> Path:
    path = folder / "names"
    path.mkdir(exist_ok=True)
    (path / "n.json").write_text('{"id": 1, "name": "one", "s": {"x": 11}}\n{"id": 3}\n', "utf-8")
    return path


def test_json_is_what_to_json_writes(session: narrows.Session) -> None:
    """Of all types, with NULLs at every level; parsed, since numbers may be spelt otherwise."""
    frame = session.query("SELECT * FROM s")
    options = {"ignoreNullFields": "false"}
    theirs = [row[0] for row in frame.select(F.to_json(F.struct("*"), options)).collect()]
    ours = list(json_lines(frame, session.timezone))
    assert [json.loads(line) for line in ours] == [json.loads(line) for line in theirs]
    assert len(ours) == len(DOCUMENTS)


def test_types_that_no_encoder_has_are_written_as_text(session: narrows.Session) -> None:
    frame = session.query("SELECT INTERVAL '1 2:03:04' DAY TO SECOND AS i, id FROM s WHERE id = 1")
    assert [json.loads(line) for line in json_lines(frame, "UTC")] == [
        {"i": "INTERVAL '1 02:03:04' DAY TO SECOND", "id": 1}
    ]


PIPELINES = {
    "plain": "SELECT id, t, s->y AS sy, l[0]->x AS x0, m['k'] AS k, s, l, ts FROM s",
    "mixed": "SELECT id, upper(t) AS u, d, f, id + 1 AS n, day, bin FROM s WHERE id > 0",
    "star": "SELECT * EXCEPT (m) FROM s",
    "spark_filter": "SELECT t, id FROM s WHERE length(coalesce(t, '')) > 5",
    "left_join": "SELECT n.name, s.id, n.s, s.t FROM s LEFT JOIN names AS n ON s.id = n.id",
    "explode": "SELECT id, explode(l) AS item, t FROM s",
    "only_computed": "SELECT id + 1 AS n, concat(t, '!') AS c FROM s",
}
SINKS = {
    "lines": "format = 'json'",
    "sparse": "format = 'json', omit_null_columns = true",
    "arrays": "format = 'json', layout = 'array', batch_count = 2",
}
REWRITES = [
    f"narrows.rule.{snake_case(rule_name(rule))}" for rule in PHYSICAL_RULES
]  # each is one the output must not depend on


def test_output_bytes_do_not_depend_on_a_rewrite(session: narrows.Session, tmp_path: Path) -> None:
    """One pipeline into several sinks, with every physical rule on and off."""
    everything = "".join(f"SET {rule} = off;" for rule in REWRITES)
    outputs = {}
    for way, setting in (("on", ""), ("off", everything)):
        session.execute(setting)
        for name, sql in PIPELINES.items():
            sinks = []
            for sink, options in SINKS.items():
                sinks.append(f"{name}_{sink}_{way}")
                path = tmp_path / way / name / sink
                session.execute(
                    f"CREATE SINK {sinks[-1]} WITH (connector = 'file', path = '{path}', {options})"
                )
            session.execute(f"CREATE PIPELINE {name}_{way} INTO {', '.join(sinks)} AS {sql}")
        started = [f"{name}_{way}" for name in PIPELINES]
        for first in range(0, len(started), 2):  # all at once would be too much for two cores
            session.start(*started[first : first + 2], once=True).await_done(timeout=240)
        outputs[way] = written(tmp_path / way)
    assert outputs["on"].keys() == outputs["off"].keys()
    for place, data in outputs["on"].items():
        assert data == outputs["off"][place], place
    rows = [json.loads(line) for line in outputs["on"]["left_join/lines"].splitlines()]
    assert sorted(row["id"] for row in rows) == sorted(d["id"] for d in DOCUMENTS)
    assert {row["name"] for row in rows} == {"one", None}


def written(folder: Path) -> dict[str, bytes]:
    """What each sink of each pipeline holds; which task wrote a file first is chance."""
    found = {}
    for path in sorted(p for p in folder.glob("*/*") if p.is_dir()):
        files = sorted(file.read_bytes() for file in path.glob("[!.]*"))
        lines = b"".join(files)
        found[path.relative_to(folder).as_posix()] = (
            b"".join(files) if "arrays" in path.name else b"\n".join(sorted(lines.splitlines()))
        )
    return found


def test_formats_layouts_and_batches(session: narrows.Session, tmp_path: Path) -> None:
    session.execute(f"""
        CREATE SINK csv_out WITH (connector = 'file', path = '{tmp_path}/csv', format = 'csv',
                                  header = true);
        CREATE SINK parquet_out WITH (connector = 'file', path = '{tmp_path}/parquet',
                                      format = 'parquet', batch_count = 2, compression = 'snappy');
        CREATE SINK array_out WITH (connector = 'file', path = '{tmp_path}/array', layout = 'array',
                                    batch_count = 2);
        CREATE SINK text_out WITH (connector = 'file', path = '{tmp_path}/text', format = 'text',
                                   template = '{{id}} on {{day}}');
        CREATE SINK days WITH (connector = 'file', path = '{tmp_path}/days', partition_by = 'day');
        CREATE PIPELINE p INTO csv_out, parquet_out, array_out, text_out, days AS
        SELECT id, t, day FROM s;
    """)
    assert "sink `parquet_out` writes parquet" in str(session.catalog.plan_pipeline("p").notices)
    session.start("p", once=True).await_done(timeout=120)
    ids = sorted(document["id"] for document in DOCUMENTS)
    tables = [pq.read_table(path) for path in (tmp_path / "parquet").glob("*.parquet")]
    assert sorted(pa.concat_tables(tables).column("id").to_pylist()) == ids
    assert max(table.num_rows for table in tables) == 2
    arrays = [json.loads(path.read_text()) for path in (tmp_path / "array").glob("*.json")]
    assert sorted(row["id"] for rows in arrays for row in rows) == ids
    assert max(map(len, arrays)) == 2
    texts = [path.read_text() for path in (tmp_path / "csv").glob("*.csv")]
    assert all(text.startswith("id,t,day\n") for text in texts)
    assert "1,plain,2026-11-15\n" in "".join(texts)
    lines = "".join(path.read_text() for path in (tmp_path / "text").glob("*.text")).splitlines()
    assert sorted(int(line.partition(" on ")[0]) for line in lines) == ids
    assert "1 on 2026-11-15" in lines
    day = (tmp_path / "days" / "day=2026-11-15").iterdir()
    assert '{"id":1,"t":"plain"}' in "".join(path.read_text() for path in day).splitlines()
    found = "".join(path.read_text() for path in (tmp_path / "days").rglob("*.json"))
    assert sorted(json.loads(line)["id"] for line in found.splitlines()) == ids
