"""JSON payloads as the columns of a projection. What single values mean is held to Spark's
`from_json` in tests/spark/test_json_like_spark.py.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from decimal import Decimal
from typing import Any

import pytest

from narrows.demand import ALL, LENGTH, NOTHING, PRESENCE, Demand, fields, items, keys
from narrows.errors import Code, NarrowsError
from narrows.formats.base import find_format
from narrows.formats.json import program as json_program
from narrows.projection.columns import DecodeProjection
from narrows.schema import INT, Field, Struct
from narrows.sql.parser.types import read_schema
from support.decoding import columns, decode

pytestmark = pytest.mark.usefixtures("kernel")

NESTED = "a BIGINT, b STRUCT<c: INT, items: ARRAY<STRUCT<x: INT, y: STRING>>>, m MAP<STRING, INT>"


@pytest.fixture
def no_exact_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a payload takes the slow way."""

    def refuse(payload: bytes) -> object:
        raise AssertionError(payload)

    monkeypatch.setattr(json_program, "parse_exactly", refuse)


# --- which columns --------------------------------------------------------------------------------

DOCUMENT = {
    "a": 1,
    "b": {"c": 2, "items": [{"x": 10, "y": "p"}, {"x": 11, "y": "q"}]},
    "m": {"k": 5, "l": 6},
}
EMPTY: dict[str, Any] = {"a": None, "b": {"items": []}, "m": {}}


@pytest.mark.usefixtures("no_exact_parse")
class TestColumns:
    def test_leaves_on_constant_paths_are_flat(self) -> None:
        demand = fields(
            {
                "a": ALL,
                "b": fields({"c": ALL, "items": items({1: fields({"x": ALL})})}),
                "m": keys({"l": ALL}),
            }
        )
        assert columns(NESTED, demand, DOCUMENT, EMPTY, {}) == {
            "a": [1, None, None],
            "b.c": [2, None, None],
            "b.items[1].x": [11, None, None],
            "m['l']": [6, None, None],
        }

    def test_whole_values_are_built(self) -> None:
        found = columns(NESTED, ALL, DOCUMENT, EMPTY, {})
        assert found["b"] == [DOCUMENT["b"], {"c": None, "items": []}, None]
        assert found["m"] == [[("k", 5), ("l", 6)], [], None]

    def test_length_and_presence(self) -> None:
        demand = fields({"b": fields({"items": LENGTH}), "m": LENGTH})
        assert columns(NESTED, demand, DOCUMENT, EMPTY, {}, {"b": {"items": 7}}) == {
            "b.items.#": [2, 0, None, None],
            "m.#": [2, 0, None, None],
        }
        demand = fields({"b": PRESENCE, "m": PRESENCE})
        assert columns(NESTED, demand, DOCUMENT, EMPTY, {}, {"b": [], "m": None}) == {
            "b.?": [True, True, False, False],
            "m.?": [True, True, False, False],
        }

    def test_a_list_is_built_with_what_is_demanded_of_its_elements(self) -> None:
        demand = fields({"b": fields({"items": items(rest=fields({"x": ALL}))})})
        assert columns(NESTED, demand, DOCUMENT, EMPTY, {"b": {"items": [None, {}]}}) == {
            "b.items": [[{"x": 10}, {"x": 11}], [], [None, {"x": None}]]
        }

    def test_undemanded_elements_of_a_built_list_are_null(self) -> None:
        some = fields({"c": ALL, "items": items({1: fields({"y": ALL})})}, presence=True)
        assert columns(NESTED, fields({"b": some}), DOCUMENT, {}) == {
            "b": [{"c": 2, "items": [None, {"y": "q"}]}, None]
        }

    def test_elements_may_be_demanded_in_different_shapes(self) -> None:
        each = fields({"y": ALL}, presence=True)
        demand = fields({"b": fields({"items": items({0: fields({"x": ALL})}, rest=each)})})
        assert columns(NESTED, demand, DOCUMENT) == {
            "b.items": [[{"x": 10, "y": "p"}, {"x": None, "y": "q"}]]
        }

    def test_stand_ins_for_what_is_only_counted(self) -> None:
        some = fields({"c": ALL, "items": LENGTH}, presence=True)
        assert columns(NESTED, fields({"b": some}), DOCUMENT, EMPTY) == {
            "b": [{"c": 2, "items": [None, None]}, {"c": None, "items": []}]
        }

    def test_a_tested_column_may_also_be_shipped_in_another_shape(self) -> None:
        tested = fields({"b": fields({"c": ALL}), "m": keys({"k": ALL})})
        projection = DecodeProjection(
            read_schema(NESTED), fields({"b": ALL, "m": ALL}), tested=tested
        )
        payloads = [json.dumps(DOCUMENT).encode()]
        decoder = find_format("json").decoder({})
        found = decoder.decode_with_projection(payloads, projection).batch.to_pydict()
        assert found == {
            "b": [DOCUMENT["b"]],
            "m": [[("k", 5), ("l", 6)]],
            "b.c": [2],
            "m['k']": [5],
        }

    def test_no_column_still_counts_rows(self) -> None:
        decoded = decode(NESTED, NOTHING, {}, {"a": "not even looked at"}, "[{}, {}]", "[]")
        assert decoded.batch.num_columns == 0
        assert decoded.batch.num_rows == 4
        assert decoded.row_positions == [0, 1, 2, 2]
        assert decoded.mistyped == 0

    def test_no_payload(self) -> None:
        assert decode(NESTED, ALL).batch.num_rows == 0
        assert decode(NESTED, NOTHING).batch.num_rows == 0

    def test_indices_that_no_list_has(self) -> None:
        demand = fields({"l": items({-1: ALL, 2**70: ALL, 0: ALL})})
        found = columns("l ARRAY<INT>", demand, {"l": [1, 2]})
        assert list(found.values()) == [[None], [1], [None]]

    def test_many_indices(self) -> None:
        demand = fields({"l": items(dict.fromkeys(range(0, 40, 2), ALL))})
        found = columns("l ARRAY<INT>", demand, {"l": list(range(30))}, {})
        assert found == {f"l[{n}]": [n if n < 30 else None, None] for n in range(0, 40, 2)}

    def test_deep_types(self) -> None:
        """Deeper than Python nests blocks."""
        schema, document = "BIGINT", "1"
        for level in range(40):
            if level % 3:
                schema, document = f"STRUCT<v: {schema}>", f'{{"v": {document}}}'
            else:
                schema, document = f"ARRAY<{schema}>", f"[{document}]"
        row = f'{{"v": {document}}}'
        assert json.dumps(columns(f"v {schema}", ALL, row)["v"][0]) == document
        demand: Demand = ALL
        for level in range(40):
            demand = fields({"v": demand}) if level % 3 else items({0: demand})
        (leaf,) = columns(f"v {schema}", fields({"v": demand}), row).values()
        assert leaf == [1]

    def test_wide_structs(self) -> None:
        """Of many fields the keys are listed once, and the fields found among them."""
        names = [f"c{n}" for n in range(150)]
        schema = ", ".join(f"{name} BIGINT" for name in names)
        schema += ", s STRING, w STRUCT<" + ", ".join(f"{name}: STRING" for name in names) + ">"
        values = {name: n for n, name in enumerate(names) if n % 2}
        document = json.dumps({**values, "s": [1], "w": values})
        found = columns(schema, ALL, document, "{}")
        assert [found[name] for name in names] == [[values.get(n), None] for n in names]
        assert found["s"] == ["[1]", None]
        texts = {n: None if n not in values else str(values[n]) for n in names}
        assert found["w"] == [texts, None]

    def test_keys_are_found_whatever_their_characters(self) -> None:
        names = ("ä", "a`b", "'", "\\", '"', "\n", "😀", "None", "a.b")
        schema = Struct(tuple(Field(name, INT) for name in names)).sql()[7:-1].replace(": ", " ")
        found = columns(schema, ALL, dict.fromkeys(names, 1))
        assert found == {name: [1] for name in names}


