"""From text to statements and queries: what is read, and how the dialect settles its tokens."""

from __future__ import annotations

import pytest
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from narrows.errors import Code, NarrowsError
from narrows.sql.parser.dialect import MAX_NESTING, NarrowsDialect, tokenize
from narrows.sql.parser.expression import NarrowsParser
from narrows.sql.parser.script import parse, parse_query
from narrows.sql.parser.statements import (
    CreatePipeline,
    CreateSink,
    CreateSource,
    Describe,
    Drop,
    Explain,
    ExplainMode,
    ObjectKind,
    Select,
    Show,
    Start,
    Statement,
    Stop,
)


def _one(text: str) -> Statement:
    (statement,) = parse(text)
    return statement


def _problem(text: str) -> tuple[Code, str, str]:
    """The code, the message, and the text under the caret."""
    with pytest.raises(NarrowsError) as raised:
        parse(text)
    (problem,) = raised.value.problems
    span = problem.span
    return problem.code, problem.message, text[span.start : span.end] if span else ""


# --- statements -----------------------------------------------------------------------------------


def test_create_stream() -> None:
    statement = _one("create or replace Stream if not exists S (a INT, b STRING) with (x = 'y')")
    assert isinstance(statement, CreateSource)
    assert statement.name == "S"
    assert statement.kind is ObjectKind.STREAM
    assert statement.or_replace
    assert statement.if_not_exists
    assert statement.schema.names == ["a", "b"]
    assert statement.options["x"].value == "y"


def test_create_table() -> None:
    statement = _one("CREATE TABLE t (a INT)")
    assert isinstance(statement, CreateSource)
    assert statement.kind is ObjectKind.TABLE
    assert statement.options == {}


def test_create_sink() -> None:
    statement = _one(
        "CREATE SINK o WITH (a = 'x', b = 1, c = -2, d = 1.5, e = true, f.g.h = FALSE)"
    )
    assert isinstance(statement, CreateSink)
    values = {key: option.value for key, option in statement.options.items()}
    assert values == {"a": "x", "b": 1, "c": -2, "d": 1.5, "e": True, "f.g.h": False}


def test_create_pipeline() -> None:
    text = "CREATE PIPELINE p INTO a, `b c` AS\n  SELECT x FROM s  -- the end\n;"
    statement = _one(text)
    assert isinstance(statement, CreatePipeline)
    assert [name for name, _ in statement.sinks] == ["a", "b c"]
    assert statement.query.sql == "SELECT x FROM s"
    assert statement.query.text == text


@pytest.mark.parametrize("kind", list(ObjectKind))
def test_drop_show_describe(kind: ObjectKind) -> None:
    word = kind.value
    drop, show, describe = parse(f"DROP {word} IF EXISTS x; SHOW {word}s; DESCRIBE {word} x")
    assert isinstance(drop, Drop)
    assert (drop.kind, drop.name, drop.if_exists) == (kind, "x", True)
    assert isinstance(show, Show)
    assert show.kind is kind
    assert isinstance(describe, Describe)
    assert (describe.kind, describe.name) == (kind, "x")


def test_describe_anything() -> None:
    for text in ("DESCRIBE x", "DESC x"):
        statement = _one(text)
        assert isinstance(statement, Describe)
        assert (statement.kind, statement.name) == (None, "x")


@pytest.mark.parametrize("mode", list(ExplainMode))
def test_explain(mode: ExplainMode) -> None:
    word = "" if mode is ExplainMode.DEFAULT else mode.value
    for text in (f"EXPLAIN {word} SELECT a FROM s", f"explain {word.upper()} from s select a"):
        statement = _one(text)
        assert isinstance(statement, Explain)
        assert statement.mode is mode
        assert statement.query is not None


