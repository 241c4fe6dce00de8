"""CREATE, DROP, SHOW, DESCRIBE; names and options."""

from __future__ import annotations

from pathlib import Path

import pytest

import narrows
from narrows.catalog.describe import ResultTable
from narrows.catalog.objects import Source
from narrows.errors import Code, NarrowsError
from narrows.plugins.options import parse_duration
from narrows.plugins.registry import CONNECTORS
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
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
)
from narrows.sql.parser.types import read_schema
from narrows.sql.scope import Name

FILE = "WITH (connector = 'file', path = 'p')"


@pytest.fixture
def catalog() -> narrows.Catalog:
    catalog = narrows.Catalog()
    catalog.execute(f"""
        CREATE STREAM s (a BIGINT, b STRUCT<c: BIGINT, d: STRING>) {FILE};
        CREATE TABLE t (id BIGINT) {FILE};
        CREATE SINK o WITH (connector = 'console');
        CREATE PIPELINE p INTO o AS SELECT a FROM s;
    """)
    return catalog


def _schema(catalog: narrows.Catalog, name: str) -> Struct:
    return catalog.find_source(Name(name, None)).schema


def _code(catalog: narrows.Catalog, sql: str) -> Code:
    with pytest.raises(NarrowsError) as raised:
        catalog.execute(sql)
    return raised.value.code


def _rows(catalog: narrows.Catalog, sql: str) -> tuple[tuple[str, ...], ...]:
    (answer,) = catalog.execute(sql)
    assert isinstance(answer, ResultTable)
    assert all(len(row) == len(answer.columns) for row in answer.rows)
    return answer.rows


def _described(catalog: narrows.Catalog, sql: str) -> dict[str, str]:
    return {row[0]: row[1] for row in _rows(catalog, sql)}


# --- types ----------------------------------------------------------------------------------------

TYPES: list[tuple[str, DataType]] = [
    ("BOOLEAN", BOOLEAN),
    ("TINYINT", TINYINT),
    ("byte", TINYINT),
    ("SMALLINT", SMALLINT),
    ("INT", INT),
    ("integer", INT),
    ("BIGINT", BIGINT),
    ("Long", BIGINT),
    ("FLOAT", FLOAT),
    ("DOUBLE", DOUBLE),
    ("DECIMAL", Decimal(10, 0)),
    ("DECIMAL(12)", Decimal(12, 0)),
    ("numeric(12, 3)", Decimal(12, 3)),
    ("STRING", STRING),
    ("VARCHAR(20)", STRING),
    ("BINARY", BINARY),
    ("DATE", DATE),
    ("TIMESTAMP", TIMESTAMP),
    ("ARRAY<INT>", Array(INT)),
    ("MAP<STRING, DOUBLE>", Map(STRING, DOUBLE)),
    ("STRUCT<x: INT, y STRING>", Struct((Field("x", INT), Field("y", STRING)))),
    ("ARRAY<ARRAY<ARRAY<INT>>>", Array(Array(Array(INT)))),
    (
        "MAP<STRING, ARRAY<STRUCT<x: MAP<INT, DECIMAL(3, 1)>>>>",
        Map(STRING, Array(Struct((Field("x", Map(INT, Decimal(3, 1))),)))),
    ),
]


@pytest.mark.parametrize(("text", "expected"), TYPES, ids=[text for text, _ in TYPES])
def test_types(text: str, expected: DataType) -> None:
    catalog = narrows.Catalog()
    catalog.execute(f"CREATE STREAM s (a {text}, z INT) {FILE}")
    assert _schema(catalog, "s").fields[0] == Field("a", expected)


@pytest.mark.parametrize(("text", "dtype"), TYPES, ids=[text for text, _ in TYPES])
def test_a_type_is_read_back_from_its_text(text: str, dtype: DataType) -> None:
    assert read_schema(f"a {dtype.sql()}").fields[0].type == dtype


def test_a_struct_without_fields() -> None:
    assert read_schema("a STRUCT<>").fields[0].type == Struct(())