def test_keys_with_a_zero_byte() -> None:
    """pysimdjson cannot look them up; they are found all the same."""
    schema = "`a\0b` INT, m MAP<STRING, STRUCT<x: INT>>"
    document = '{"a": 1, "a\\u0000b": 2, "m": {"k": {"x": 3}, "k\\u0000l": {"x": 4}}}'
    assert columns(schema, ALL, document) == {
        "a\0b": [2],
        "m": [[("k", {"x": 3}), ("k\0l", {"x": 4})]],
    }


# --- values ---------------------------------------------------------------------------------------

EVERY_TYPE = (
    "b BOOLEAN, i TINYINT, n BIGINT, f FLOAT, d DOUBLE, m DECIMAL(10, 2), s STRING, y BINARY,"
    " t TIMESTAMP, e DATE"
)


@pytest.mark.usefixtures("no_exact_parse")
class TestValues:
    def test_a_value_of_each_type(self) -> None:
        document = {
            "b": True,
            "i": -128,
            "n": 2**63 - 1,
            "f": 1.5,
            "d": 1,
            "m": 12.344,
            "s": "é",
            "y": "YWI=",
            "t": "2020-01-02T03:04:05.6+01:00",
            "e": "2020-02-29",
        }
        assert decode(EVERY_TYPE, ALL, document).batch.to_pylist() == [
            {
                "b": True,
                "i": -128,
                "n": 2**63 - 1,
                "f": 1.5,
                "d": 1.0,
                "m": Decimal("12.34"),
                "s": "é",
                "y": b"ab",
                "t": dt.datetime(2020, 1, 2, 2, 4, 5, 600_000, tzinfo=dt.UTC),
                "e": dt.date(2020, 2, 29),
            }
        ]

    def test_null_and_missing_are_not_counted(self) -> None:
        names = read_schema(EVERY_TYPE).names
        decoded = decode(EVERY_TYPE, ALL, dict.fromkeys(names), {})
        assert decoded.batch.to_pylist() == [dict.fromkeys(names)] * 2
        assert decoded.mistyped == 0

    def test_the_wrong_type_is_null_and_counted(self) -> None:
        names = [name for name in read_schema(EVERY_TYPE).names if name != "s"]
        wrong: tuple[Any, ...] = ([], {})
        decoded = decode(EVERY_TYPE, ALL, *(dict.fromkeys(names, value) for value in wrong))
        assert decoded.batch.to_pylist() == [dict.fromkeys([*names, "s"])] * 2
        assert decoded.mistyped == 2 * len(names)

    def test_out_of_range_is_null_and_counted(self) -> None:
        decoded = decode("i TINYINT, n BIGINT", ALL, {"i": 127}, {"i": 128}, {"n": 2**63})
        assert decoded.batch.to_pydict() == {"i": [127, None, None], "n": [None, None, None]}
        assert decoded.mistyped == 2

    def test_wrong_values_inside_others_are_null_where_they_stand(self) -> None:
        schema = (
            "l ARRAY<INT>, m MAP<STRING, ARRAY<INT>>, s STRUCT<x: INT, y: ARRAY<STRUCT<z: INT>>>"
        )
        document = {
            "l": [1, "2", None, 3.0],
            "m": {"a": [1], "b": 2},
            "s": {"x": "1", "y": [{"z": 1}, 2, {"z": "3"}]},
        }
        decoded = decode(schema, ALL, document)
        assert decoded.batch.to_pylist() == [
            {
                "l": [1, None, None, None],
                "m": [("a", [1]), ("b", None)],
                "s": {"x": None, "y": [{"z": 1}, None, {"z": None}]},
            }
        ]
        assert decoded.mistyped == 6

    def test_what_nobody_demands_is_not_looked_at(self) -> None:
        demand = fields({"b": fields({"c": ALL})})
        document = {"a": "x", "b": {"c": 1, "items": 5}, "m": []}
        assert decode(NESTED, demand, document).mistyped == 0

    def test_a_wrong_struct_counts_once_for_all_that_is_in_it(self) -> None:
        demand = fields({"b": fields({"c": ALL, "items": items({0: fields({"x": ALL})})})})
        assert decode(NESTED, demand, {"b": 1}).mistyped == 1

    def test_of_a_repeated_key_the_first_counts(self) -> None:
        document = (
            '{"a": null, "a": 1, "b": {"c": 1, "c": 2, "items": [{"x": 1, "x": 2}]},'
            ' "m": {"k": 1, "l": 2, "k": 3}, "b": {}}'
        )
        assert decode(NESTED, ALL, document).batch.to_pylist() == [
            {
                "a": None,
                "b": {"c": 1, "items": [{"x": 1, "y": None}]},
                "m": [("k", 1), ("l", 2)],
            }
        ]
        assert columns(NESTED, fields({"m": LENGTH}), document) == {"m.#": [2]}

    def test_anything_is_a_string(self) -> None:
        values: list[Any] = [1, 1.5, 1e7, True, None, [], {"b": [1, 'x"', {}]}, "text"]
        found = columns("s STRING, l ARRAY<STRING>", ALL, *({"s": v, "l": [v]} for v in values))
        texts = ["1", "1.5", "1.0E7", "true", None, "[]", '{"b":[1,"x\\"",{}]}', "text"]
        assert found == {"s": texts, "l": [[text] for text in texts]}

    def test_times_of_one_column_may_be_written_in_many_ways(self) -> None:
        texts = ["2020-01-02T03:04:05Z", "2020-01-02 03:04:05.123456789", "2020-1-2", 1577934245]
        texts += ["2020-01-02T03:04:05Z", "nonsense", "2020-02-30T00:00:00Z"]
        for start in range(len(texts)):
            decoded = decode("t TIMESTAMP", ALL, *({"t": text} for text in texts[start:]))
            found = [
                None if t is None else t.isoformat() for t in decoded.batch.column(0).to_pylist()
            ]
            wanted = ["2020-01-02T03:04:05+00:00", "2020-01-02T03:04:05.123456+00:00"]
            wanted += ["2020-01-02T00:00:00+00:00", *["2020-01-02T03:04:05+00:00"] * 2]
            assert found == [*wanted, None, None][start:]
            assert decoded.mistyped == len([t for t in found if t is None])

    def test_the_zone_of_times_that_name_none(self) -> None:
        projection = DecodeProjection(read_schema("t TIMESTAMP"), ALL)
        payloads = [b'{"t": "2020-07-01T00:00:00"}', b'{"t": "2020-07-01T00:00:00Z"}', b'{"t": 0}']
        decoded = (
            find_format("json")
            .decoder({"timezone": "Europe/Paris"})
            .decode_with_projection(payloads, projection)
        )
        found = [t.isoformat() for t in decoded.batch.column(0).to_pylist()]
        assert found == [
            f"{t}+00:00"
            for t in ("2020-06-30T22:00:00", "2020-07-01T00:00:00", "1970-01-01T00:00:00")
        ]