def test_explain_something_else() -> None:
    pipeline, shared = parse("EXPLAIN VERBOSE PIPELINE p; EXPLAIN SHARED STREAM s")
    assert isinstance(pipeline, Explain)
    assert isinstance(shared, Explain)
    assert pipeline.pipeline is not None
    assert pipeline.pipeline[0] == "p"
    assert shared.shared_stream is not None
    assert shared.shared_stream[0] == "s"


def test_start_and_stop() -> None:
    start, stop = parse("START PIPELINE a; STOP PIPELINES a, b")
    assert isinstance(start, Start)
    assert [name for name, _ in start.pipelines] == ["a"]
    assert isinstance(stop, Stop)
    assert [name for name, _ in stop.pipelines] == ["a", "b"]


def test_several_statements() -> None:
    statements = parse(";; SELECT 1 FROM s; -- ; not this one\nSHOW SINKS;/* nor ; this */;")
    assert [type(statement) for statement in statements] == [Select, Show]


def test_a_semicolon_in_a_string_or_name_ends_nothing() -> None:
    assert len(parse("SELECT ';', `;`, \";\" FROM s")) == 1


@pytest.mark.parametrize(
    ("text", "message", "under"),
    [
        ("CREATE STREAM 1.5 (a INT)", "expected a stream name, found `1.5`", "1.5"),
        ("CREATE STREAM s a INT", "expected `(`, found `a`", "a"),
        ("CREATE STREAM s (a INT", "`(` is not closed", "("),
        ("CREATE SINK s WITH (x 1)", "expected `=`, found `1`", "1"),
        ("CREATE SINK s WITH (x = 1", "`(` is not closed", "("),
        ("CREATE SINK s WITH (x = y)", "expected a value, found `y`", "y"),
        ("CREATE PIPELINE p AS SELECT 1", "expected `INTO`, found `AS`", "AS"),
        ("CREATE PIPELINE p INTO s AS DROP x", "expected a query, found `DROP`", "DROP"),
        (
            "SHOW STREAM",
            "expected one of STREAMS, TABLES, VIEWS, FUNCTIONS, SINKS, PIPELINES, found `STREAM`",
            "STREAM",
        ),
        ("SHOW SINKS please", "unexpected `please` after the statement", "please"),
        ("SELEKT 1", "`SELEKT` is not a statement", "SELEKT"),
        ("SELECT a FROM s WHERE a >", None, ""),
        ("SELECT a b c FROM s", "unexpected `c`", "c"),
    ],
)
def test_syntax_errors_point_at_their_place(text: str, message: str | None, under: str) -> None:
    code, told, shown = _problem(text)
    assert code is Code.SYNTAX_ERROR
    assert message is None or told == message
    assert not under or shown == under


def test_the_place_of_a_syntax_error_on_a_later_line() -> None:
    with pytest.raises(NarrowsError) as raised:
        parse("SHOW SINKS;\n\nSELECT a\nFROM s s2 s3")
    assert "4 | FROM s s2 s3\n  |           ^^" in str(raised.value)


def test_a_query_must_be_single() -> None:
    for text in ("", "SELECT 1 FROM s; SELECT 2 FROM s", "SHOW SINKS"):
        with pytest.raises(NarrowsError) as raised:
            parse_query(text)
        assert raised.value.code is Code.SYNTAX_ERROR
    assert parse_query("SELECT 1 FROM s;").sql == "SELECT 1 FROM s"


# --- arrows ---------------------------------------------------------------------------------------


def _select(text: str) -> exp.Expr:
    tree = parse_query(f"SELECT {text} FROM s").tree
    assert isinstance(tree, exp.Select)
    (item,) = tree.expressions
    assert isinstance(item, exp.Expr)
    return item


