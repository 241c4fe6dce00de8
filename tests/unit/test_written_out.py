"""Functions that are written out, and the table of other engines' functions in the docs."""

from __future__ import annotations

import pytest

import narrows
from narrows.errors import NarrowsError
from narrows.functions import builtin_functions
from narrows.functions.written_out import WRITTEN_OUT, WRITTEN_OUT_SOMETIMES
from support.function_table import Line, lines, schema

LINES = lines()


@pytest.fixture(scope="module")
def catalog() -> narrows.Catalog:
    catalog = narrows.Catalog()
    catalog.execute(
        f"CREATE STREAM readings ({schema()}) WITH (connector = 'file', path = 'p');"
        "CREATE STREAM odd (`a b` STRUCT<`it's`: BIGINT, `x``y`: BIGINT>, t STRING, j STRING)"
        " WITH (connector = 'file', path = 'p')"
    )
    return catalog


def test_the_table_has_every_name_once() -> None:
    assert len({line.name for line in LINES}) == len(LINES) == 139


def test_the_table_names_all_that_is_written_out() -> None:
    said = {line.name for line in LINES if "written out" in line.here}
    assert said == {function.name for function in WRITTEN_OUT} | set(WRITTEN_OUT_SOMETIMES)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_examples_of_the_table_plan(line: Line, catalog: narrows.Catalog) -> None:
    plan = narrows.plan(f"SELECT {line.example} FROM readings", catalog)
    if "written out" in line.here and line.name != "bypass":
        assert f"{line.name}(" not in plan.explain("logical")
    if line.name != "cast":  # which is syntax
        assert builtin_functions().find(line.name) is not None


def _explained(sql: str, catalog: narrows.Catalog) -> str:
    return narrows.plan(sql, catalog).explain("logical")


def test_names_that_are_no_words_are_quoted(catalog: narrows.Catalog) -> None:
    text = _explained("SELECT object_pick(`a b`, 'x`y'), keys(`a b`) FROM odd", catalog)
    assert "named_struct('x`y', odd.`a b`->`x``y`)" in text
    assert r"array('it\'s', 'x`y')" in text


def test_a_column_is_called_as_it_was_written(catalog: narrows.Catalog) -> None:
    plan = narrows.plan(
        "SELECT keys(b), keys(b)[0], ndv(v), bypass(max(v)), trunc(2.55, 1) FROM readings"
        " GROUP BY b",
        catalog,
    )
    names = [str(column.name) for column in plan.logical.outputs]
    assert names == ["keys(b)", "keys(b)[0]", "ndv(v)", "bypass(max(v))", "trunc(2.55, 1)"]


def test_clauses_belong_to_the_aggregates_of_a_body(catalog: narrows.Catalog) -> None:
    text = _explained("SELECT deduplicate(v) FILTER (WHERE name = 'x') FROM readings", catalog)
    condition = "FILTER (WHERE readings.name = 'x')"
    assert f"count(readings.v) {condition}; collect_list(readings.v) {condition}" in text
    text = _explained("SELECT var(DISTINCT v) FROM readings", catalog)
    assert "var_pop(DISTINCT readings.v)" in text
    text = _explained("SELECT vars(v) OVER (PARTITION BY name) FROM readings", catalog)
    assert "var_samp(readings.v) OVER (PARTITION BY readings.name)" in text


def test_arguments_are_not_mixed_up_with_the_bodys_own_names(catalog: narrows.Catalog) -> None:
    text = _explained(
        "SELECT transform(nums, p -> zip(array(array(p, p)))[p]) FROM readings", catalog
    )
    assert "transform(array(array(p, p)), p -> p[0])" in text  # an inner p hides the outer one
    plan = narrows.plan(
        "SELECT transform(nums, k -> erase(m, 'k')['k'] + k) FROM readings", catalog
    )
    assert "m{*}" in plan.explain("logical")


WRONG = [
    ("keys(v)", "`keys` takes a struct or a map, `readings.v` is BIGINT"),
    ("items(parse_json(name))", "`items` takes a struct or a map, `parse_json(readings.name)` is"),
    ("object_pick(b, name)", "`object_pick` takes constant names, not `readings.name`"),
    ("object_pick(b, 'z')", "`object_pick`: there is no field `z`"),
    ("object_pick(b, 'x.z')", "`object_pick`: field `x` is BIGINT, it has no fields"),
    ("erase(b, array('x', 'y'))", "`erase` would leave a struct without fields"),
    ("object_concat(b, m)", "`object_concat` takes structs, or maps of one type, not both"),
    ("object_construct('a')", "function `object_construct` takes at least 2 arguments"),
    ("object_construct('a', 1, 'b')", "`object_construct` takes names and values in turn"),
    ("zip(nums)", "`zip` takes a list of pairs, `readings.nums` is ARRAY<BIGINT>"),
    ("`values`(struct(v, name))", "`values` makes a list, and the fields of `named_struct("),
    ("trunc(1.5, v)", "`trunc` takes a number of digits that is constant, not `readings.v`"),
    ("format(v, v)", "`format` takes a constant number of digits, 0 or more"),
    ("format(v, 1, 'de_DE')", "`format` knows one locale, 'en_US'"),
    ("format_time(now(), '%Q')", "`format_time` knows no `%Q`"),
    ("format_time(now(), name)", "`format_time` takes a pattern that is constant, not"),
    ("split_value(name, ',', rand())", "`split_value` looks at its argument more than once"),
    ("keys(sum(b))", "`keys` takes a struct or a map, `sum(readings.b)` is of a type that only"),
    ("ndv(v) IGNORE NULLS", "`ndv` takes no IGNORE NULLS"),
]


@pytest.mark.parametrize(("sql", "message"), WRONG, ids=[sql for sql, _ in WRONG])
def test_what_is_wrong_is_said_where_it_was_written(
    sql: str, message: str, catalog: narrows.Catalog
) -> None:
    with pytest.raises(NarrowsError) as raised:
        narrows.plan(f"SELECT {sql} FROM readings", catalog)
    (problem,) = raised.value.problems
    assert problem.message.startswith(message)
    assert problem.span is not None


def test_values_as_a_word_of_sql_says_what_to_write(catalog: narrows.Catalog) -> None:
    with pytest.raises(NarrowsError, match="the function is written `` `values`"):
        narrows.plan("SELECT values(b) FROM readings", catalog)
