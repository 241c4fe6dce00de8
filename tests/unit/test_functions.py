"""The function registry: which functions there are, and how they look at their arguments."""

from __future__ import annotations

import pytest

import narrows
from narrows.errors import Code, NarrowsError
from narrows.expressions.function import Function, Kind, whole
from narrows.functions import FunctionRegistry, builtin_functions, operator
from narrows.functions.operators import OPERATORS
from narrows.logical.walk import sources_of
from narrows.schema import BIGINT, BOOLEAN, INT, STRING, UNKNOWN, Array, DataType, Map


@pytest.fixture(scope="module")
def catalog() -> narrows.Catalog:
    catalog = narrows.Catalog()
    catalog.execute("""
        CREATE STREAM s (
          a BIGINT,
          b STRUCT<c: BIGINT, d: STRING>,
          items ARRAY<STRUCT<x: BIGINT, y: STRING>>,
          nums ARRAY<BIGINT>,
          tags MAP<STRING, STRUCT<v: BIGINT, w: STRING>>,
          labels MAP<STRING, STRING>
        ) WITH (connector = 'file', path = 'p')
    """)
    catalog.add_function("My_Udf", 1, 2)
    return catalog


def _schema(sql: str, catalog: narrows.Catalog) -> str:
    query = sql if " FROM " in sql else f"SELECT {sql} FROM s"
    (source,) = sources_of(narrows.plan(query, catalog).logical)
    listing = source.info()["schema"]
    assert not isinstance(listing, str)
    return ", ".join(listing.parts)


def _type(sql: str, catalog: narrows.Catalog) -> DataType:
    (column,) = narrows.plan(f"SELECT {sql} FROM s", catalog).logical.outputs
    return column.dtype


# --- looks ----------------------------------------------------------------------------------------