def test_there_is_no_such_zone() -> None:
    with pytest.raises(NarrowsError, match="no time zone `Mars`") as error:
        find_format("json").decoder({"timezone": "Mars"})
    assert error.value.code == Code.INVALID_OPTION


def test_keys_of_maps_are_texts() -> None:
    with pytest.raises(NarrowsError, match=r"`s.m` is a MAP<INT, INT>, but keys in JSON") as error:
        decode("s STRUCT<m: MAP<INT, INT>>", ALL, {})
    assert error.value.code == Code.NOT_SUPPORTED
    assert columns("a INT, m MAP<INT, INT>", fields({"a": ALL}), {"a": 1}) == {"a": [1]}


def test_decimals_are_exact() -> None:
    """Though simdjson reads fractions as doubles: where that may matter a row is read again."""
    schema = "m DECIMAL(10, 2), l ARRAY<DECIMAL(38, 20)>"
    written = '{"m": 0.12499999999999999999, "l": [1.5, 0.10000000000000000001]}'
    found = columns(
        schema, ALL, '{"m": 0.125, "l": [0.1]}', written, '{"m": 12.34}', f"[{written}]"
    )
    one = [Decimal("1.5"), Decimal("0.10000000000000000001")]
    assert found == {
        "m": [Decimal("0.13"), Decimal("0.12"), Decimal("12.34"), Decimal("0.12")],
        "l": [[Decimal("0.1")], one, None, one],
    }