@pytest.mark.parametrize(
    "text",
    [
        *("b->c", "upper(b->c)", "coalesce(b->c, d->e)", "b->items[0]->x", "(b->c)->d"),
        *(
            "f(g(b->c))",
            "transform(b->items, 1)",
            "exists(b->c, 1)",
            "b->c > 1",
            "a IN (b->c, d->e)",
        ),
        "count(*) FILTER (WHERE b->c > 1)",
    ],
)
def test_an_arrow_is_field_access(text: str) -> None:
    assert list(_select(text).find_all(exp.Lambda)) == []


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("transform(items, x -> x->c)", [["x"]]),
        ("transform(b->items, x -> x.c)", [["x"]]),
        ("TRANSFORM(items, (x) -> x->c)", [["x"]]),
        ("transform(items, (x, i) -> x->c + i)", [["x", "i"]]),
        ("filter(items, `odd name` -> `odd name`->c > 1)", [["odd name"]]),
        ("aggregate(items, 0, (acc, x) -> acc + x->c, acc -> acc->d)", [["acc", "x"], ["acc"]]),
        ("zip_with(a->b, c->d, (x, y) -> x->e + y->f)", [["x", "y"]]),
        ("transform(m, l -> transform(l, e -> e->x))", [["l"], ["e"]]),
        ("transform(filter(items, x -> x->c > 1), y -> y->d)", [["y"], ["x"]]),
        ("array_sort(items, (l, r) -> l->c - r->c)", [["l", "r"]]),
        ("map_filter(m, (k, v) -> v->x > 1)", [["k", "v"]]),
    ],
)
def test_an_arrow_is_a_lambda_where_the_function_takes_one(
    text: str, parameters: list[list[str]]
) -> None:
    lambdas = list(_select(text).find_all(exp.Lambda, bfs=False))
    found = [[name.name for name in each.expressions] for each in lambdas]
    assert sorted(found) == sorted(parameters)


def test_arrows_keep_their_place() -> None:
    text = "SELECT b->c FROM s"
    arrow = tokenize(text)[2]
    assert arrow.token_type is TokenType.DOT
    assert text[arrow.start : arrow.end + 1] == "->"


# --- windows, depth -------------------------------------------------------------------------------


def test_window_is_a_function_before_a_parenthesis() -> None:
    tree = parse_query("SELECT 1 FROM s GROUP BY window(ts, '1 minute'), a").tree
    group = tree.args["group"]
    assert [type(key) for key in group.expressions] == [exp.Anonymous, exp.Column]


def test_a_column_called_window() -> None:
    assert isinstance(_select("window"), exp.Column)


def test_calls_are_left_as_they_were_written() -> None:
    for name in ("upper", "NVL", "date_add", "to_date", "collect_list", "my_udf", "unix_timestamp"):
        call = _select(f"{name}(a, b)")
        assert isinstance(call, exp.Anonymous)
        assert call.name == name


def test_brackets_may_nest_as_deep_as_allowed() -> None:
    inner = MAX_NESTING
    assert parse_query(f"SELECT {'(' * inner}a{')' * inner} FROM s")
    with pytest.raises(NarrowsError) as raised:
        parse_query(f"SELECT {'(' * (inner + 1)}a{')' * (inner + 1)} FROM s")
    assert raised.value.code is Code.NESTED_TOO_DEEPLY


def test_a_word_before_a_comma_is_read_as_the_whole_ladder_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = [word for word in NarrowsDialect.Tokenizer.KEYWORDS if word.isidentifier()]
    assert len(words) > 200
    words += ["a", "A1", "`a b`", "user", "localtimestamp", "a.b", "/* c */ a", "a -- c\n"]
    texts = [f"SELECT {word}, {word}, 1 FROM t" for word in words]
    read = [_items(text) for text in texts]
    monkeypatch.delattr(NarrowsParser, "_parse_expression")
    for text, found in zip(texts, read, strict=True):
        assert found == _items(text), text


def _items(text: str) -> object:
    """The trees of the select list with where their parts stand, or what is wrong with it."""
    try:
        items = parse_query(text).tree.expressions
    except NarrowsError as error:
        return str(error)
    return items, [(part.meta, part.comments) for item in items for part in item.walk()]