def test_a_schema_as_text() -> None:
    schema = read_schema("a BIGINT, `odd name` STRING, b: INT")
    assert schema.names == ["a", "odd name", "b"]
    with pytest.raises(NarrowsError, match="after the column list"):
        read_schema("a BIGINT more")


# --- CREATE ---------------------------------------------------------------------------------------


def test_create_or_replace(catalog: narrows.Catalog) -> None:
    assert _code(catalog, f"CREATE STREAM s (z INT) {FILE}") is Code.DUPLICATE_OBJECT
    catalog.execute(f"CREATE OR REPLACE STREAM S (a BIGINT, z INT) {FILE}")
    assert _schema(catalog, "s").names == ["a", "z"]


def test_create_if_not_exists(catalog: narrows.Catalog) -> None:
    catalog.execute(f"CREATE STREAM IF NOT EXISTS S (z INT) {FILE}")
    assert _schema(catalog, "s").names == ["a", "b"]
    catalog.execute(f"CREATE STREAM IF NOT EXISTS fresh (z INT) {FILE}")
    assert _schema(catalog, "fresh").names == ["z"]


def test_what_uses_an_object_must_survive_its_replacement(catalog: narrows.Catalog) -> None:
    assert _code(catalog, f"CREATE OR REPLACE STREAM s (z INT) {FILE}") is Code.OBJECT_IN_USE
    assert _schema(catalog, "s").names == ["a", "b"], "the old definition stays"
    catalog.execute("CREATE OR REPLACE SINK o WITH (connector = 'memory')")
    assert catalog.sink("o").connector == "memory"


def test_a_pipeline_is_planned_when_it_is_created(catalog: narrows.Catalog) -> None:
    assert _code(catalog, "CREATE PIPELINE q INTO o AS SELECT zz FROM s") is Code.UNKNOWN_COLUMN
    assert [pipeline.name for pipeline in catalog.pipelines] == ["p"]
    catalog.execute("CREATE OR REPLACE PIPELINE p INTO o AS SELECT b->c FROM s")
    assert "schema=[b{c}]" in catalog.plan_pipeline("P").explain("logical")


def test_statements_before_a_faulty_one_are_done(catalog: narrows.Catalog) -> None:
    sql = f"CREATE STREAM first (a INT) {FILE}; CREATE STREAM second (a INT) WITH (x = 1)"
    assert _code(catalog, sql) is Code.UNKNOWN_CONNECTOR
    assert _schema(catalog, "first").names == ["a"]


def test_a_syntax_error_anywhere_stops_everything(catalog: narrows.Catalog) -> None:
    sql = f"CREATE STREAM first (a INT) {FILE}; CREATE STREAM (a INT)"
    assert _code(catalog, sql) is Code.SYNTAX_ERROR
    with pytest.raises(NarrowsError, match="no stream or table is called `first`"):
        _schema(catalog, "first")


# --- DROP -----------------------------------------------------------------------------------------


def test_drop(catalog: narrows.Catalog) -> None:
    assert _code(catalog, "DROP STREAM s") is Code.OBJECT_IN_USE
    assert _code(catalog, "DROP SINK o") is Code.OBJECT_IN_USE
    catalog.execute("DROP PIPELINE P; DROP SINK O; DROP STREAM S; DROP TABLE T")
    assert catalog.summary() == "nothing declared"


def test_drop_if_exists(catalog: narrows.Catalog) -> None:
    assert _code(catalog, "DROP STREAM none") is Code.UNKNOWN_OBJECT
    catalog.execute("DROP STREAM IF EXISTS none; DROP SINK IF EXISTS none")
    catalog.execute("DROP TABLE IF EXISTS s")
    assert _schema(catalog, "s").names == ["a", "b"], "a stream is no table"


def test_drop_with_a_using_name_in_another_case(catalog: narrows.Catalog) -> None:
    catalog.execute("CREATE PIPELINE q INTO O AS SELECT id FROM T x")
    assert _code(catalog, "DROP TABLE t") is Code.OBJECT_IN_USE


