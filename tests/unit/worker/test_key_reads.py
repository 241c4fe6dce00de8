"""Reading for keys, and by keys: what Spark would hand from task to task, without it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

import narrows
from narrows.connectors.base import Share
from narrows.connectors.opening import open_source
from narrows.logical.walk import topological
from narrows.physical.join_filters import JoinFilter, Keys
from narrows.physical.nodes import PhysicalDecoder
from narrows.planner.query import plan
from narrows.spark.read.reader import key_spec, read_spec
from narrows.worker.keys.key_sets import KeySet, key_set
from narrows.worker.read import read_share
from narrows.worker.read_spec import KeyValues, ReadSpec
from narrows.worker.table_keys import TableKeys, read_keys

TABLES = {
    "few": ("id INT, kind STRING, label STRING", 7),
    "some": ("id BIGINT, few STRUCT<id: BIGINT, label: STRING>", 40),
    "many": ("some_id BIGINT, day DATE, v BIGINT", 300),
}
NOT_ASKED = KeyValues("not asked here")
ROWS: dict[str, Callable[[int], dict[str, object]]] = {
    "few": lambda n: {"id": n, "kind": "ab"[n % 2], "label": f"x{n % 3}"},
    "some": lambda n: {"id": n if n % 5 else None, "few": {"id": n % 9, "label": f"x{n % 4}"}},
    "many": lambda n: {"some_id": n % 50, "day": "2024-10-04", "v": n},
}


@pytest.fixture
def catalog(tmp_path: Path) -> narrows.Catalog:
    made = narrows.Catalog()
    for name, (schema, count) in TABLES.items():
        (tmp_path / name).mkdir()
        lines = [json.dumps(ROWS[name](number)) for number in range(count)]
        for part in range(2):  # two files, and so two tasks
            text = "\n".join(lines[part::2])
            (tmp_path / name / f"{part}.json").write_text(text, encoding="utf-8")
        made.execute(
            f"CREATE TABLE {name} ({schema})"
            f" WITH (connector = 'file', path = '{tmp_path / name}', format = 'json')"
        )
    return made


def shipped(sql: str, catalog: narrows.Catalog) -> dict[str, list[dict[str, object]]]:
    """What the readers of a query ship; tasks that read keys by themselves ship the same."""
    nodes = topological(plan(sql, catalog).physical)
    readers = {node.relation.id: node for node in nodes if isinstance(node, PhysicalDecoder)}

    def table(keys: Keys) -> TableKeys:
        tests = [KeyValues(table(made.keys)) for made in keys.filters]
        spec = key_spec(readers[keys.relation], keys, tests)
        return TableKeys(spec, tuple(_shares(spec)))

    def sets(filters: Sequence[JoinFilter]) -> list[KeySet]:
        return [key_set(_listed(lists(made.keys))) for made in filters]

    def lists(keys: Keys) -> list[pa.RecordBatch]:
        queries = [NOT_ASKED] * len(keys.filters)
        spec = key_spec(readers[keys.relation], keys, queries)
        return _read(spec, sets(keys.filters))

    made = {}
    for node in readers.values():
        spec = read_spec(node, [NOT_ASKED] * len(node.join_filters))
        batches = _read(spec, sets(node.join_filters))
        made[node.source.name] = [row for batch in batches for row in batch.to_pylist()]
        alone = read_spec(node, [KeyValues(table(each.keys)) for each in node.join_filters])
        again = [row for batch in _read(alone, read_keys(alone)) for row in batch.to_pylist()]
        assert again == made[node.source.name]
    return made


def _read(spec: ReadSpec, keys: Sequence[KeySet]) -> list[pa.RecordBatch]:
    return [batch for share in _shares(spec) for batch in read_share(spec, share, keys=keys)]


def _shares(spec: ReadSpec) -> Sequence[Share]:
    source = open_source(spec.connector, spec.declared)
    return source.split(source.whole(source.available()), 2)


def _listed(batches: Sequence[pa.RecordBatch]) -> pa.Scalar:
    """A list of the tasks' lists, as `collect_list` makes it."""
    made = [row["keys"] for batch in batches for row in batch.to_pylist()]
    kind = batches[0].column(0).type if batches else pa.list_(pa.int64())
    return pa.array([made], pa.list_(kind))[0]


def test_what_is_left_of_one_table_is_what_the_next_is_tested_by(catalog: narrows.Catalog) -> None:
    sql = (
        "SELECT v FROM few, some, many"
        " WHERE few.id = some.few.id AND some.id = some_id AND kind = 'a'"
    )
    found = shipped(sql, catalog)
    few = {n for n in range(7) if n % 2 == 0}
    some = {n for n in range(40) if n % 9 in few}
    assert len(found["few"]) == len(few)
    assert len(found["some"]) == len(some)
    assert len(found["many"]) == sum(n % 50 in some and n % 50 % 5 > 0 for n in range(300))


def test_texts(catalog: narrows.Catalog) -> None:
    sql = "SELECT some.id FROM few JOIN some ON few.label = some.few.label WHERE kind = 'b'"
    labels = {f"x{n % 3}" for n in range(7) if n % 2}
    left = [n for n in range(40) if f"x{n % 4}" in labels]
    assert len(shipped(sql, catalog)["some"]) == len(left)


def test_nobody_is_left(catalog: narrows.Catalog) -> None:
    sql = "SELECT v FROM some JOIN many ON some.id = some_id WHERE some.few.label = 'none'"
    assert shipped(sql, catalog)["many"] == []
