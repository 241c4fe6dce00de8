"""Pruning never changes an answer: how a query and documents are held to that.

The plan as bound runs on whole documents. The pruned plan, logical and physical, runs on documents
of which only the demanded part is left, and on documents in which everything else comes from
another one. And it runs on what a decoder makes of the documents' text when it is told the plan's
projection. All must give the same rows. Tests draw a few seeds, `tools/random_queries.py` many.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import narrows
from narrows.demand import ALL, Demand
from narrows.explain.plan import Plan
from narrows.formats.decoder import RecordDecoder
from narrows.logical.nodes import DecodedSource
from narrows.logical.walk import topological
from narrows.projection.columns import Aspect, DecodeProjection, FlatColumn, Key, Step
from narrows.schema import STRING, Array, DataType, Field, Map, Struct
from support.queries import SOURCE, write_query
from support.reference import Document, cut_row, run
from support.strategies import make_schema, make_value

Pairs = Sequence[tuple[Document, Document]]
"""Rows, and beside each the row that stands in for what is not demanded of it."""


def catalog_of(schema: Struct) -> narrows.Catalog:
    catalog = narrows.Catalog()
    catalog.disabled_rules = frozenset()
    columns = ", ".join(column.sql() for column in schema)
    catalog.execute(
        f"CREATE STREAM {SOURCE} ({columns})"
        " WITH (connector = 'file', path = 'data', format = 'json')"
    )
    return catalog


def check(
    sql: str,
    schema: Struct,
    pairs: Pairs,
    catalog: narrows.Catalog | None = None,
    decoders: Sequence[RecordDecoder] = (),
) -> Plan:
    """Holds that the pruned plan gives the rows that the query means, with every decoder."""
    plan = narrows.plan(sql, catalog or catalog_of(schema))
    ways: list[Callable[[Plan, Pairs], str | None]] = [difference]
    ways += [lambda p, some, d=d: decoded_difference(p, some, d) for d in decoders]  # type: ignore[misc]
    for way in ways:
        if way(plan, pairs):
            guilty: Pairs = next(([pair] for pair in pairs if way(plan, [pair])), pairs)
            columns = ", ".join(column.sql() for column in schema)
            raise AssertionError(f"{columns}\n{sql}\n{plan.explain()}\n{way(plan, guilty)}")
    return plan


def difference(plan: Plan, pairs: Pairs) -> str | None:
    """What the pruned plan answers differently on these rows."""

    def whole(source: DecodedSource) -> Sequence[Document]:
        return [row for row, _ in pairs]

    def least(source: DecodedSource) -> Sequence[Document]:
        return [cut_row(row, source.decode_projection) for row, _ in pairs]

    def grafted(source: DecodedSource) -> Sequence[Document]:
        return [cut_row(row, source.decode_projection, other) for row, other in pairs]

    expected = run(plan.bound, whole)
    for stage in (plan.logical, plan.physical):
        for documents in (least, grafted):
            answer = run(stage, documents)
            if answer != expected:
                (source, *_) = [
                    node for node in topological(stage) if isinstance(node, DecodedSource)
                ]
                return f"{whole(source)}\n  gives {expected}\n{documents(source)}\n  gives {answer}"
    return None


def check_several(seed: int, relational: bool) -> None:
    """Several queries on one schema and the same rows, short ones first.

    All of it comes from one seed. Hypothesis would draw small examples most of the time, and what
    goes wrong with pruning takes a deep expression and a row that it really goes into.
    """
    choose = Random(seed).choice
    schema = make_schema(choose)
    rows = [make_value(schema, choose) or {} for _ in range(10)]
    pairs = list(zip(rows, reversed(rows), strict=True))
    queries = [write_query(schema, choose, relational) for _ in range(10)]
    for sql in sorted(queries, key=len):
        check(sql, schema, pairs)


def check_many(seed: int, queries: int, rows: int, decoders: Sequence[RecordDecoder]) -> None:
    """As above, and every query also on what decoders make of the rows as JSON."""
    choose = Random(seed).choice
    schema = Struct(tuple(Field(f.name, _with_text_keys(f.type)) for f in make_schema(choose)))
    documents = [make_value(schema, choose) or {} for _ in range(rows)]
    pairs = list(zip(documents, reversed(documents), strict=True))
    catalog = catalog_of(schema)
    for number in range(queries):
        check(write_query(schema, choose, number % 2 == 1), schema, pairs, catalog, decoders)


def _with_text_keys(dtype: DataType) -> DataType:
    """Keys in JSON are texts."""
    match dtype:
        case Struct(members):
            return Struct(tuple(Field(m.name, _with_text_keys(m.type)) for m in members))
        case Array(element):
            return Array(_with_text_keys(element))
        case Map(_, value):
            return Map(STRING, _with_text_keys(value))
        case _:
            return dtype


# --- by way of a decoder --------------------------------------------------------------------------


def decoded_difference(plan: Plan, pairs: Pairs, decoder: RecordDecoder) -> str | None:
    """What the pruned plan answers differently on what is decoded for it."""
    payloads = [json.dumps(row).encode() for row, _ in pairs]

    def unpruned(source: DecodedSource) -> Sequence[Document]:
        return list(_documents(decoder, payloads, source.source.row, ALL))

    def pruned(source: DecodedSource) -> Sequence[Document]:
        return list(_documents(decoder, payloads, source.source.row, source.decode_projection))

    expected, answer = run(plan.bound, unpruned), run(plan.physical, pruned)
    if answer == expected:
        return None
    return f"{type(decoder).__name__}: {payloads}\n  gives {expected}\n  pruned {answer}"


def _documents(
    decoder: RecordDecoder, payloads: Sequence[bytes], schema: Struct, demand: Demand
) -> Iterator[Document]:
    """Documents with nothing in them but what stands in the decoded columns."""
    projection = DecodeProjection(schema, demand)
    decoded = decoder.decode_with_projection(payloads, projection)
    assert not decoded.bad, decoded.bad
    assert decoded.batch.num_rows == len(payloads)
    columns = [array.to_pylist(maps_as_pydicts="strict") for array in decoded.batch.columns]
    # Lengths of lists come first, those of maps last: a list has its places, a map has some more.
    order = sorted(range(len(columns)), key=lambda i: _turn(projection.columns[i]))
    for row in range(len(payloads)):
        document: Document = {}
        for place in order:
            _put(document, projection.columns[place], columns[place][row])
        yield document


def _turn(column: FlatColumn) -> int:
    if column.aspect is Aspect.LENGTH:
        return 2 if isinstance(column.source_type, Map) else 0
    return 1


def _put(document: Document, column: FlatColumn, value: Any) -> None:
    if value is None or (column.aspect is Aspect.PRESENCE and not value):
        return
    inside: Any = document
    for step, following in zip(column.path, column.path[1:], strict=False):
        inside = _at(inside, step, [] if isinstance(following, int) else {})
    last = column.path[-1]
    match column.aspect:
        case Aspect.VALUE:
            _set(inside, last, value)
        case Aspect.PRESENCE:
            _at(inside, last, _stand_in(column.source_type))
        case Aspect.LENGTH if isinstance(column.source_type, Map):
            entries = _at(inside, last, {})
            entries.update({f"some {i}": None for i in range(value - len(entries))})
        case Aspect.LENGTH:
            _at(inside, last, [None] * value)


def _stand_in(dtype: DataType) -> Any:
    return [] if isinstance(dtype, Array) else {}


def _at(inside: Any, step: Step, otherwise: Any) -> Any:
    """The value at a step, which is made where there is none."""
    key = step.value if isinstance(step, Key) else step
    if isinstance(key, int) and isinstance(inside, list):
        inside.extend([None] * (key + 1 - len(inside)))
        found = inside[key]
    else:
        found = inside.get(key)
    if found is None:
        found = otherwise
        _set(inside, step, found)
    return found


def _set(inside: Any, step: Step, value: Any) -> None:
    key: Any = step.value if isinstance(step, Key) else step
    if isinstance(inside, list):
        inside.extend([None] * (key + 1 - len(inside)))
    inside[key] = value