def test_a_sink_that_was_replaced_under_another_spelling_is_still_used(
    catalog: narrows.Catalog,
) -> None:
    catalog.execute("CREATE OR REPLACE SINK O WITH (connector = 'memory')")
    assert _code(catalog, "DROP SINK o") is Code.OBJECT_IN_USE


# --- SHOW and DESCRIBE ----------------------------------------------------------------------------


def test_show(catalog: narrows.Catalog) -> None:
    catalog.execute(
        "CREATE STREAM other (x INT) WITH (connector = 'file', path = 'p', shared = true)"
    )
    assert _rows(catalog, "SHOW STREAMS") == (
        ("other", "file", "json", "1", "true"),
        ("s", "file", "json", "2", "false"),
    )
    assert _rows(catalog, "SHOW TABLES") == (("t", "file", "json", "1", "false"),)
    assert _rows(catalog, "SHOW SINKS") == (("o", "console", "none"),)
    assert _rows(catalog, "show pipelines") == (("p", "o", "SELECT a FROM s"),)


def test_show_nothing() -> None:
    catalog = narrows.Catalog()
    for kind in ("STREAMS", "TABLES", "SINKS", "PIPELINES"):
        assert _rows(catalog, f"SHOW {kind}") == ()


def test_describe(catalog: narrows.Catalog) -> None:
    rows = _described(catalog, "DESCRIBE STREAM S")
    assert rows["a"] == "BIGINT"
    assert rows["b"] == "STRUCT<c: BIGINT, d: STRING>"
    assert rows["WITH path"] == "p"
    assert rows["WITH shared"] == "false"
    assert _rows(catalog, "DESC s") == _rows(catalog, "DESCRIBE STREAM s")
    assert _described(catalog, "DESCRIBE PIPELINE p")["query"] == "SELECT a FROM s"
    assert _described(catalog, "DESCRIBE o")["WITH connector"] == "console"


def test_the_answers_of_a_script_stand_in_order(catalog: narrows.Catalog) -> None:
    answers = catalog.execute("SHOW SINKS; DROP PIPELINE p; EXPLAIN SELECT a FROM s;; SHOW TABLES")
    assert [type(answer) for answer in answers] == [ResultTable, type(None), str, ResultTable]


def test_explain_statements(catalog: narrows.Catalog) -> None:
    by_name, by_query, physical = catalog.execute(
        "EXPLAIN LOGICAL PIPELINE P; EXPLAIN LOGICAL SELECT a FROM s; EXPLAIN PHYSICAL PIPELINE p"
    )
    assert isinstance(by_name, str)
    assert isinstance(by_query, str)
    assert isinstance(physical, str)
    assert "DataSink" in by_name
    assert "DataSink" not in by_query
    assert physical.startswith("Physical Plan")


# --- names ----------------------------------------------------------------------------------------

NAMES = (
    *("a", "A1", "_x", "__operand_0__", "__operand_1__", "col_1", "window_start", "window_end"),
    *("select", "from", "order", "group", "by", "case", "end", "stream", "struct", "array", "map"),
    *(
        "list",
        "value",
        "key",
        "date",
        "timestamp",
        "interval",
        "table",
        "true",
        "null",
        "current_date",
    ),
    *(
        "odd name",
        "dot.ted",
        "back`tick",
        "dash-ed",
        "1st",
        "été",
        "日本",
        "a->b",
        "[0]",
        "*",
        "'q'",
    ),
)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


@pytest.mark.parametrize("name", NAMES)
def test_any_name_may_be_quoted(name: str) -> None:
    """As a stream's, a column's, a field's name and as an alias."""
    catalog = narrows.Catalog()
    q = _quoted(name)
    catalog.execute(f"CREATE STREAM {q} ({q} STRUCT<{q}: INT, other: INT>) {FILE}")
    for sql in (
        f"SELECT {q}.{q}.{q} FROM {q}",
        f"SELECT {q}->{q} AS {q} FROM {q} AS x WHERE {q}->{q} > 1",
        f"SELECT x.{q}.{q} AS {q} FROM {q} AS x ORDER BY {q}",
    ):
        plan = narrows.plan(sql, catalog)
        assert [column.name for column in plan.logical.outputs] == [name]
        assert "decodes=1 of 2 leaves" in plan.explain("logical")
    assert _schema(catalog, name).names == [name]