LOOKS = [
    # how long
    ("size(items)", "items[#]"),
    ("cardinality(nums)", "nums[#]"),
    ("array_size(items)", "items[#]"),
    ("size(tags)", "tags{#}"),
    # whether there
    ("items IS NULL", "items?"),
    ("b IS NOT NULL", "b?"),
    ("isnull(b)", "b?"),
    ("isnotnull(tags)", "tags?"),
    ("a IS NULL", "a"),
    ("count(items)", "items?"),
    ("count(b, items)", "b?, items?"),
    ("count(DISTINCT b)", "b{c, d}"),
    # handed on
    ("coalesce(b, NULL)->c", "b?{c}"),
    ("nvl(b, b)->c", "b?{c}"),
    ("ifnull(b, b)->c", "b?{c}"),
    ("nvl2(b, a, a)", "a, b?"),
    ("if(a > 1, b, b)->d", "a, b{d}"),
    ("CASE WHEN a > 1 THEN b WHEN nums[0] = 1 THEN b END.c", "a, b{c}, nums[0]"),
    ("(CASE a WHEN 1 THEN b ELSE NULL END)->c", "a, b{c}"),
    ("first(b)->c", "b?{c}"),
    ("any_value(items)[0]->x", "items[#,0][struct{x}]"),
    ("max_by(b, a)->c", "a, b{c}"),
    ("max_by(b, a, 2)[0]->c", "a, b?{c}"),
    ("size(min_by(b, a, 2))", "a, b?"),
    ("collect_list(b)[0]->c", "b?{c}"),
    ("size(collect_list(b))", "b?"),
    ("lag(b)->c", "b?{c}"),
    ("latest(items)[1]->y", "items[#,1][struct{y}]"),
    # put together and taken apart again
    ("struct(b, items).b.c", "b{c}"),
    ("struct(b AS p, items AS q).q[0].x", "items[0][struct{x}]"),
    ("named_struct('p', b, 'q', items).p.d", "b{d}"),
    ("array(b, NULL)[0].c", "b{c}"),
    ("array(b, b)[a].c", "a, b{c}"),
    ("map('k', b)['k'].c", "b{c}"),
    # elements
    ("items[0].x", "items[0][struct{x}]"),
    ("element_at(items, 1).x", "items[0][struct{x}]"),
    ("element_at(items, -1).x", "items[*][struct{x}]"),
    ("element_at(tags, 'k').v", "tags{'k'{v}}"),
    ("try_element_at(items, 3).x", "items[2][struct{x}]"),
    ("get(items, 2).x", "items[2][struct{x}]"),
    ("get(items, a).x", "a, items[*][struct{x}]"),
    ("reverse(items)[0].x", "items[*][struct{x}]"),
    ("slice(items, 1, 2)[0].x", "items[*][struct{x}]"),
    ("size(slice(items, 1, 2))", "items[#]"),
    ("array_distinct(items)[0].x", "items[struct{x, y}]"),
    # lambdas
    ("transform(items, i -> i.x)", "items[*][struct{x}]"),
    ("transform(items, (i, n) -> i.x + n)", "items[*][struct{x}]"),
    ("transform(items, i -> i.x + a)", "a, items[*][struct{x}]"),
    ("transform(items, i -> i)", "items[*][struct{x, y}]"),
    ("size(transform(items, i -> i.x))", "items[#]"),
    ("filter(items, i -> i.x > 1)[0].y", "items[*][struct{x, y}]"),
    ("size(filter(items, i -> i.x > 1))", "items[*][struct{x}]"),
    ("exists(items, i -> i.x > 1)", "items[*][struct{x}]"),
    ("forall(items, i -> i.x IS NULL)", "items[*][struct{x}]"),
    ("aggregate(items, 0L, (acc, i) -> acc + i.x)", "items[*][struct{x}]"),
    ("reduce(items, 0L, (acc, i) -> acc + i.x, acc -> acc * 2)", "items[*][struct{x}]"),
    ("zip_with(items, nums, (i, n) -> i.x + n)", "items[*][struct{x}], nums[*]"),
    ("transform(items, i -> transform(nums, n -> n + i.x))", "items[*][struct{x}], nums[*]"),
    ("array_sort(items, (l, r) -> l.x - r.x)", "items[struct{x, y}]"),
    # maps
    ("labels['k']", "labels{'k'}"),
    ("tags['k'].v, tags['l'].w", "tags{'k'{v}, 'l'{w}}"),
    ("tags[labels['k']].v", "tags{*{v}}, labels{'k'}"),
    ("map_keys(tags)", "tags{*?}"),
    ("map_values(tags)[0].v", "tags{*{v}}"),
    ("map_contains_key(tags, 'k')", "tags{*?}"),
    ("transform_values(tags, (k, v) -> v.v)", "tags{*?{v}}"),
    ("map_filter(tags, (k, v) -> v.v > 1)['k'].w", "tags{*{v, w}}"),
    # written out
    ("keys(b)", "b?"),
    ("keys(tags)", "tags{*?}"),
    ("object_size(b)", "b?"),
    ("object_size(tags)", "tags{#}"),
    ("`values`(object_pick(b, 'c'))", "b?{c}"),
    ("items(object_pick(b, 'd'))[0].value", "b?{d}"),
    ("items(object_pick(b, 'd'))[0].key", "b?"),
    ("object_pick(b, 'd').d", "b?{d}"),
    ("object_pick(items[0], array('x'))", "items[0][struct?{x}]"),
    ("object_pick(struct(b AS p, a AS q), 'p.c', 'q').p", "b?{c}"),
    ("erase(b, 'd')", "b?{c}"),
    ("object_concat(b, struct(a AS c)).c", "a, b{c}"),
    ("object_concat(struct(a AS c), b).c", "a, b?{c}"),
    ("object_construct('k', b).k.c", "b{c}"),
    ("bypass(items)[0].x", "items[0][struct{x}]"),
    ("array_create(b, b)[0].c", "b{c}"),
    ("transform(items, i -> keys(i)[0])", "items[*][struct?]"),
    (
        "transform(items, i -> transform(nums, n -> object_pick(i, 'x').x + n))",
        "items[*][struct?{x}], nums[*]",
    ),
    ("ndv(b.c)", "b{c}"),
    ("indexof(b.d, 'x')", "b{d}"),
    # whole
    ("to_json(b)", "b{c, d}"),
    ("my_udf(b)", "b{c, d}"),
    ("my_udf(b.c)", "b{c}"),
    ("b = b", "b{c, d}"),
    ("greatest(items, items)[0].x", "items[struct{x, y}]"),
    ("CAST(items AS STRING)", "items[struct{x, y}]"),
]