def test_a_row_that_is_read_again_counts_once() -> None:
    schema = "a INT, m DECIMAL(10, 2), l ARRAY<INT>, z INT"
    document = '{"a": "x", "m": 0.12499999999999999999, "l": ["y"], "z": "z"}'
    assert decode(schema, ALL, document, "{}", f"[{document}]").mistyped == 6


def test_large_maps_of_structs() -> None:
    """Looking up each of many keys would take quadratic time."""
    entries = {f"k{n}": {"x": n} for n in range(50_000)}
    started = time.perf_counter()
    found = columns("m MAP<STRING, STRUCT<x: INT>>", ALL, {"m": entries})
    assert dict(found["m"][0]) == entries
    assert time.perf_counter() - started < 10


# --- between batches ------------------------------------------------------------------------------


def test_a_failed_batch_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    projection = DecodeProjection(read_schema("a BIGINT"), ALL)
    decoder = find_format("json").decoder({})

    def interrupt(payload: bytes) -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(json_program, "parse_exactly", interrupt)
        with pytest.raises(KeyboardInterrupt):
            decoder.decode_with_projection([b'{"a": 1}', b"bad"], projection)
    decoded = decoder.decode_with_projection([b'{"a": 2}'], projection)
    assert decoded.batch.to_pydict() == {"a": [2]}
    assert not decoded.bad


def test_a_batch_does_not_change_when_the_next_one_is_decoded() -> None:
    projection = DecodeProjection(read_schema("s STRING, l ARRAY<INT>"), ALL)
    decoder = find_format("json").decoder({})
    first = decoder.decode_with_projection([b'{"s": "one", "l": [1]}'], projection)
    decoder.decode_with_projection([b'{"s": "two", "l": [2, 3]}', b"bad"], projection)
    assert first.batch.to_pydict() == {"s": ["one"], "l": [[1]]}
    assert first.bad == []


@pytest.mark.usefixtures("no_exact_parse")
def test_keys_that_come_and_go() -> None:
    """Structs with missing keys are read in another way after a while, and back."""
    projection = DecodeProjection(read_schema("a INT, b INT, s STRUCT<x: INT, y: INT>"), ALL)
    decoder = find_format("json").decoder({})
    row = {"a": 1, "b": 2, "s": {"x": 3, "y": 4}}
    nulls = {"a": None, "b": None, "s": None}
    for batch in range(150):
        document: dict[str, Any] = row if batch % 50 < 10 else {}
        decoded = decoder.decode_with_projection([json.dumps(document).encode()] * 3, projection)
        assert decoded.batch.to_pylist() == [row if document else nulls] * 3