BARE = (
    *("a", "A1", "_x", "__operand_0__", "col_1", "window_start", "list", "value", "key", "date"),
    *("stream", "source", "sink", "pipeline", "shared", "path", "connector", "format", "options"),
)


@pytest.mark.parametrize("name", BARE)
def test_words_that_are_no_keywords_need_no_quotes(name: str) -> None:
    catalog = narrows.Catalog()
    catalog.execute(f"CREATE STREAM s ({name} INT, other INT) {FILE}")
    for written in (name, name.upper(), f"s.{name}", f"S.{name.capitalize()}"):
        plan = narrows.plan(f"SELECT {written} FROM s", catalog)
        assert "decodes=1 of 2 leaves" in plan.explain("logical")


def test_keywords_as_names_in_ddl() -> None:
    """A column list knows where a name stands, so that keywords need no quotes in it."""
    catalog = narrows.Catalog()
    catalog.execute(f"CREATE STREAM s (select INT, from STRUCT<order: INT, group: INT>) {FILE}")
    plan = narrows.plan("SELECT `select`, `from`.`order` FROM s", catalog)
    assert "schema=[select, from{order}]" in plan.explain("logical")


def test_names_that_differ_by_case_only() -> None:
    catalog = narrows.Catalog()
    catalog.execute(f"CREATE STREAM s (a INT, A INT, b STRUCT<x: INT, X: INT>, c INT) {FILE}")
    for name, schema in (("a", "[a]"), ("A", "[A]"), ("C", "[c]"), ("b.x", "[b{x}]")):
        plan = narrows.plan(f"SELECT {name} FROM s", catalog)
        assert f"schema={schema}" in plan.explain("logical")


def test_neither_of_two_that_differ_by_case() -> None:
    catalog = narrows.Catalog()
    catalog.execute(f"CREATE STREAM s (Abc INT, aBc INT, b STRUCT<Xyz: INT, xYz: INT>) {FILE}")
    for name in ("abc", "s.ABC", "b.xyz"):
        with pytest.raises(NarrowsError) as raised:
            narrows.plan(f"SELECT {name} FROM s", catalog)
        assert raised.value.code is Code.AMBIGUOUS_COLUMN


def test_names_of_objects_have_no_case(catalog: narrows.Catalog) -> None:
    for name in ("s", "S", "`S`"):
        assert narrows.plan(f"SELECT a FROM {name}", catalog)
        assert narrows.plan(f"SELECT {name}.a FROM {name}", catalog)


def test_a_sink_and_a_stream_may_share_a_name(catalog: narrows.Catalog) -> None:
    catalog.execute("CREATE SINK s WITH (connector = 'console')")
    catalog.execute("CREATE PIPELINE q INTO s AS SELECT a FROM s")
    catalog.execute("DROP PIPELINE q; DROP SINK s")
    assert _schema(catalog, "s").names == ["a", "b"]


# --- options --------------------------------------------------------------------------------------


def _problems(options: str, kind: str = "STREAM s (a INT, ts TIMESTAMP)") -> list[str]:
    with pytest.raises(NarrowsError) as raised:
        narrows.Catalog().execute(f"CREATE {kind} WITH ({options})")
    return [f"{p.code}: {p.hint}" for p in raised.value.problems]


READ = [connector.name for connector in CONNECTORS.usable(sink=False)]