@pytest.mark.parametrize(("sql", "schema"), LOOKS, ids=[sql for sql, _ in LOOKS])
def test_looks(sql: str, schema: str, catalog: narrows.Catalog) -> None:
    assert _schema(sql, catalog) == schema


@pytest.mark.parametrize(
    ("sql", "schema"),
    [
        ("SELECT x.x FROM s LATERAL VIEW explode(items) t AS x", "items[*][struct{x}]"),
        ("SELECT 1 FROM s LATERAL VIEW explode(items) t AS x", "items[#]"),
        ("SELECT p FROM s LATERAL VIEW posexplode(items) t AS p, x", "items[#]"),
        ("SELECT x.y FROM s LATERAL VIEW posexplode_outer(items) t AS p, x", "items[*][struct{y}]"),
        ("SELECT y FROM s LATERAL VIEW inline(items) t", "items[*][struct{y}]"),
        ("SELECT k FROM s LATERAL VIEW explode(tags) t AS k, v", "tags{*?}"),
        ("SELECT v.v FROM s LATERAL VIEW explode_outer(tags) t AS k, v", "tags{*?{v}}"),
    ],
)
def test_generators(sql: str, schema: str, catalog: narrows.Catalog) -> None:
    assert _schema(sql, catalog) == schema


# --- result types ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "dtype"),
    [
        ("size(items)", INT),
        ("count(*)", BIGINT),
        ("sum(b.c)", BIGINT),
        ("upper(b.d)", STRING),
        ("a > 1", BOOLEAN),
        ("a + 1", BIGINT),
        ("a IS NULL AND true", BOOLEAN),
        ("coalesce(a, 1)", BIGINT),
        ("transform(items, i -> i.y)", Array(STRING)),
        ("items.x", Array(BIGINT)),
        ("filter(nums, n -> n > 1)", Array(BIGINT)),
        ("map_keys(tags)", Array(STRING)),
        ("transform_values(labels, (k, v) -> size(nums))", Map(STRING, INT)),
        ("array(1, 2)", Array(INT)),
        ("my_udf(a)", UNKNOWN),
    ],
)
def test_result_types(sql: str, dtype: DataType, catalog: narrows.Catalog) -> None:
    assert _type(sql, catalog) == dtype


# --- the registry ---------------------------------------------------------------------------------


def test_all_of_spark_is_there() -> None:
    names = set(builtin_functions().names())
    assert len(names) > 400
    some = {"abs", "date_trunc", "from_json", "regexp_extract", "percentile", "explode", "rank"}
    assert some <= names


def test_kinds() -> None:
    functions = builtin_functions()
    kinds = {
        "upper": Kind.SCALAR,
        "sum": Kind.AGGREGATE,
        "explode": Kind.GENERATOR,
        "row_number": Kind.ANALYTIC,
        "lag": Kind.STATEFUL,
        "tumblingwindow": Kind.STREAM_WINDOW,
        "window_start": Kind.WINDOW_BOUND,
    }
    for name, kind in kinds.items():
        function = functions.find(name)
        assert function is not None
        assert function.kind is kind


