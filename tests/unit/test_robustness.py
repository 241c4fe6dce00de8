"""Whatever the text: an error that a user can read, or a plan. Never anything else.

What is written down here says which of the two, and which error. Of texts that are made up by
chance, at the end, nobody knows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import narrows
from narrows.errors import Code, NarrowsError
from support.golden import CATALOG, all_blocks, golden_catalog

MEGABYTE = 1_000_000


@cache
def _catalog() -> narrows.Catalog:
    return golden_catalog()


def _plan(sql: str) -> NarrowsError | narrows.Plan:
    """The plan, explained in every format, or the error, rendered."""
    try:
        plan = narrows.plan(sql, _catalog())
        texts = [plan.explain(format=kind) for kind in ("text", "json", "mermaid")]
    except NarrowsError as error:
        return _rendered(error)
    assert all(texts)
    return plan


PLANS = "plans"
ACCEPTED = "accepted"


def _outcome(sql: str) -> str:
    """`PLANS`, or the code of the first error of a query."""
    result = _plan(sql)
    return result.code if isinstance(result, NarrowsError) else PLANS


def _outcome_of_statement(sql: str) -> str:
    error = _execute(sql)
    return ACCEPTED if error is None else error.code


def _execute(sql: str) -> NarrowsError | None:
    try:
        narrows.Catalog().execute(sql, "some.sql")
    except NarrowsError as error:
        return _rendered(error)
    return None


def _rendered(error: NarrowsError) -> NarrowsError:
    assert str(error).startswith("error[")
    return error


@pytest.fixture(autouse=True)
def _recursion_limit_is_kept() -> Iterator[None]:
    before = sys.getrecursionlimit()
    yield
    assert sys.getrecursionlimit() == before


# --- nothing, and next to nothing -----------------------------------------------------------------

EMPTY = [
    "",
    " ",
    "\n\n\t",
    ";",
    ";;;\n;",
    "-- only a comment",
    "/* one */ -- two\n/* three */",
    "\ufeff",
]


@pytest.mark.parametrize("text", EMPTY)
def test_a_text_without_statements_does_nothing(text: str, tmp_path: Path) -> None:
    file = tmp_path / "empty.sql"
    file.write_text(text, "utf-8")
    assert narrows.Catalog().load(file) == []


@pytest.mark.parametrize("text", EMPTY)
def test_a_text_without_a_query_is_refused(text: str) -> None:
    assert _outcome(text) == Code.SYNTAX_ERROR


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"SELECT \xe4", bytes(range(256))])
def test_a_file_that_is_no_text(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "binary.sql"
    file.write_bytes(content)
    with pytest.raises(NarrowsError, match="cannot read") as raised:
        narrows.Catalog().load(file)
    assert raised.value.code is Code.UNREADABLE_FILE


def test_a_file_that_is_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.sql"):
        with pytest.raises(NarrowsError, match="cannot read") as raised:
            narrows.Catalog().load(path)
        assert raised.value.code is Code.UNREADABLE_FILE


# --- malformed statements -------------------------------------------------------------------------

MALFORMED = [
    "CREATE",
    "CREATE STREAM",
    "CREATE STREAM s",
    "CREATE STREAM s (",
    "CREATE STREAM s ()",
    "CREATE STREAM s (,)",
    "CREATE STREAM s (a)",
    "CREATE STREAM s (a INT,)",
    "CREATE STREAM s (a INT b INT)",
    "CREATE STREAM s (a INT) WITH",
    "CREATE STREAM s (a INT) WITH (",
    "CREATE STREAM s (a INT) WITH (=)",
    "CREATE STREAM s (a INT) WITH (connector)",
    "CREATE STREAM s (a INT) WITH (connector =)",
    "CREATE STREAM s (a INT) WITH (connector = 'file' path = 'p')",
    "CREATE STREAM s (a INT) WITH (connector = 'file',)",
    "CREATE STREAM s (a INT) WITH ('connector' = 'file', 'path' = 'p')",
    "CREATE STREAM s (a INT) WITH (connector = 'file', path = NULL)",
    "CREATE STREAM s (a INT) WITH (connector = 'file', path = -)",
    "CREATE STREAM s (a INT) WITH (connector = 'file', path = 1 + 1)",
    "CREATE STREAM s (a INT) WITH (connector = 'file', path = 'p') AND MORE",
    "CREATE STREAM s (a ARRAY)",
    "CREATE STREAM s (a ARRAY<>)",
    "CREATE STREAM s (a ARRAY<INT)",
    "CREATE STREAM s (a ARRAY<INT>>)",
    "CREATE STREAM s (a MAP<INT>)",
    "CREATE STREAM s (a MAP<INT, >)",
    "CREATE STREAM s (a STRUCT<b>)",
    "CREATE STREAM s (a STRUCT<b: >)",
    "CREATE STREAM s (a STRUCT<: INT>)",
    "CREATE STREAM s (a DECIMAL())",
    "CREATE STREAM s (a DECIMAL(x))",
    "CREATE STREAM s (a VARCHAR(x))",
    "CREATE STREAM s (1 INT)",
    "CREATE STREAM s ('a' INT)",
    "CREATE STREAM 's' (a INT)",
    "CREATE STREAM 1.5 (a INT)",
    "CREATE STREAM a.b (a INT)",
    "CREATE OR STREAM s (a INT)",
    "CREATE STREAM IF EXISTS s (a INT)",
    "CREATE STREAM s (a INT) AS SELECT 1",
    "CREATE TABLE t AS SELECT 1",
    "CREATE SINK",
    "CREATE SINK s (a INT) WITH (connector = 'console')",
    "CREATE PIPELINE p",
    "CREATE PIPELINE p AS SELECT 1",
    "CREATE PIPELINE p INTO AS SELECT 1",
    "CREATE PIPELINE p INTO s, AS SELECT 1",
    "CREATE PIPELINE p INTO s SELECT 1",
    "CREATE PIPELINE p INTO s AS",
    "CREATE PIPELINE p INTO s AS DROP STREAM s",
    "DROP",
    "DROP STREAM",
    "DROP s",
    "DROP STREAM IF s",
    "SHOW",
    "SHOW STREAM",
    "SHOW EVERYTHING",
    "DESCRIBE",
    "DESCRIBE STREAM",
    "DESCRIBE STREAM a b",
    "EXPLAIN",
    "EXPLAIN EXPLAIN SELECT 1",
    "EXPLAIN LOGICAL PHYSICAL SELECT 1",
    "EXPLAIN PIPELINE",
    "EXPLAIN SHARED",
    "START",
    "START p",
    "STOP PIPELINE",
    "INSERT INTO s VALUES (1)",
    "UPDATE s SET a = 1",
    "GRANT ALL ON s TO me",
    "hello world",
    "42",
    "'text'",
    "(",
    ")",
    "((SELECT 1)",
    "SELECT FROM",
    "SELECT FROM WHERE",
    "SELECT , FROM s",
    "SELECT * FROM",
    "SELECT * FROM s WHERE",
    "SELECT * FROM s ORDER BY",
    "SELECT * FROM s LIMIT",
    "SELECT a b c d FROM s",
    "SELECT a AS FROM s",
    "SELECT a[] FROM s",
    "SELECT a[ FROM s",
    "SELECT ->a FROM s",
    "SELECT a..b FROM s",
    "SELECT f( FROM s",
    "SELECT f(,) FROM s",
    "SELECT CASE FROM s",
    "SELECT CASE END FROM s",
    "SELECT CASE WHEN a FROM s",
    "SELECT CAST(a) FROM s",
    "SELECT CAST(a AS) FROM s",
    "SELECT a BETWEEN 1 FROM s",
    "SELECT 1 FROM s JOIN",
    "SELECT 1 FROM s LATERAL VIEW",
    "SELECT 1 FROM s UNION",
    "WITH x AS SELECT 1",
    "VALUES",
    "FROM",
]


@pytest.mark.parametrize("sql", MALFORMED)
def test_malformed_statements_are_refused(sql: str) -> None:
    assert _outcome_of_statement(sql) == Code.SYNTAX_ERROR


@pytest.mark.parametrize("sql", MALFORMED)
def test_malformed_statements_are_no_queries(sql: str) -> None:
    assert _outcome(sql) == Code.SYNTAX_ERROR


@pytest.mark.parametrize(
    ("sql", "outcome"),
    [
        ("CREATE STREAM s (a INT) WITH ()", Code.UNKNOWN_CONNECTOR),
        ("CREATE STREAM s (a DECIMAL(10, 20))", Code.UNKNOWN_TYPE),
        ("CREATE STREAM s (a DECIMAL(0))", Code.UNKNOWN_TYPE),
        # A catalog runs no queries, right or wrong.
        ("SELECT", Code.NOT_SUPPORTED),
        ("SELECT a FROM s", Code.NOT_SUPPORTED),
    ],
)
def test_statements_that_make_no_sense(sql: str, outcome: str) -> None:
    assert _outcome_of_statement(sql) == outcome


@pytest.mark.parametrize(
    ("sql", "outcome"),
    [
        ("SELECT", Code.SYNTAX_ERROR),
        ("SELECT a FROM s", Code.UNKNOWN_SOURCE),
        ("SELECT a FROM stream_4 GROUP", PLANS),  # an alias, as for Spark
        ("SELECT a FROM stream_4 GROUP BY", Code.SYNTAX_ERROR),
        ("SELECT a FROM stream_4 LIMIT -1", Code.WRONG_TYPE),
        ("SELECT a FROM stream_4 LIMIT 'x'", Code.WRONG_TYPE),
        ("SELECT a-> FROM stream_4", Code.UNKNOWN_QUALIFIER),  # the field `FROM`
        ("SELECT a IN FROM stream_4", Code.SYNTAX_ERROR),
        ("SELECT a FROM stream_4 WHERE a NOT IN ()", Code.SYNTAX_ERROR),
    ],
)
def test_queries_that_make_no_sense(sql: str, outcome: str) -> None:
    assert _outcome(sql) == outcome


@pytest.mark.parametrize("quote", ["'", '"', "`", "/*", "r'", "'\\'"])
@pytest.mark.parametrize("before", ["SELECT ", "SELECT a FROM ", "CREATE STREAM s (", ""])
def test_unclosed_quotes(before: str, quote: str) -> None:
    assert _outcome_of_statement(f"{before}{quote}abc") == Code.SYNTAX_ERROR
    assert _outcome(f"{before}{quote}abc") == Code.SYNTAX_ERROR


OF_NAMES = ["\0", "\x01", "\x7f", "\u200b", "\ud800", "\U0001f600", "é"]
"""In queries sqlglot reads whatever it does not know as part of a name."""
BLANKS = ["\u2028", "\r"]
BACKSLASH = "\\"
ODD_CHARACTERS = [*OF_NAMES, *BLANKS, BACKSLASH]


@pytest.mark.parametrize(
    ("sql", "of_names", "blank", "backslash"),
    [
        ("SELECT a{} FROM stream_4", Code.UNKNOWN_COLUMN, PLANS, Code.SYNTAX_ERROR),
        ("SELECT {}a FROM stream_4", Code.UNKNOWN_COLUMN, PLANS, Code.SYNTAX_ERROR),
        ("SELECT a FROM stream_4{}", Code.UNKNOWN_SOURCE, PLANS, Code.SYNTAX_ERROR),
        ("SELECT a {} FROM stream_4", PLANS, PLANS, Code.SYNTAX_ERROR),
        ("SELECT '{}' FROM stream_4", PLANS, PLANS, Code.SYNTAX_ERROR),
        ("SELECT a AS `{}` FROM stream_4", PLANS, PLANS, PLANS),
        ("SELECT `{}` FROM stream_4", *[Code.UNKNOWN_COLUMN] * 3),
        ("SELECT a -- {}\nFROM stream_4", PLANS, PLANS, PLANS),
        ("{}", *[Code.SYNTAX_ERROR] * 3),
    ],
)
def test_odd_characters(sql: str, of_names: str, blank: str, backslash: str) -> None:
    for odd in OF_NAMES:
        assert _outcome(sql.format(odd)) == of_names, repr(odd)
    for odd in BLANKS:
        assert _outcome(sql.format(odd)) == blank, repr(odd)
    assert _outcome(sql.format(BACKSLASH)) == backslash


@pytest.mark.parametrize("odd", ODD_CHARACTERS)
def test_odd_characters_in_statements(odd: str) -> None:
    names = odd.isalpha() or odd in BLANKS
    expected = Code.UNKNOWN_CONNECTOR if names else Code.SYNTAX_ERROR
    assert _outcome_of_statement(f"CREATE STREAM s{odd} (a INT)") == expected
    quoted = f"CREATE STREAM `{odd}` (`{odd}` INT)"
    assert _outcome_of_statement(quoted) == Code.UNKNOWN_CONNECTOR
    assert _outcome_of_statement(f"{quoted} WITH (connector = 'file', path = 'p')") == ACCEPTED
    assert _outcome_of_statement(f"CREATE{odd} STREAM") == Code.SYNTAX_ERROR


# --- very large -----------------------------------------------------------------------------------

_TEXT = "x" * 100
_NUMBER = "1234567890" * 9

LARGE = {
    "in list": "SELECT a FROM stream_4 WHERE a IN (" + f"'{_TEXT}', " * 9_700 + "1)",
    "and chain": "SELECT a FROM stream_4 WHERE " + f"a <> '{_TEXT}' AND " * 9_000 + "true",
    "or chain": "SELECT a FROM stream_4 WHERE " + f"a = '{_TEXT}' OR " * 9_200 + "a = 1",
    "plus chain": "SELECT " + f"{_NUMBER} + " * 10_800 + "a FROM stream_4",
    "concat chain": "SELECT " + f"'{_TEXT}' || " * 9_500 + "a FROM stream_4",
    "string": f"SELECT '{'x' * MEGABYTE}' FROM stream_4",
    "comment": f"SELECT a /* {'x' * MEGABYTE} */ FROM stream_4",
    "blanks": f"SELECT a {' ' * MEGABYTE} FROM stream_4",
    "select list": "SELECT " + f"'{_TEXT}', " * 9_700 + "a FROM stream_4",
    "arguments": "SELECT coalesce(" + f"'{_TEXT}', " * 9_700 + "a) FROM stream_4",
    "case": "SELECT CASE " + f"WHEN a = 1 THEN '{_TEXT}' " * 8_500 + "END FROM stream_4",
    "error at the end": "SELECT " + f"'{_TEXT}', " * 9_700 + "zz FROM stream_4",
}


REFUSED_LARGE = {
    "plus chain": Code.NESTED_TOO_DEEPLY,
    "concat chain": Code.NESTED_TOO_DEEPLY,
    "error at the end": Code.UNKNOWN_COLUMN,
}


@pytest.mark.parametrize("name", LARGE)
def test_a_query_of_a_megabyte(name: str) -> None:
    assert len(LARGE[name]) >= MEGABYTE
    result = _plan(LARGE[name])
    if name not in REFUSED_LARGE:
        assert isinstance(result, narrows.Plan)
    else:
        assert isinstance(result, NarrowsError)
        assert result.code is REFUSED_LARGE[name]
        assert len(str(result)) < 3_000, "the error shows the place, not the whole query"


@pytest.mark.parametrize("name", ["x" * MEGABYTE, f"`{'x' * MEGABYTE}`"], ids=["plain", "quoted"])
def test_a_name_of_a_megabyte(name: str) -> None:
    assert _outcome(f"SELECT {name} FROM stream_4") == Code.UNKNOWN_COLUMN
    assert _outcome(f"SELECT a AS {name} FROM stream_4") == PLANS


def test_a_hundred_thousand_brackets() -> None:
    assert _outcome("SELECT a FROM stream_4 WHERE " + "(" * 100_000) == Code.NESTED_TOO_DEEPLY


def test_a_string_of_a_hundred_thousand_characters() -> None:
    text = "y" * 100_000
    plan = _plan(f"SELECT labels['{text}'] FROM maps")
    assert isinstance(plan, narrows.Plan)
    assert text in plan.explain("logical")


LONGER_THAN_PYTHON_READS = 5_000
"""Digits of a number that `int` refuses unless it is told otherwise."""


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT {} FROM stream_4",
        "SELECT -{} FROM stream_4",
        "SELECT {} + {} FROM stream_4",
        "SELECT element_at(nums, {}) FROM deep",
        "SELECT 0.{} FROM stream_4",
        "SELECT {}e{} FROM stream_4",
    ],
)
def test_long_numbers(sql: str) -> None:
    for digits in (10, 20, 100, 4_000, LONGER_THAN_PYTHON_READS):
        outcome = _outcome(sql.replace("{}", "7" * digits))
        # No type holds more than 38 digits.
        assert outcome == PLANS or (digits > 38 and outcome is Code.WRONG_TYPE), digits


@pytest.mark.parametrize(
    ("sql", "most", "beyond"),
    [
        ("SELECT nums[{}] FROM deep", 10, Code.WRONG_TYPE),
        ("SELECT a FROM stream_4 LIMIT {}", 0, Code.WRONG_TYPE),
        ("SELECT a FROM stream_4 ORDER BY {}", 0, Code.UNKNOWN_COLUMN),
        ("SELECT a FROM stream_4 GROUP BY {}", 0, Code.UNKNOWN_COLUMN),
    ],
)
def test_numbers_that_must_not_be_too_large(sql: str, most: int, beyond: str) -> None:
    for digits in (10, 20, 100, 4_000, LONGER_THAN_PYTHON_READS):
        expected = PLANS if digits <= most else beyond
        assert _outcome(sql.replace("{}", "7" * digits)) == expected, digits


@pytest.mark.parametrize("digits", [4_000, LONGER_THAN_PYTHON_READS])
def test_long_numbers_in_statements(digits: int) -> None:
    number = "7" * digits
    for sql in (
        f"CREATE STREAM s (a DECIMAL({number}))",
        f"CREATE STREAM s (a INT) WITH (connector = {number})",
        f"CREATE STREAM s (a INT) WITH (connector = -{number}.{number})",
    ):
        assert _outcome_of_statement(sql) == Code.SYNTAX_ERROR


# --- very deep ------------------------------------------------------------------------------------

DEEP = {
    "parentheses": ("(", "a", ")"),
    "brackets": ("nums[", "0", "]"),
    "case": ("CASE WHEN a > 0 THEN ", "1", " END"),
    "case condition": ("CASE WHEN ", "true", " THEN true END"),
    "not": ("NOT ", "true", ""),
    "minus": ("- ", "a", ""),
    "tilde": ("~ ", "a", ""),
    "calls": ("upper(", "a", ")"),
    "coalesce": ("coalesce(", "a", ", 1)"),
    "aggregates": ("sum(", "a", ")"),
    "cast": ("CAST(", "a", " AS INT)"),
    "lambdas": ("transform(nums, x -> ", "1", ")"),
    "plus": ("1 + ", "a", ""),
    "plus on the right": ("1 + (", "a", ")"),
    "comparisons": ("1 = ", "a", ""),
    "and": ("a AND ", "a", ""),
    "and or": ("a AND a OR ", "a", ""),
    "is null": ("", "a", " IS NULL"),
    "like": ("", "a", " LIKE 'x'"),
    "in": ("", "a", " IN (1)"),
    "between": ("a BETWEEN 1 AND ", "1", ""),
    "fields": ("", "p", "->q"),
    "dots": ("", "p", ".q"),
    "elements": ("", "m", "[0]"),
    "casts after": ("", "a", "::INT"),
    "subqueries": ("(SELECT ", "a", " FROM deep)"),
}


WRONG_AT_ANY_DEPTH = {
    "aggregates": Code.MISPLACED_FUNCTION,
    "fields": Code.UNKNOWN_FIELD,
    "dots": Code.UNKNOWN_FIELD,
    "elements": Code.NOT_A_LIST,
    # One test may follow a value, and no more: Spark's grammar.
    **dict.fromkeys(("is null", "like", "in", "between"), Code.SYNTAX_ERROR),
}
"""What they are made of does not nest; but it is read, and bound, as deep as it is."""

DEEP_WITHOUT_NESTING = frozenset(
    {
        *("not", "minus", "tilde", "plus", "comparisons", "and", "and or", "is null", "like", "in"),
        *("between", "fields", "dots", "elements", "casts after"),
    }
)
"""Chains of operators, which may be longer than anything may be nested."""


@pytest.mark.parametrize("depth", [10, 150])
@pytest.mark.parametrize("name", DEEP)
def test_nesting(name: str, depth: int) -> None:
    assert _outcome(_nested(DEEP[name], depth)) == WRONG_AT_ANY_DEPTH.get(name, PLANS)


@pytest.mark.parametrize("name", DEEP)
def test_very_deep_nesting(name: str) -> None:
    chained = name in DEEP_WITHOUT_NESTING
    expected = WRONG_AT_ANY_DEPTH.get(name, PLANS) if chained else Code.NESTED_TOO_DEEPLY
    assert _outcome(_nested(DEEP[name], 1_000)) == expected


@pytest.mark.parametrize(
    ("shape", "outcome"),
    [
        (("", "a", " AT TIME ZONE 'x'"), Code.NOT_SUPPORTED),
        (("", "a", " COLLATE x"), PLANS),
        (("INTERVAL ", "1", " DAY"), Code.SYNTAX_ERROR),
    ],
)
def test_nesting_of_forms_that_are_carried(shape: tuple[str, str, str], outcome: str) -> None:
    assert _outcome(_nested(shape, 100)) == outcome


def _nested(shape: tuple[str, str, str], depth: int) -> str:
    before, middle, after = shape
    return f"SELECT {before * depth}{middle}{after * depth} FROM deep"


TYPES = ["ARRAY<{}>", "STRUCT<a: {}>", "MAP<INT, {}>"]


def _create(dtype: str, depth: int) -> str:
    before, after = dtype.split("{}")
    nested = f"{before * depth}INT{after * depth}"
    return f"CREATE STREAM s (a {nested}) WITH (connector = 'file', path = 'p')"


@pytest.mark.parametrize("depth", [10, 100])
@pytest.mark.parametrize("dtype", TYPES)
def test_nested_types(dtype: str, depth: int) -> None:
    catalog = narrows.Catalog()
    catalog.execute(_create(dtype, depth))
    catalog.execute("DESCRIBE STREAM s")
    assert narrows.plan("SELECT a, a IS NULL FROM s", catalog).explain()


@pytest.mark.parametrize("dtype", TYPES)
def test_very_deeply_nested_types(dtype: str) -> None:
    assert _outcome_of_statement(_create(dtype, 1_000)) == Code.NESTED_TOO_DEEPLY


def test_many_joins() -> None:
    joins = "".join(f" JOIN t1 x{i} ON x{i}.id = x0.id" for i in range(1, 100))
    assert _outcome(f"SELECT x99.a FROM t1 x0{joins}") == PLANS


def test_very_many_joins() -> None:
    joins = "".join(f" CROSS JOIN t1 x{i}" for i in range(1, 400))
    assert _outcome(f"SELECT 1 FROM t1 x0{joins}") == PLANS


def test_many_generators() -> None:
    views = "".join(f" LATERAL VIEW explode(nums) t{i} AS x{i}" for i in range(50))
    assert _outcome(f"SELECT x0, x49 FROM deep{views} WHERE x7 > 1") == PLANS


# --- token soup -----------------------------------------------------------------------------------

QUERIES = [block.sql for block in all_blocks() if block.sql.upper().startswith("SELECT")]
STATEMENTS = [part.strip() for part in CATALOG.read_text("utf-8").split(";") if part.strip()]
WORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "ON", "USING"),
    *("LEFT", "FULL", "CROSS", "LATERAL VIEW", "AS", "DISTINCT", "CASE", "WHEN", "THEN", "END"),
    *("AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "CAST", "OVER", "FILTER"),
    *("PARTITION BY", "EXCEPT", "UNION ALL", "WITH", "INTERVAL", "ARRAY", "STRUCT", "EXISTS"),
    *("(", ")", "[", "]", "{", "}", "<", ">", ",", ".", ";", ":", "::", "->", "->>", "=>", "="),
    *("+", "-", "*", "/", "%", "||", "|", "&", "^", "~", "!", "?", "@", "$", "#", "<=>", "<<"),
    *("'", '"', "`", "--", "/*", "*/", "/*+", "\\", "'x'", "`a`", "0", "1", "1.5", "1e9", "9" * 20),
    *("a", "b", "c", "items", "stream_4", "stream_3", "t1", "deep", "x", "b->c", "items[0]"),
    *("t1.*", "count(*)", "size(", "upper(", "transform(", "explode(", "lag(", "x ->", "(x, y) ->"),
    *("tumblingwindow('ss', 10)", "window_start()", "CREATE", "STREAM", "DROP", "EXPLAIN"),
)


@st.composite
def _mutated(draw: st.DrawFn, texts: list[str]) -> str:
    """A text with a few pieces taken out, doubled, moved or replaced."""
    pieces = draw(st.sampled_from(texts)).replace("(", " ( ").replace(",", " , ").split(" ")
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(pieces) - 1)))
        match draw(st.integers(0, 4)):
            case 0:
                del pieces[place : place + 1]
            case 1:
                pieces.insert(place, draw(st.sampled_from(WORDS)))
            case 2 if pieces:
                pieces[place] = draw(st.sampled_from(WORDS))
            case 3 if pieces:
                pieces.insert(draw(st.integers(0, len(pieces))), pieces[place])
            case _:
                other = draw(st.sampled_from(texts)).split(" ")
                pieces[place:] = other[draw(st.integers(0, len(other))) :]
    return " ".join(pieces)


@settings(max_examples=400)
@given(_mutated(QUERIES))
def test_mutated_queries(sql: str) -> None:
    _plan(sql)


@settings(max_examples=200)
@given(_mutated(STATEMENTS))
def test_mutated_statements(sql: str) -> None:
    _execute(sql)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS), max_size=20))
def test_token_soup(words: list[str]) -> None:
    soup = " ".join(words)
    _plan(soup)
    _plan(f"SELECT {soup} FROM stream_4")
    _execute(soup)


@settings(max_examples=200)
@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    _plan(text)
    _plan(f"SELECT {text} FROM stream_4")
    _execute(f"CREATE STREAM {text}")