@pytest.mark.parametrize(
    ("options", "problems"),
    [
        ("path = 'p'", [f"unknown_connector: add `connector = '...'`, one of {', '.join(READ)}"]),
        ("connector = 'flie', path = 'p'", ["unknown_connector: did you mean `file`?"]),
        ("connector = 'file', pth = 'p'", None),
        (
            "connector = 'file', path = 'p', fromat = 'json'",
            ["unknown_option: did you mean `format`?"],
        ),
        (
            "connector = 'file', path = 'p', watermrk = '1 s', evnttime = 'ts'",
            [
                "unknown_option: did you mean `watermark`?",
                "unknown_option: did you mean `eventtime`?",
            ],
        ),
        ("connector = 'file', path = 1", ["invalid_option: None"]),
        (
            "connector = 'file', path = 'p', format = 'jsn'",
            ["unknown_format: did you mean `json`?"],
        ),
        (
            "connector = 'file', path = 'p', eventtime = 'tss'",
            ["invalid_option: did you mean `ts`?"],
        ),
        (
            "connector = 'file', path = 'p', on_error = 'drp'",
            ["invalid_option: did you mean `drop`?"],
        ),
    ],
)
def test_options_are_checked(options: str, problems: list[str] | None) -> None:
    found = _problems(options)
    if problems is None:
        assert found[0] == "unknown_option: did you mean `path`?"
        assert len(found) == 2, "the option that is missing is told as well"
    else:
        assert found == problems


def test_options_have_no_case_and_values_have() -> None:
    catalog = narrows.Catalog()
    catalog.execute(
        "CREATE STREAM s (a INT, Ts TIMESTAMP)"
        " WITH (CONNECTOR = 'file', Path = 'A/b', Shared = TRUE, eventtime = 'TS')"
    )
    source = catalog.find_source(Name("s", None))
    assert source.options["path"] == "A/b"
    assert source.shared
    assert source.eventtime == "Ts", "the column's own spelling"


def test_strings_side_by_side_are_one() -> None:
    catalog = narrows.Catalog()
    catalog.execute("CREATE STREAM s (a INT) WITH (connector = 'fi' 'le', path = 'a' 'b' 'c')")
    assert catalog.find_source(Name("s", None)).options["path"] == "abc"


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("500 ms", 500),
        ("5 seconds", 5_000),
        ("1 second", 1_000),
        ("2MIN", 120_000),
        (" 3 hours ", 10_800_000),
        ("1 d", 86_400_000),
        ("soon", None),
        ("5", None),
        ("5 parsecs", None),
        ("-1 s", None),
        ("", None),
    ],
)
def test_durations(text: str, milliseconds: int | None) -> None:
    assert parse_duration(text) == milliseconds


# --- files ----------------------------------------------------------------------------------------


def test_load(tmp_path: Path) -> None:
    file = tmp_path / "catalog.sql"
    file.write_text(f"\ufeff-- a comment\nCREATE STREAM s (a INT) {FILE};\n", "utf-8")
    catalog = narrows.Catalog()
    catalog.load(file)
    assert catalog.summary() == "1 stream"


def test_an_error_in_a_file_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "catalog.sql"
    file.write_text(
        f"CREATE STREAM s (a INT) {FILE};\n\nCREATE STREAM t (a IMT) {FILE};\n", "utf-8"
    )
    with pytest.raises(NarrowsError) as raised:
        narrows.Catalog().load(str(file))
    assert f"--> {file}:3:20" in str(raised.value)


def test_an_error_in_a_pipeline_of_a_file_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "catalog.sql"
    file.write_text(
        f"CREATE STREAM s (a INT) {FILE};\nCREATE SINK o WITH (connector = 'console');\n"
        "CREATE PIPELINE p INTO o AS\n  SELECT a,\n         zz\n  FROM s;\n",
        "utf-8",
    )
    with pytest.raises(NarrowsError) as raised:
        narrows.Catalog().load(file)
    assert "5 |          zz" in str(raised.value)
    assert "5:10" in str(raised.value)
    assert str(file) in str(raised.value)


def test_a_data_frame_needs_a_name_too(catalog: narrows.Catalog) -> None:
    with pytest.raises(NarrowsError) as caught:
        catalog.add_source(Source(name="", schema=read_schema("a INT"), bounded=True))
    assert caught.value.code == Code.INVALID_NAME