def test_names_have_no_case() -> None:
    functions = builtin_functions()
    assert functions.find("UPPER") is functions.find("upper")
    assert functions.find("uper") is None


@pytest.mark.parametrize("function", list(builtin_functions()), ids=lambda f: f.name)
def test_every_function_is_sound(function: Function) -> None:
    assert function.name == function.name.lower()
    assert function.min_args >= 0
    assert function.max_args is None or function.min_args <= function.max_args
    assert (function.generator is not None) == (function.kind is Kind.GENERATOR)
    assert all(function.accepts(place + 1) or place for place in function.lambdas)
    if function.with_names is not None:
        assert builtin_functions().find(function.with_names) is not None


def test_operators_cannot_be_called_by_name(catalog: narrows.Catalog) -> None:
    names = set(builtin_functions().names())
    assert all(each.kind is Kind.OPERATOR and each.syntax is not None for each in OPERATORS)
    assert not {each.name for each in OPERATORS if not each.name.isalpha()} & names
    assert operator("and").syntax is not None


def test_a_child_sees_its_parents_functions_and_hides_them() -> None:
    parent = FunctionRegistry([Function("f"), Function("g")])
    child = FunctionRegistry([Function("g", min_args=1), Function("h")], parent=parent)
    assert sorted(child.names()) == ["f", "g", "h"]
    found = child.find("G")
    assert found is not None
    assert found.min_args == 1
    assert parent.find("h") is None


def test_catalogs_do_not_share_their_users_functions(catalog: narrows.Catalog) -> None:
    assert catalog.functions.find("my_udf") is not None
    assert builtin_functions().find("my_udf") is None
    assert narrows.Catalog().functions.find("my_udf") is None


def test_a_users_function_is_looked_through_by_nobody(catalog: narrows.Catalog) -> None:
    function = catalog.functions.find("MY_UDF")
    assert function is not None
    assert not function.known
    assert function.look is whole


# --- arity, unknown functions ---------------------------------------------------------------------


def _problem(sql: str, catalog: narrows.Catalog) -> tuple[Code, str, str | None]:
    with pytest.raises(NarrowsError) as raised:
        narrows.plan(f"SELECT {sql} FROM s", catalog)
    (problem,) = raised.value.problems
    return problem.code, problem.message, problem.hint


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("upper()", "function `upper` takes 1 argument, 0 were given"),
        ("upper(a, a)", "function `upper` takes 1 argument, 2 were given"),
        ("size(a, a)", "function `size` takes 1 argument, 2 were given"),
        ("my_udf()", "function `my_udf` takes 1 to 2 arguments, 0 were given"),
        ("my_udf(a, a, a)", "function `my_udf` takes 1 to 2 arguments, 3 were given"),
        ("coalesce()", "function `coalesce` takes at least 1 argument, 0 were given"),
        ("transform(items)", "function `transform` takes 2 arguments, 1 was given"),
        ("lag(a, 1, 2, 3)", "function `lag` takes 1 to 3 arguments, 4 were given"),
    ],
)
def test_wrong_arity(sql: str, message: str, catalog: narrows.Catalog) -> None:
    assert _problem(sql, catalog) == (Code.WRONG_ARITY, message, None)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("uper", "upper"),
        ("siz", "size"),
        ("colesce", "coalesce"),
        ("trasform", "transform"),
        ("tumblingwindw", "tumblingwindow"),
        ("my_udff", "my_udf"),
        ("EXPLOD", "explode"),
    ],
)
def test_an_unknown_function_gets_a_suggestion(
    name: str, near: str, catalog: narrows.Catalog
) -> None:
    code, message, hint = _problem(f"{name}(a)", catalog)
    assert code is Code.UNKNOWN_FUNCTION
    assert message == f"function `{name}` not found"
    assert hint == f"did you mean `{near}`?"


def test_nothing_is_near(catalog: narrows.Catalog) -> None:
    assert _problem("qqqqqqqq(a)", catalog)[2] is None
